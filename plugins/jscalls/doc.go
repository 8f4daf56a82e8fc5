// Package jscalls finds in the text of a script which tools it calls, without running it.
// It is a scanner and no parser: what it cannot be sure of it leaves out, and says so.
// Scripts are run by package script.
package jscalls
