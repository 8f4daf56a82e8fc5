// Package projection decides which parts of an answer an agent gets: it makes the
// response program of an operation from its response schema and a list of rules, each
// with its reason (rules.go).
//
// It runs nothing (package engine compiles programs, package enginepool runs them) and
// never asks a model: the same operation gives the same program.
//
// In the flow: plugins/connector calls [Compile] for each operation it packs,
// when it knows all of them ([Index]).
//
// All functions are pure and may be used by several goroutines.
package projection
