// Package module parses WebAssembly modules of third parties: what they import, export
// and ask for, and the custom sections they carry. [Meter] rewrites one so that it calls
// its host every so many instructions.
//
// It does not validate types or run code: wazero does both, after this package
// has refused what is out of bounds. It knows WebAssembly Core 2.0 and nothing of
// Extism or of manifests.
//
// In the flow: package extism reads every plugin with [Parse] before it compiles
// it, and compiles what [Meter] made of it (docs/adr/0008).
//
// Everything is plain data: a [Module] holds views of the bytes it was parsed from.
package module
