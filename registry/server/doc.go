// Package server is the embedded registry: a content-addressed store on the file
// system, an index of repositories, tags and referrers, and the HTTP endpoints
// of the OCI Distribution Specification over both.
//
// It trusts nothing: what is put has its digest checked before it is kept, and
// what is read may be checked again ([Blobs.Read]); package oci checks whatever
// leaves it as an artifact. It does not know what a plugin or a release is, and
// it does not decide who may push: the handler is given that decision.
//
// A write that returned nil survives a crash and a power cut: content is written
// to a temporary file, synced, renamed, and its directory is synced, before the
// index names it. The directory is an OCI image layout in its blobs; see
// docs/releases.md.
//
// All types may be used by many goroutines, and content by many processes; only
// one process may change one repository's tags at a time.
package server
