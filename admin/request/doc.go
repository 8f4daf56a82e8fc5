// Package request is a request of the admin API as the packages below admin know it:
// who asks, in which workspace, under which condition, and how the work is audited and
// answered. It is not HTTP: package admin reads requests and writes answers.
//
// A [Request] may be read by all goroutines that work for it.
package request
