package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/module"
)

// Bounds of a linked module.
const (
	MaxPrograms = 1 << 16   // programs of a module; a connector has one for each tool at most
	MaxSegment  = 64 << 20  // bytes of the program set
	MaxModule   = 160 << 20 // bytes of a module that Open reads: the set, a 64 MB manifest, the engine
)

// The program set lies where the bare engine's memory ends, its header just
// before: SEGMENT and Set of engine.c.
const (
	segmentBase = 0x20000
	setHeader   = 16
	setEntry    = 8
	setMagic    = "SLPS"
	wasmPage    = 65536
	wasmHeader  = 8 // bytes of magic number and version
)

// memoryNoMaximum is a limits flag of the binary format, Core Specification §5.5.
const memoryNoMaximum = 0

// Link makes a standalone module: the current engine, one data segment with the
// programs, and a custom section with the manifest. Equal arguments give equal
// bytes; equal programs are stored once. The manifest must not be empty: readers
// of WebAssembly reject custom sections without payload. Programs must pass
// Check.
func Link(programs [][]byte, section string, manifest []byte) ([]byte, error) {
	return link(nil, Version, programs, section, manifest)
}

func link(dst []byte, version int, programs [][]byte, section string, manifest []byte) ([]byte, error) {
	code, ok := Code(version)
	if !ok {
		return nil, fmt.Errorf("linking module: no engine version %d", version)
	}
	return linkTo(dst, code, version, programs, section, manifest)
}

// linkTo links to a build of an engine version.
func linkTo(dst, code []byte, version int, programs [][]byte, section string, manifest []byte) ([]byte, error) {
	if len(manifest) == 0 || section == "" {
		return nil, errors.New("linking module: empty manifest or section name")
	}
	checked := make(map[memory]bool, len(programs))
	for i, p := range programs {
		if checked[memoryOf(p)] {
			continue
		}
		if err := Check(p); err != nil {
			return nil, fmt.Errorf("linking module: program %d: %w", i, err)
		}
		checked[memoryOf(p)] = true
	}
	set, err := makeSet(version, programs)
	if err != nil {
		return nil, fmt.Errorf("linking module: %w", err)
	}
	m, err := join(dst, code, set, section, manifest)
	if err != nil {
		return nil, fmt.Errorf("linking module: %w", err)
	}
	return m, nil
}

// memory tells slices apart by where they are: equal programs often share their bytes,
// and need no second look then.
type memory struct {
	start  *byte
	length int
}

func memoryOf(p []byte) memory {
	if len(p) == 0 {
		return memory{}
	}
	return memory{&p[0], len(p)}
}

// makeSet lays out the segment: header, directory, programs on 16-byte
// boundaries. Offsets in the directory count from the end of the header.
func makeSet(version int, programs [][]byte) ([]byte, error) {
	if len(programs) > MaxPrograms {
		return nil, fmt.Errorf("%d programs, at most %d", len(programs), MaxPrograms)
	}
	le := binary.LittleEndian
	seen := make(map[memory]int, len(programs))
	size := setHeader + setEntry*len(programs)
	for _, p := range programs {
		if _, ok := seen[memoryOf(p)]; !ok {
			seen[memoryOf(p)] = 0
			size += len(p) + tableAlign
		}
	}
	clear(seen)
	b := make([]byte, setHeader+setEntry*len(programs), size)
	at := make(map[string]int, len(programs))
	for i, p := range programs {
		off, ok := seen[memoryOf(p)]
		if !ok {
			if off, ok = at[string(p)]; !ok {
				b = align(b, tableAlign)
				off = len(b) - setHeader
				at[string(p)] = off
				b = append(b, p...)
			}
			seen[memoryOf(p)] = off
		}
		le.PutUint32(b[setHeader+i*setEntry:], uint32(off))
		le.PutUint32(b[setHeader+i*setEntry+4:], uint32(len(p)))
		if len(b) > MaxSegment {
			return nil, fmt.Errorf("programs of more than %d bytes", MaxSegment)
		}
	}
	copy(b, setMagic)
	le.PutUint32(b[4:], uint32(len(b)))
	le.PutUint32(b[8:], uint32(len(programs)))
	le.PutUint32(b[12:], uint32(version))
	return b, nil
}

