//go:build race

package openapi

// raceFactor is how much more memory and time a process may take under the race
// detector; the bounds themselves hold without it.
const raceFactor = 3
