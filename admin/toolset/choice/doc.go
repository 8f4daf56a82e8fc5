// Package choice stores the selection of a toolset: the tools that clients list, the tools
// chosen for a use case, and the example requests of its search. It changes the record and
// builds no index of a release: package draft does.
package choice
