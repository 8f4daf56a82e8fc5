package engine

import "encoding/binary"

// The byte layout of a table, version 1: docs/response-programs.md §3. All
// integers are little endian; offsets count from the table's start.
const (
	tableMagic  = "SLRP"
	headerBytes = 32
	nodeBytes   = 32
	entryBytes  = 8
	extBytes    = 32
	suffixBytes = 8
	opBytes     = 24
	tablePad    = 16 // zero bytes at the end, so that 8- and 16-byte loads of a name stay inside
	tableAlign  = 16

	childKeep = -1 // keep the value whole
	childDrop = -2 // leave it out

	slotEmpty = 0xFFFF
	noLimit   = 0xFFFFFFFF

	entryLenMask = 0x03FF
	entryExempt  = 0x8000
	entryKeepURL = 0x4000
	entryNoPages = 0x2000
	entryTold    = 0x1000

	opLeaf = 0
	opAnd  = 1
	opOr   = 2
	opNot  = 3

	kindNone   = 0
	kindNull   = 1
	kindFalse  = 2
	kindTrue   = 3
	kindNumber = 4
	kindString = 5 // stored decoded
)

// nameMix spreads the eight-byte pieces of a name; any odd constant would do, it
// is part of the format.
const nameMix = 0x9E3779B97F4A7C15

type table []byte

func (t table) u8(o int) uint8   { return t[o] }
func (t table) u16(o int) uint16 { return binary.LittleEndian.Uint16(t[o:]) }
func (t table) i16(o int) int    { return int(int16(binary.LittleEndian.Uint16(t[o:]))) }
func (t table) u32(o int) uint32 { return binary.LittleEndian.Uint32(t[o:]) }
func (t table) u64(o int) uint64 { return binary.LittleEndian.Uint64(t[o:]) }

// header
func (t table) output() Output       { return Output(t.u8(6)) }
func (t table) documents() Documents { return Documents(t.u8(7)) }
func (t table) length() uint32       { return t.u32(8) }
func (t table) nodes() int           { return int(t.u16(12)) }
func (t table) root() int            { return t.i16(14) }
func (t table) opsOff() int          { return int(t.u32(16)) }
func (t table) ops() int             { return int(t.u16(20)) }

// node i starts at headerBytes + i*nodeBytes.
type nodeView struct {
	mul     uint64
	slots   int // offset of 1<<mbits uint16
	disp    int // offset of 1<<gbits bytes
	entries int // offset
	ext     int // offset, 0 = none
	fields  int
	rest    int
	rules   Rules
	mbits   uint8
	gbits   uint8
}

func (t table) node(i int) nodeView {
	b := t[headerBytes+i*nodeBytes:][:nodeBytes]
	le := binary.LittleEndian
	n := nodeView{
		mul: le.Uint64(b), slots: int(le.Uint32(b[8:])), entries: int(le.Uint32(b[12:])), ext: int(le.Uint32(b[16:])),
		fields: int(le.Uint16(b[20:])), rest: int(int16(le.Uint16(b[22:]))), rules: Rules(le.Uint16(b[24:])), mbits: b[26], gbits: b[27],
	}
	n.disp = n.slots + 2<<n.mbits
	return n
}

type entryView struct {
	key    int // offset
	length int
	exempt bool
	url    bool // exempt from DropURL
	any    bool // KeepPages does not apply
	told   bool // counted when left out
	child  int
}

func (t table) entry(n *nodeView, i int) entryView {
	b := t[n.entries+i*entryBytes:][:entryBytes]
	le := binary.LittleEndian
	lf := le.Uint16(b[4:])
	return entryView{key: int(le.Uint32(b)), length: int(lf & entryLenMask), exempt: lf&entryExempt != 0, url: lf&entryKeepURL != 0, any: lf&entryNoPages != 0, told: lf&entryTold != 0, child: int(int16(le.Uint16(b[6:])))}
}

type extView struct {
	where     int // op index + 1, 0 = none
	offset    uint32
	limit     uint32
	maxString uint32
	suffixOff int
	suffixes  int
	numbers   uint32
}

func (t table) ext(off int) extView {
	return extView{
		where: int(t.u32(off)), offset: t.u32(off + 4), limit: t.u32(off + 8), maxString: t.u32(off + 12),
		suffixOff: int(t.u32(off + 16)), suffixes: int(t.u32(off + 20)), numbers: t.u32(off + 24),
	}
}

type opView struct {
	op, cmp, kind     uint8
	next              int // index of the operation after this one and what belongs to it
	path, pathLen     int
	value, valueBytes int
}

func (t table) op(i int) opView {
	b := t[t.opsOff()+i*opBytes:][:opBytes]
	le := binary.LittleEndian
	return opView{
		op: b[0], cmp: b[1], kind: b[2], next: int(le.Uint32(b[4:])),
		path: int(le.Uint32(b[8:])), pathLen: int(le.Uint32(b[12:])), value: int(le.Uint32(b[16:])), valueBytes: int(le.Uint32(b[20:])),
	}
}

// nameHash folds a name into 64 bits: its first eight bytes (zero padded) and
// length, then each further eight bytes, the last piece taken at the end.
func nameHash(s []byte) uint64 {
	n := len(s)
	if n < 8 {
		var k uint64
		for i := n - 1; i >= 0; i-- {
			k = k<<8 | uint64(s[i])
		}
		return k ^ uint64(n)
	}
	h := binary.LittleEndian.Uint64(s) ^ uint64(n)
	for i := 8; i < n; i += 8 {
		h = h*nameMix ^ binary.LittleEndian.Uint64(s[min(i, n-8):])
	}
	return h
}

// spread makes all bits of h count in the upper half of the result, of which the
// top bits give the group and the lowest the slot.
func spread(h, mul uint64) uint64 { return (h ^ h>>32) * mul }

func groupOf(x uint64, gbits uint8) uint64 { return x >> 1 >> (63 - gbits) }

// slotOf is the slot of a hash: displaced by what its group says.
func slotOf(h, mul uint64, mbits, gbits uint8, disp []byte) uint32 {
	x := spread(h, mul)
	return (uint32(x>>32) + uint32(disp[groupOf(x, gbits)])) & (1<<mbits - 1)
}

// find returns the entry index of a name, or -1.
func (t table) find(n *nodeView, name []byte) int {
	if len(name) > MaxName {
		return -1
	}
	s := slotOf(nameHash(name), n.mul, n.mbits, n.gbits, t[n.disp:])
	i := t.u16(n.slots + 2*int(s))
	if i == slotEmpty {
		return -1
	}
	e := n.entries + int(i)*entryBytes
	if l := int(t.u16(e+4) & entryLenMask); l != len(name) || string(t[t.u32(e):][:l]) != string(name) {
		return -1
	}
	return int(i)
}

// dropSuffix tells whether the name ends in one of the node's suffixes.
func (t table) dropSuffix(x *extView, name []byte) bool {
	if len(name) > MaxName {
		return false
	}
	for i := range x.suffixes {
		o := x.suffixOff + i*suffixBytes
		s := t[t.u32(o):][:t.u32(o+4)]
		if len(name) >= len(s) && string(name[len(name)-len(s):]) == string(s) {
			return true
		}
	}
	return false
}

// Streams tells whether a checked program reads a stream of documents: its
// result may then be longer than its input, at most twice.
func Streams(program []byte) bool { return table(program).documents() == DocumentStream }
