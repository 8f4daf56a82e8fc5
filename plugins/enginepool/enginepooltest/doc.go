// Package enginepooltest looks into the linear memories of WebAssembly instances:
// [Memories] makes them for package enginepool or extism and keeps each one, also when its
// instance is closed, so that a test can search what plugins could read.
//
// It is for tests only.
//
// [Memories] is safe for concurrent use.
package enginepooltest
