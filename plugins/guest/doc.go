// Package guest is a third-party plugin as Sluice's contract defines it
// (docs/plugins/contract.md): a module with a manifest, an entry point for its kind,
// and the context that each call is given.
//
// It does not run modules itself (package extism does), verify signatures or
// decide what is granted: the operator's [Policy] is handed to it.
//
// In the flow: the command line and the golden cases open plugins with [Open]; a
// gateway loads what a release names and calls [Plugin.Transform] for each plugin
// bound to a tool.
//
// A [Package] is immutable. A [Plugin] may be used by any number of goroutines.
package guest
