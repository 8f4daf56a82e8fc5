// Command sluice-bench measures what Sluice promises about speed and memory and
// prints one line for each promise:
//
//	ratio <name> <value> goal <op><number>
//	bound <name> <value> limit <op><number>
//
// A ratio compares two things that ran in the same session on the same machine,
// so it may be compared between machines; a bound is an absolute figure. A name
// that is in the table of goals but was not reported fails the run, and so does
// a ratio or bound that misses its goal, unless -report is given.
//
// Servers under test are processes of their own: the real sluice binary, or this
// binary started again in a role (see roles.go). The load comes from this
// process, so a server's CPU time and memory are read from the kernel and hold
// nothing of the load generator.
//
// It is not part of the product and no other package imports it.
package main
