// Command sluice-openapi-report writes docs/openapi-coverage.md: how much of the corpus
// of real specifications becomes tools, and at what cost. Every figure is measured in the
// run that writes it; a figure beyond its goal is shown as missed and makes the command
// fail.
//
// It is not a test: what must hold on every change is in the packages' tests. It
// runs the sluice binary in child processes, the Go tests that need the corpus,
// and, when -python names an interpreter with FastMCP, FastMCP on GitHub's
// specification.
package main
