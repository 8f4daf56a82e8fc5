// Package console holds the files of the console, the web interface of a control plane. It is
// data only: package serve, below it, answers requests for them.
package console
