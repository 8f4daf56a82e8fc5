package enginepooltest

import (
	"bytes"
	"sync"

	"github.com/tetratelabs/wazero/experimental"
)

// Memories makes linear memories and keeps all of them. The zero value is ready.
type Memories struct {
	mu  sync.Mutex
	all []*linear // guarded by mu
}

// linear is one linear memory.
type linear struct {
	of  *Memories
	now []byte // guarded by of.mu, but for what its instance writes
}

// Allocate implements [experimental.MemoryAllocator].
func (m *Memories) Allocate(_, _ uint64) experimental.LinearMemory {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := &linear{of: m}
	m.all = append(m.all, l)
	return l
}

// Reallocate implements [experimental.LinearMemory].
func (l *linear) Reallocate(size uint64) []byte {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	if size > uint64(cap(l.now)) {
		l.now = append(make([]byte, 0, max(size, 2*uint64(cap(l.now)))), l.now...)
	}
	l.now = l.now[:size]
	return l.now
}

// Free implements [experimental.LinearMemory]. The memory is kept.
func (l *linear) Free() {}

// Dump returns what is in all memories, those of closed instances included, without
// their zero pages; a zero byte stands between two memories. No instance may run
// meanwhile but one that waits in a host function.
func (m *Memories) Dump() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	const page = 4096
	zero := make([]byte, page)
	var out []byte
	for _, l := range m.all {
		for at := 0; at < len(l.now); at += page {
			if p := l.now[at:min(at+page, len(l.now))]; !bytes.Equal(p, zero[:len(p)]) {
				out = append(out, p...)
			}
		}
		out = append(out, 0)
	}
	return out
}
