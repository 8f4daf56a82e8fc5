// Package batch reads the arguments of the tool that makes many calls at once: which tools, with
// which arguments, and whether some may change data.
//
// It makes no calls: package call does, and shares the token budget among their answers.
package batch
