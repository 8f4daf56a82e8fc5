// Package arazzo reads workflows that are written as Arazzo 1.0 and 1.1 documents, plans
// them and runs them. It makes no call itself: whoever runs a workflow gives a [Caller].
//
// Grammar and meaning are those of the specification; docs/workflows.md has the table of
// what is supported and where this package decides what the specification leaves open.
// Everything in a document is untrusted and has a bound. Documents are not changed once
// they are read and may be shared by goroutines.
package arazzo