// join puts the set into the engine: more memory, one data segment more, and the
// custom section at the end.
func join(dst, code, set []byte, section string, manifest []byte) ([]byte, error) {
	out := append(slices.Grow(dst, len(code)+len(set)+len(manifest)+len(section)+64), code[:wasmHeader]...)
	put := func(id byte, body ...[]byte) { out = module.AppendSection(out, id, body...) }
	segment := append([]byte{0, 0x41}, appendSigned(nil, segmentBase-setHeader)...) // active, memory 0, i32.const
	segment = append(segment, 0x0b)                                                 // end
	segment = binary.AppendUvarint(segment, uint64(len(set)))
	linked := false
	err := module.Sections(code, func(s module.Section) error {
		id, body := s.ID, s.Payload
		switch id {
		case module.SectionMemory:
			if len(body) < 3 || body[0] != 1 || body[1] != memoryNoMaximum {
				return errors.New("engine has not one memory without a maximum")
			}
			pages, k := binary.Uvarint(body[2:])
			if k <= 0 || pages*wasmPage != segmentBase {
				return errors.New("engine's memory does not end where the programs begin")
			}
			pages += (uint64(len(set)-setHeader) + wasmPage - 1) / wasmPage
			put(id, binary.AppendUvarint([]byte{1, memoryNoMaximum}, pages))
		case module.SectionDataCount, module.SectionData:
			n, k := binary.Uvarint(body)
			if k <= 0 {
				return errors.New("engine's data section is malformed")
			}
			if id == module.SectionDataCount {
				put(id, binary.AppendUvarint(nil, n+1))
				return nil
			}
			put(id, binary.AppendUvarint(nil, n+1), body[k:], segment, set)
			linked = true
		default:
			put(id, body)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !linked {
		put(module.SectionData, []byte{1}, segment, set)
	}
	put(module.SectionCustom, binary.AppendUvarint(nil, uint64(len(section))), []byte(section), manifest)
	return out, nil
}

// appendSigned appends v as signed LEB128.
func appendSigned(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

// relinked holds buffers for the modules that Open makes to compare: a start opens
// thousands of them.
var relinked = sync.Pool{New: func() any { return new([]byte) }}

// maxKept is the largest buffer that is worth keeping: most modules are smaller.
const maxKept = 1 << 20

// Linked is a module taken apart. Programs and Manifest are views into it.
type Linked struct {
	Version  int      // engine version
	Programs [][]byte // each passed Check
	Manifest []byte

	set []byte // the programs behind their directory; nil when they were detached
}

// Detach copies the programs out of the module, so that it can be let go: all in one
// piece, because a connector of an ordinary API has many small ones. Programs that
// share their bytes in the module share them here.
func (l *Linked) Detach() {
	if l.set == nil {
		return
	}
	first := setHeader + setEntry*len(l.Programs) // of their bytes; Open has proved that none lies before
	own := append(make([]byte, 0, len(l.set)-first), l.set[first:]...)
	for n := range l.Programs {
		off, size := programAt(l.set, n)
		from := off - uint64(first)
		l.Programs[n] = own[from : from+size : from+size]
	}
	l.set = nil
}

// programAt is where a set has a program, as its directory says.
func programAt(set []byte, n int) (off, size uint64) {
	e := set[setHeader+n*setEntry:]
	return uint64(binary.LittleEndian.Uint32(e)) + setHeader, uint64(binary.LittleEndian.Uint32(e[4:]))
}

// Open takes apart a module that Link made, with this or an earlier engine
// version, or an earlier build of one. It trusts nothing in it: each program passes Check, and
// all is linked again with our own copy of the engine, which must give the same bytes. Any
// other module is refused with a *problem.Error of kind InvalidPlugin.
func Open(code []byte, section string) (*Linked, error) {
	refuse := func(format string, args ...any) (*Linked, error) {
		return nil, problem.New(problem.InvalidPlugin, format, args...).
			Fix("generate the connector again with this version of Sluice")
	}
	if len(code) > MaxModule {
		return refuse("module of %d bytes, at most %d", len(code), MaxModule)
	}
	var data, custom []byte
	if err := module.Sections(code, func(s module.Section) error {
		switch s.ID {
		case module.SectionData:
			data = s.Payload
		case module.SectionCustom:
			custom = s.Payload
		}
		return nil
	}); err != nil {
		return refuse("%s", err)
	}
	nameLen, k := binary.Uvarint(custom)
	if k <= 0 || nameLen > uint64(len(custom)-k) || string(custom[k:k+int(nameLen)]) != section {
		return refuse("module has no section %q at its end", section)
	}
	manifest := custom[k+int(nameLen):]
	// The set is the last segment, and the only place where its magic stands with
	// its own length up to the end; linking again proves the guess.
	i := bytes.Index(data, []byte(setMagic))
	for i >= 0 && (len(data)-i < setHeader || binary.LittleEndian.Uint32(data[i+4:]) != uint32(len(data)-i)) {
		next := bytes.Index(data[i+1:], []byte(setMagic))
		if next < 0 {
			i = -1
			break
		}
		i += 1 + next
	}
	if i < 0 {
		return refuse("module holds no response programs")
	}
	set := data[i:]
	le := binary.LittleEndian
	count, version := le.Uint32(set[8:]), le.Uint32(set[12:])
	if version > 1<<20 || count > MaxPrograms || setHeader+setEntry*int(count) > len(set) {
		return refuse("module's program directory is malformed")
	}
	if _, ok := Code(int(version)); !ok {
		return refuse("module was made with engine version %d, which this program does not know", version)
	}
	l := &Linked{Version: int(version), Programs: make([][]byte, count), Manifest: manifest, set: set}
	for n := range l.Programs {
		off, size := programAt(set, n)
		if off+size > uint64(len(set)) {
			return refuse("program %d lies outside the module", n)
		}
		l.Programs[n] = set[off : off+size : off+size]
	}
	scratch := relinked.Get().(*[]byte)
	defer relinked.Put(scratch)
	again, err := link((*scratch)[:0], l.Version, l.Programs, section, manifest)
	if err != nil {
		return refuse("%s", err)
	}
	if cap(again) <= maxKept {
		*scratch = again
	}
	same := bytes.Equal(again, code)
	for _, build := range earlier[l.Version] {
		if same {
			break
		}
		if again, err = linkTo((*scratch)[:0], build, l.Version, l.Programs, section, manifest); err != nil {
			return refuse("%s", err)
		}
		same = bytes.Equal(again, code)
	}
	if !same {
		return refuse("module is not engine version %d with programs and manifest: its code or layout differs", version)
	}
	return l, nil
}
