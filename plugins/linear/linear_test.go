package linear

import (
	"testing"

	"github.com/tetratelabs/wazero/experimental"
)

const page = 64 << 10

// TestMemories: a memory grows to its most and not beyond, is zero where it grew, keeps
// what it has, and is gone once, however often it is freed.
func TestMemories(t *testing.T) {
	memories := map[string]experimental.LinearMemory{
		"made":  Allocator{}.Allocate(page, 4*page),
		"slice": &slice{most: 4 * page},
		"none":  Allocator{}.Allocate(0, 0),
	}
	for name, m := range memories {
		t.Run(name, func(t *testing.T) {
			defer m.Free()
			if name == "none" {
				if b := m.Reallocate(0); len(b) != 0 || m.Reallocate(1) != nil {
					t.Errorf("a memory that may have nothing has %d bytes, or more", len(b))
				}
				return
			}
			b := m.Reallocate(page)
			b[page-1] = 7
			if b = m.Reallocate(4 * page); len(b) != 4*page || b[page-1] != 7 || b[page] != 0 || b[4*page-1] != 0 {
				t.Errorf("a memory that grew to %d bytes is not what it was, or not empty behind it", len(b))
			}
			if m.Reallocate(4*page+1) != nil {
				t.Error("a memory has more than its most")
			}
		})
	}
	for _, m := range memories {
		m.Free()
	}
}
