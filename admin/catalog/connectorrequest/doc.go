// Package connectorrequest manages connector requests: their use cases, votes and states.
// Requests that are similar are found by name, by host and by what they are for. Nothing
// here makes a connector.
//
// A [Room] may be used by many goroutines.
package connectorrequest
