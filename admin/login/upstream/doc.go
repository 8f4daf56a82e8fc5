// Package upstream monitors the MCP servers behind live toolsets: the schedule of checks,
// the last result of each on this node, and the streams for change notifications. What is
// done with a change it does not decide: the functions of [Options] do.
//
// A [Room] may be used by many goroutines.
package upstream
