// Command sluice-supply documents the components of a Sluice binary and its build:
//
//	sluice-supply sbom BINARY…       a CycloneDX 1.6 document beside each, BINARY.cdx.json
//	sluice-supply provenance FILE…   an in-toto statement with SLSA provenance of the files
//	sluice-supply licences           the licence of each module; fails on one that is not allowed
//	sluice-supply vulncheck          govulncheck; fails on a known vulnerability that is reachable
//
// What is in a binary is read from the binary itself (debug/buildinfo), licences from
// the texts in the modules. It signs nothing. It is not part of the binary; the
// Makefile runs it.
//
// Standards: CycloneDX 1.6 (ECMA-424), package URLs (purl-spec, type golang), SPDX
// licence expressions, in-toto Statement v1, SLSA Provenance v1.
package main
