// Package engine compiles, checks and runs response programs: small byte tables
// that say what to keep of a JSON answer (docs/response-programs.md).
//
// It holds the program's model ([Program]), its compiler ([Compile]), its
// verifier ([Check]), the implementation in Go ([Reference]), the WebAssembly
// implementation as bytes ([Code], built from engine.c) and the linker that puts
// programs and a manifest into one standalone module ([Link], [Open]).
//
// It does not run WebAssembly: package enginepool does, and falls back to Reference (docs/adr/0024).
// It does not know OpenAPI: package projection decides what a program keeps.
// It is not a general JSON library: internal/jsonscan is.
//
// In the flow: plugins/projection makes programs, plugins/connector links them
// into a connector, plugins/enginepool runs them on the answers of an upstream.
//
// JSON is RFC 8259; how far values that are left out are checked is part of the
// format and the same in both implementations. Modules follow the WebAssembly
// Core Specification 2.0 (fixed-width SIMD, bulk memory).
//
// All functions may be used by several goroutines; none keeps its arguments.
package engine
