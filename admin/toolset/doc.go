// Package toolset models the tools of a toolset: the generated tools of a connector, and
// the edits of an operator. It turns records into values and back, and checks what a
// client sends.
//
// It is not the admin API, which loads, tests and deploys drafts, and it writes no
// records. [OpenConnectors] may be shared by goroutines; everything else belongs to one.
package toolset
