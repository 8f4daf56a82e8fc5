// Package difference says what another version of a connector changes in a toolset, tool
// by tool, keeps the names that agents know, and writes that down. What becomes of a
// change is not decided here.
package difference
