// Package rule defines the usage that raises alerts: the presets that are on from the start,
// their settings for a workspace or a toolset, and the rules that people add. [Evaluate]
// compares them with the usage of the last minutes and says what is wrong now.
//
// It reads no records and keeps no state: package alert gives it the usage and what is open,
// and makes alerts of what it finds. A value of this package belongs to one goroutine.
package rule
