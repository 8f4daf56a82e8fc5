// Package conformance holds the cases that every guest package passes (README.md), and
// the plugins that they run on. It has no code but its tests.
package conformance
