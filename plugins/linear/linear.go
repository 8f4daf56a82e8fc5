package linear

import (
	"math"
	"runtime"

	"github.com/tetratelabs/wazero/experimental"
)

// Allocator makes linear memories. A view of a memory must not be used after its instance
// was closed: the process would be ended for it. It is safe for concurrent use.
type Allocator struct{}

// Allocate implements [experimental.MemoryAllocator]. A mapped memory never moves.
func (Allocator) Allocate(capacity, most uint64) experimental.LinearMemory {
	if most > 0 && most <= math.MaxInt32 {
		if all, err := reserve(int(most)); err == nil {
			m := &mapped{all: all}
			m.lost = runtime.AddCleanup(m, release, all) // wazero forgets one whose instance could not be made
			return m
		}
	}
	return &slice{now: make([]byte, 0, min(capacity, math.MaxInt32)), most: most}
}

// mapped is a memory outside of Go's heap.
type mapped struct {
	all  []byte // the whole mapping; nil after Free
	lost runtime.Cleanup
}

// Reallocate implements [experimental.LinearMemory].
func (m *mapped) Reallocate(size uint64) []byte {
	if size > uint64(len(m.all)) {
		return nil
	}
	return m.all[:size]
}

// Free implements [experimental.LinearMemory].
func (m *mapped) Free() {
	if m.all != nil {
		m.lost.Stop()
		release(m.all)
		m.all = nil
	}
}

// slice is a memory in Go's heap.
type slice struct {
	now  []byte
	most uint64
}

// Reallocate implements [experimental.LinearMemory].
func (s *slice) Reallocate(size uint64) []byte {
	if size > s.most {
		return nil
	}
	if n := uint64(len(s.now)); size > n {
		s.now = append(s.now, make([]byte, size-n)...)
	}
	return s.now
}

// Free implements [experimental.LinearMemory].
func (s *slice) Free() { s.now = nil }
