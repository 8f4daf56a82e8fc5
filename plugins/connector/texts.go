package connector

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/klauspost/compress/s2"
)

// blockBytes is how much text is compressed together: enough for what the tools of
// an API have in common, little enough to be unpacked for one of them.
const blockBytes = 32 << 10

// texts are the manifest's tools, compressed: they are most of what an open
// connector holds and are read when a tool is listed or first used, so thousands
// of connectors that nobody calls right now cost a fifth of it.
type texts struct {
	blocks [][]byte
	places []place // of each tool
}

// place is where a tool's text is: block[from:to] once it is unpacked.
type place struct{ block, from, to uint32 }

// scratch is an unpacked block. It is kept for the next tool, which is most often
// in the same one.
type scratch struct {
	of    *texts
	block uint32
	text  []byte
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// packTexts copies the JSON of tools.
func packTexts(tools [][]byte) *texts {
	t := &texts{places: make([]place, len(tools))}
	var raw []byte
	flush := func() {
		t.blocks = append(t.blocks, bytes.Clone(s2.Encode(nil, raw)))
		raw = raw[:0]
	}
	for i, tool := range tools {
		if len(raw) > 0 && len(raw)+len(tool) > blockBytes {
			flush()
		}
		t.places[i] = place{block: uint32(len(t.blocks)), from: uint32(len(raw)), to: uint32(len(raw) + len(tool))}
		raw = append(raw, tool...)
	}
	if len(raw) > 0 {
		flush()
	}
	return t
}

func (t *texts) len() int { return len(t.places) }

// text returns a copy of the JSON of tool i.
func (t *texts) text(i int) ([]byte, error) {
	at := t.places[i]
	s := scratches.Get().(*scratch) //nolint:forcetypeassert // the pool holds nothing else
	defer scratches.Put(s)
	if s.of != t || s.block != at.block {
		s.of = nil
		raw, err := s2.Decode(s.text[:cap(s.text)], t.blocks[at.block])
		if err != nil {
			return nil, fmt.Errorf("unpacking the manifest: %w", err)
		}
		*s = scratch{of: t, block: at.block, text: raw}
	}
	return bytes.Clone(s.text[at.from:at.to]), nil
}
