// Package callcmd has the commands that use toolsets as an AI application does: call a
// tool, search for one, and bridge an application's stdio to a toolset URL. The protocol
// itself is in package streamable.
package callcmd
