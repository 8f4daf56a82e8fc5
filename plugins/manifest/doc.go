// Package manifest reads and writes the manifest of a plugin: the JSON document in the
// custom section "sluice.manifest" of its WebAssembly module. It holds what kind the
// plugin is, what it wants of its host, and, for a connector, the upstream and the tools.
//
// It does not take modules apart (package engine does for our own, package module
// for third parties), does not interpret request plans (package operation) and
// grants nothing: what a manifest asks for, the operator decides.
//
// The format is docs/manifest.md and manifest.schema.json beside this file. The
// parser is strict: unknown, missing, repeated or ill-typed members are refused,
// because a reader that skips what it does not know would run a plugin under rules
// it does not understand. Digests are over stored bytes; nothing is parsed and
// written again to be hashed.
//
// Everything is plain data. A parsed manifest holds views of its input for raw
// JSON; both are immutable and safe for concurrent use.
package manifest
