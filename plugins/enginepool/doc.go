// Package enginepool runs response programs (package engine) on a pool of shared
// WebAssembly instances of the engine.
//
// It does not decide which program runs, nor link or verify modules: packages
// connector and engine do. It does not run plugins of third parties: package extism
// does. It holds no state of a tenant: the program and the input are written on each
// call, and a checked program cannot reach what an earlier call left in memory.
//
// In the flow: gateway/call hands the upstream's body and the tool's program to
// [Pool.Transform] and gets the bytes to encode.
//
// A Pool may be used by any number of goroutines.
package enginepool
