// Package connector packs the operations of an API into a connector: one
// standalone WebAssembly module that holds the engine, a response program for each
// tool and the manifest with everything else; and opens such modules.
//
// It runs neither programs (package enginepool) nor requests (package gateway/call), and
// does not read specifications (package openapi). Modules that Sluice did not
// generate are refused: third parties publish the other kinds of plugins.
//
// In the flow: package openapi streams operations into a [Builder]; admin/publish
// stores the artifact; the gateway opens it and uses its tools.
//
// The same operations give the same bytes. A [Connector] is immutable and safe for
// concurrent use; a [Builder] belongs to one goroutine.
package connector
