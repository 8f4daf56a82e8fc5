// Package host runs plugins. In this step it runs response programs (package
// engine) on a pool of shared WebAssembly instances; third-party plugins join it
// with their own runtimes.
//
// It does not decide which program runs, nor link or verify modules: packages
// connector and engine do. It holds no state of a tenant: the table and the
// input are written on each call, and a checked table cannot reach what an
// earlier call left in memory.
//
// In the flow: gateway/call hands the upstream's body and the tool's program to
// [Host.Transform] and gets the bytes to encode.
//
// A Host may be used by any number of goroutines.
package host
