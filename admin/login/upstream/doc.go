// Package upstream keeps an eye on the MCP servers behind live toolsets: when each is looked
// at again, what this node saw of it last, and the streams on which servers tell of changes.
// What is done with a change it does not decide: the functions of [Options] do.
//
// A [Room] may be used by many goroutines.
package upstream
