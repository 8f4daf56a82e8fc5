// Package e2e runs the real sluice binary as a process and uses it with software
// that is not ours: the MCP Go SDK, the TypeScript clients, AI applications, the Inspector and the
// conformance suite as clients, and Prism serving GitHub's specification as the
// upstream. It has tests only. It knows the binary's
// commands, its HTTP interfaces and nothing of its packages.
//
// Node, Prism and the specification come from npm at the versions of
// package-lock.json; make test and make interop put them into bin/e2e. The generator of
// the Python client comes from PyPI at the versions of requirements.txt, in bin/e2e-python.
package e2e
