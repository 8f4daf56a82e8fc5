//go:build race

package openapi

// raceEnabled reports whether this is a build with the race detector, which slows down
// tests that compute much in one goroutine.
const raceEnabled = true
