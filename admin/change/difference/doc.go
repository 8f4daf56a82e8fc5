// Package difference computes the changes that a new version of a connector makes to a
// toolset, tool by tool, keeps the names that agents know, and records the changes. What
// becomes of a change is not decided here.
package difference
