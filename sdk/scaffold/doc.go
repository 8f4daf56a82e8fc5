// Package scaffold holds the projects that "sluice plugin new" writes: a plugin in
// each language with its test and a golden case. The guest packages (sdk/go, sdk/c)
// are copied into the project, so that it builds without a network.
//
// It writes no files: the command does.
package scaffold
