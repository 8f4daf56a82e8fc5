// Package jq runs an operator's jq expression on a JSON answer, within bounds
// of time, size and memory (github.com/itchyny/gojq; the language of jq 1.8).
//
// It is for what a response program (package engine) cannot say: computing,
// grouping, renaming. It is slower by orders of magnitude and runs after the
// program, on what that left. It reads no files, environment or modules.
//
// Members of objects it touches come out sorted by name, as gojq keeps no order;
// numbers it does not compute with keep their digits.
//
// A [Program] may be used by several goroutines.
package jq
