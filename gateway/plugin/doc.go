// Package plugin keeps the third-party plugins of a gateway loaded: one for each
// plugin, configuration and workspace that calls need, and takes one that keeps
// failing out of calls for a while.
//
// It does not decide which plugins run on an answer (package snapshot does) nor what
// a failure means for the call (package call asks the binding). The sandbox is
// package plugins/extism.
//
// In the flow: gateway/call hands an answer to [Runner.Transform] for each plugin of
// the tool, after its response program.
//
// A Runner may be used by any number of goroutines.
package plugin
