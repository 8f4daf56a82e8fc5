// Package usage keeps what nodes report of calls: it applies their reports to the usage
// figures and the call log, and reads both for the API. It counts nothing itself: that is
// gateway/metering. What a toolset learned of a report is decided elsewhere.
//
// A [Room] may be used by many goroutines.
package usage
