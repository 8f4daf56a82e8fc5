//go:build race

package openapi

// raceFactor is how much more memory and time a process may take under the race
// detector; the bounds themselves hold without it.
const raceFactor = 3

// childTimeout is the limit of a compilation in a child process: the race detector slows it
// down, and others may use the machine.
const childTimeout = 12 * DefaultTimeout
