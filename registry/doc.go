// Package registry is the contract between the control plane and the data
// plane: what a toolset and a release are, how they are written, and when they
// are refused. It is data and validation only; it does no I/O.
//
// It does not sign (package sign does), move bytes (package oci does) or keep
// them (package server does). admin/publish makes these documents, gateway/edge
// follows them, and neither knows the other.
//
// A toolset travels as a bundle: one valid WebAssembly module of kind "toolset",
// the first-party engine with the toolset's own response programs and a
// sluice.manifest section ([BuildBundle], [OpenBundle]). A release travels as
// the payload of a DSSE envelope. Digests are always over the bytes as stored;
// nothing is ever serialised again to be hashed. The formats are described in
// docs/releases.md.
//
// Values are plain data. Nothing here keeps or changes its arguments, so values
// that are no longer modified may be shared between goroutines.
package registry
