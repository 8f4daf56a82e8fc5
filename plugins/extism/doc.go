// Package extism runs third-party plugins: WebAssembly modules that speak the
// Extism ABI (https://extism.org/docs/concepts/pdk), written in any language that
// has a PDK for it.
//
// It does not verify signatures, read manifests or decide what a plugin may do:
// its caller grants capabilities. It is not a sandbox for first-party programs,
// which package enginepool runs on the engine.
//
// The ABI's memory functions are a small WebAssembly module of our own, the
// kernel (kernel.c), bound to the plugin by wazero's import resolver, so that
// loads and stores never leave compiled code. What needs the host (configuration,
// variables, logs, HTTP) passes through the kernel to Go.
//
// Plugins are untrusted. Each runs in a runtime of its memory class; its code is
// metered when it is loaded (package module, docs/adr/0008), and each quantum asks
// the host whether the deadline has passed and how long the plugin's stack is. Modules
// that cannot be metered, or would take long to compile, are refused. An instance that
// trapped or was stopped is dropped. Compiled code is shared between the plugins of
// a [Host]; instances never are, and each serves calls of one owner only (docs/adr/0011).
//
// In the flow: gateway/call hands a response to [Plugin.Call] for each plugin bound
// to the tool.
//
// A [Host] and a [Plugin] may be used by any number of goroutines, an [Instance] by
// one at a time.
package extism
