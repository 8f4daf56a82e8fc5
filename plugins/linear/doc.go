// Package linear keeps the linear memories of untrusted WebAssembly code out of Go's
// heap.
//
// wazero's own memories are Go slices. One that grows is copied into a larger one, and
// code that fills its memory again and again, each time in a new instance, keeps the
// garbage collector at work for everybody. Here a memory is an anonymous mapping of the
// most that it may ever have, of which the system gives the pages that are touched:
// growing copies nothing, and closing an instance gives all of it back at once. Where the
// system refuses a mapping, or has none (Windows), a memory is a Go slice.
//
// It does not bound memory: the limits of a runtime do.
package linear
