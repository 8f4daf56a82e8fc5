// Package alert detects failures and raises alerts: it reads the records of the control
// plane (the call log and usage that nodes report, credentials, logins, edges, sources),
// keeps one alert for each cause, and says how to fix it.
//
// It asks no node and no upstream anything, and delivers nothing: package notify does.
//
// An alert is pending from when its cause is seen until it was seen for long enough,
// then firing; a person may acknowledge or snooze it; it is resolved when its cause was
// gone for long enough. Everything is in the records, so a restart forgets and repeats
// nothing. One process evaluates: the one that holds the claim on the database.
//
// A [Room] may be used by many goroutines.
package alert
