// Package exit defines how the program ends: the exit codes, the error that each stands
// for, and the forms in which an error is printed, as text for people and as problem
// details (RFC 9457) for machines. It does not end the process; package main does.
package exit
