// Command sluice-mutants measures the tests of security-critical packages by mutation: it
// changes one place of the code, runs the tests, and reports each change that no test
// failed on.
//
// It changes no file of the tree. The changed source is handed to the go command
// as an overlay, so a run that is killed leaves nothing behind. A run continues
// where the one before it stopped. The packages are listed in targets.go, the
// changes (operators) in operators.go, and the changes that make no difference in
// equivalent.txt, each with its reason.
package main
