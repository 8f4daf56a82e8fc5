// Package declare models a workspace as a document: its types, the checks of a document,
// the conversion of records, and the difference between two documents. It changes no
// records and compiles nothing: package transfer does.
package declare
