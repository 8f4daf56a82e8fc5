// Package declare is a workspace as a document: its types, what is wrong with a document,
// how parts of the records are written into one, and where two differ. It changes no
// records and compiles nothing: package transfer does.
package declare
