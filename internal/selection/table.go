package selection

import (
	_ "embed" // the table
	"sync"
)

// The table and its sources: embedding/NOTICE.md.
//
//go:embed embedding/table.bin
var tableBytes []byte

// DefaultTable is the embedding table of this binary, read on first use. It is
// safe for concurrent use.
func DefaultTable() *Table { return defaultTable() }

var defaultTable = sync.OnceValue(func() *Table {
	t, err := ParseTable(tableBytes)
	if err != nil {
		panic("BUG: the embedding table of the binary: " + err.Error())
	}
	return t
})
