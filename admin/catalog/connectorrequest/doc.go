// Package connectorrequest keeps the connectors that people ask for: what they want it
// for, who votes for it, and what became of it. Requests that are similar are found by
// name, by host and by what they are for. Nothing here makes a connector.
//
// A [Room] may be used by many goroutines.
package connectorrequest
