// Package terminal reads the input and writes the output of commands: tables, JSON, YAML
// and names on stdout as -o says, remarks on stderr, questions and secrets from stdin.
// Text that an upstream or a specification wrote is printed without the characters that a
// terminal obeys. It knows nothing of the admin API.
package terminal
