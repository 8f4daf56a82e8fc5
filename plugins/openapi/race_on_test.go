//go:build race

package openapi

// raceFactor is how much more memory a process may take under the race detector,
// whose shadow memory comes on top; the bounds themselves hold without it.
const raceFactor = 3
