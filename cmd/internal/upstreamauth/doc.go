// Package upstreamauth reads from the command line how calls to an upstream are
// authenticated: the flags (--auth and what belongs to it), keys from files, variables or
// a prompt, and logins in a browser. It says what is missing, too. Keys are never values
// of flags.
package upstreamauth
