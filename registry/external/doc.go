// Package external reaches OCI registries that are not the embedded one: Harbor, zot,
// CNCF Distribution, a cloud's. [Registry] is an oci.Backend, so whatever package oci
// pushes and pulls can live there; what it returns is as unbelieved as from anywhere.
//
// It is not a registry client of its own: package oci speaks the protocol, and this
// package adds where (a host and a prefix of repositories) and who (the credentials of
// Docker's configuration and its helpers, Basic and Bearer challenges). It reads no
// environment and dials nothing itself.
//
// Standard: OCI Distribution Specification 1.1; the token authentication of CNCF
// Distribution (https://distribution.github.io/distribution/spec/auth/token/).
//
// A Registry may be used by many goroutines.
package external
