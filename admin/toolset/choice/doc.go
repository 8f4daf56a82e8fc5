// Package choice is what is stored of a toolset's selection: which of its tools clients list,
// what was chosen for a use case, and the requests that its search knows as examples. It
// changes the record and builds no index of a release: package draft does.
package choice
