// Package catalog is the catalog of pre-built connectors as the control plane offers it:
// the entries that come with the program and those of the operator's folder. It lists
// them, and turns an entry and what somebody chooses of it into edits of the tools that
// were generated from the vendor's document. It fetches and compiles nothing: that is
// done as for any other source. The format of entries is plugins/catalog.
//
// A [Room] may be used by many goroutines.
package catalog
