// Package request describes a request of the admin API to the packages below admin: its
// caller, workspace and preconditions, and its audit record and answer. It is not HTTP:
// package admin reads requests and writes answers.
//
// A [Request] may be read by all goroutines that work for it.
package request
