// Package catalog manages the catalog of pre-built connectors: the built-in entries and
// those of the operator's folder. It lists them, and turns an entry and what somebody
// chooses of it into edits of the tools that were generated from the vendor's document. It
// fetches and compiles nothing: that is done as for any other source. The format of
// entries is plugins/catalog.
//
// A [Room] may be used by many goroutines.
package catalog
