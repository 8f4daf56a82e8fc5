// Package contenttest is the test suite of every implementation of server.Content.
// It is no part of the program.
package contenttest
