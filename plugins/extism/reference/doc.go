// Package reference runs plugins on the reference host of the Extism ABI,
// extism/go-sdk, so that their authors see whether they behave there as they do here.
//
// The reference host is not linked: it would make the program 2.5 MB larger for a
// question that only authors ask. It is a Go library, so a small program around it
// (program/) is compiled with the author's Go toolchain, once, and kept in the cache of
// the user. What the host functions of the contract do is asked back here, so both
// hosts have the same.
//
// It is not a sandbox: plugins run in a process of the author's, without limits but a
// deadline.
//
// In the flow: "sluice plugin test --reference" runs golden cases on a [Host] besides
// the sandbox.
//
// A [Host] makes one call at a time.
package reference
