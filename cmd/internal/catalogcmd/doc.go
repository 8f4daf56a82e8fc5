// Package catalogcmd is "sluice catalog": the commands that list, find and check
// pre-built connectors. The command that adds one is made by the program, like those
// that add any other source.
package catalogcmd
