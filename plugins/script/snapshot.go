package script

import (
	"bytes"

	"github.com/tetratelabs/wazero/api"
)

// snapshot is what a memory holds, without its empty pages.
type snapshot struct {
	size  uint32
	parts []part
}

type part struct {
	at   uint32
	data []byte
}

// page is the step in which a memory is looked at.
const page = 4096

// take copies a memory.
func take(m api.Memory) *snapshot {
	s := &snapshot{size: m.Size()}
	b, _ := m.Read(0, s.size)
	zero := make([]byte, page)
	for at := 0; at < len(b); at += page {
		if bytes.Equal(b[at:at+page], zero) {
			continue
		}
		end := at + page
		for end < len(b) && !bytes.Equal(b[end:end+page], zero) {
			end += page
		}
		s.parts = append(s.parts, part{uint32(at), bytes.Clone(b[at:end])})
		at = end
	}
	return s
}

// restore makes a memory what it was when the snapshot was taken. It reports false when the
// memory cannot grow to that size; one that is larger stays so, and is empty behind it.
func (s *snapshot) restore(m api.Memory) bool {
	if m.Size() < s.size {
		if _, ok := m.Grow((s.size - m.Size()) >> 16); !ok {
			return false
		}
	}
	b, _ := m.Read(0, m.Size())
	at := uint32(0)
	for _, p := range s.parts {
		clear(b[at:p.at])
		copy(b[p.at:], p.data)
		at = p.at + uint32(len(p.data))
	}
	clear(b[at:])
	return true
}
