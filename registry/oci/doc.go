// Package oci moves Sluice's artifacts in and out of an OCI registry: plugins,
// toolset bundles, releases and access documents.
//
// What it returns is verified: the OCI manifest and the layer are hashed and
// compared with the digest the caller asked for, the media types and sizes are
// checked, and bytes that fail have no exported type to leave in. It does not
// check signatures (package sign does), it does not open modules, and it keeps
// nothing itself: a [Backend] does, be it the embedded store (package server) or
// a registry elsewhere.
//
// Standard: OCI Image Format Specification 1.1 (image manifest with
// artifactType, guidelines for artifact usage) and the CNCF "Wasm OCI Artifact
// layout" for the configuration of modules.
//
// A Store may be used by many goroutines. The bytes of an [Artifact] are shared
// and must not be changed.
package oci
