// Package workspacecmd has the commands for who may do what in a workspace, and for what
// was done: members, sessions, API tokens, grants of private addresses, keys and the audit log.
package workspacecmd
