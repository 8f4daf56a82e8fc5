// Package adoption puts entries of the catalog into drafts: it makes the tools of a new
// connector those of its entry, and takes a newer version of the entry over without
// touching what the operator edited since. It reads no document of a vendor: that is done
// as for any other source.
//
// A [Room] may be used by many goroutines.
package adoption
