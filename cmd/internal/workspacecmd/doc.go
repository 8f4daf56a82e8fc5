// Package workspacecmd has the commands for members, sessions, API tokens, grants of private
// addresses, keys and the audit log of a workspace.
package workspacecmd
