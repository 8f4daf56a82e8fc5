package selection

import (
	"encoding/binary"
	"errors"
	"math"
)

// magic starts a stored index; the number is the version of the format. Of the versions before
// it, which had no paths, or of them the number of parameters alone, indexes are read, too, and
// ranked without: nodes serve what was published earlier.
const (
	magic       = "SLUICEIX7"
	magicPlaces = "SLUICEIX6"
	magicBefore = "SLUICEIX5"
)

// maxTools bounds the tools of an index, which bounds what opening one takes.
const maxTools = 1 << 20

// ErrIndex is returned for bytes that are not a stored index of this version.
var ErrIndex = errors.New("selection: not an index of this version")

// Append appends the stored form of x: magic, the number of tools, then each
// array with its length, little endian. The bytes are the same for the same tools
// and table.
func (x *Index) Append(dst []byte) []byte {
	dst = append(dst, magic...)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(x.n))
	for _, d := range []*dict{&x.terms, &x.surface} {
		dst = appendArray(dst, d.text, func(b []byte, v byte) []byte { return append(b, v) })
		dst = appendArray(dst, d.ends, binary.LittleEndian.AppendUint32)
		dst = appendArray(dst, d.values, appendInt32)
		dst = appendArray(dst, d.slots, binary.LittleEndian.AppendUint32)
	}
	dst = appendArray(dst, x.idf, appendFloat32)
	dst = appendArray(dst, x.starts, binary.LittleEndian.AppendUint32)
	dst = appendArray(dst, x.docs, binary.LittleEndian.AppendUint32)
	dst = appendArray(dst, x.weight, appendFloat32)
	dst = appendStarts(dst, x.gramStart)
	dst = appendArray(dst, x.gramDocs, binary.LittleEndian.AppendUint32)
	dst = appendArray(dst, x.gramW, binary.LittleEndian.AppendUint16)
	dst = appendArray(dst, x.vectors, func(b []byte, v int8) []byte { return append(b, byte(v)) })
	dst = appendArray(dst, x.common, appendFloat32)
	dst = appendArray(dst, x.apart, appendFloat32)
	dst = appendFloat32(dst, x.meanNorm)
	dst = appendArray(dst, x.nameEnds, binary.LittleEndian.AppendUint32)
	dst = appendArray(dst, x.nameTerms, appendInt32)
	dst = appendArray(dst, x.termRows, appendInt32)
	dst = appendArray(dst, x.termVecs, func(b []byte, v int8) []byte { return append(b, byte(v)) })
	dst = appendArray(dst, x.verbs, func(b []byte, v int8) []byte { return append(b, byte(v)) })
	e := &x.examples
	dst = appendArray(dst, e.keys, binary.LittleEndian.AppendUint32)
	dst = appendArray(dst, e.idf, appendFloat32)
	dst = appendArray(dst, e.starts, binary.LittleEndian.AppendUint32)
	dst = appendArray(dst, e.docs, binary.LittleEndian.AppendUint32)
	dst = appendArray(dst, e.weight, appendFloat32)
	dst = appendArray(dst, e.count, appendFloat32)
	dst = appendArray(dst, e.ends, binary.LittleEndian.AppendUint32)
	dst = appendArray(dst, e.trust, appendFloat32)
	dst = appendArray(dst, e.toolStarts, binary.LittleEndian.AppendUint32)
	dst = appendArray(dst, e.toolDocs, binary.LittleEndian.AppendUint32)
	dst = appendArray(dst, e.toolWeight, appendFloat32)
	dst = appendArray(dst, e.centers, func(b []byte, v int8) []byte { return append(b, byte(v)) })
	dst = appendArray(dst, x.asked.ends, binary.LittleEndian.AppendUint32)
	dst = appendArray(dst, x.asked.vectors, func(b []byte, v int8) []byte { return append(b, byte(v)) })
	dst = appendArray(dst, x.paths.kinds, func(b []byte, v int8) []byte { return append(b, byte(v)) })
	dst = appendArray(dst, x.paths.ends, binary.LittleEndian.AppendUint32)
	return appendArray(dst, x.paths.terms, appendInt32)
}

func appendInt32(b []byte, v int32) []byte { return binary.LittleEndian.AppendUint32(b, uint32(v)) }

func appendFloat32(b []byte, v float32) []byte {
	return binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
}

func appendArray[T any](dst []byte, v []T, put func([]byte, T) []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(v)))
	for _, e := range v {
		dst = put(dst, e)
	}
	return dst
}

// reader takes arrays from the front of b; after the first fault it gives empty
// ones.
type reader struct {
	b   []byte
	bad bool
}

func readArray[T any](r *reader, size int, get func([]byte) T) []T {
	if r.bad || len(r.b) < 4 {
		r.bad = true
		return nil
	}
	n := int(binary.LittleEndian.Uint32(r.b))
	if n > (len(r.b)-4)/size {
		r.bad = true
		return nil
	}
	v := make([]T, n)
	b := r.b[4:]
	for i := range v {
		v[i] = get(b[i*size:])
	}
	r.b = b[n*size:]
	return v
}

// appendStarts appends the buckets that hold something: how many, then for each
// the distance from the one before and how much it holds, as varints.
func appendStarts(dst []byte, starts []uint32) []byte {
	n := 0
	for i := range len(starts) - 1 {
		if starts[i+1] > starts[i] {
			n++
		}
	}
	dst = binary.AppendUvarint(dst, uint64(n))
	last := -1
	for i := range len(starts) - 1 {
		if c := starts[i+1] - starts[i]; c > 0 {
			dst = binary.AppendUvarint(dst, uint64(i-last))
			dst = binary.AppendUvarint(dst, uint64(c))
			last = i
		}
	}
	return dst
}

// uvarint takes a varint in its shortest form.
func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if r.bad || n <= 0 || n > 1 && r.b[n-1] == 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

func readStarts(r *reader, buckets int) []uint32 {
	starts := make([]uint32, buckets+1)
	at, sum := -1, uint64(0)
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		step, c := r.uvarint(), r.uvarint()
		if step == 0 || step > uint64(buckets-1-at) || c == 0 || c > math.MaxUint32-sum {
			r.bad = true
			break
		}
		next := at + int(step)
		for i := at + 1; i <= next; i++ {
			starts[i] = uint32(sum)
		}
		sum += c
		at = next
	}
	for i := at + 1; i <= buckets; i++ {
		starts[i] = uint32(sum)
	}
	return starts
}

// float32 takes one number.
func (r *reader) float32() float32 {
	if r.bad || len(r.b) < 4 {
		r.bad = true
		return 0
	}
	f := getFloat32(r.b)
	r.b = r.b[4:]
	return f
}

func getInt32(b []byte) int32     { return int32(binary.LittleEndian.Uint32(b)) }
func getFloat32(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }
func getInt8(b []byte) int8       { return int8(b[0]) }
func getByte(b []byte) byte       { return b[0] }

// Open reads what [Index.Append] wrote. table must be the one it was built with,
// or nil when it was built without. It keeps no reference to b and fails with
// [ErrIndex].
func Open(b []byte, table *Table) (*Index, error) {
	if len(b) < len(magic)+4 {
		return nil, ErrIndex
	}
	version := string(b[:len(magic)])
	if version != magic && version != magicPlaces && version != magicBefore {
		return nil, ErrIndex
	}
	x := &Index{n: int(binary.LittleEndian.Uint32(b[len(magic):])), table: table}
	r := &reader{b: b[len(magic)+4:]}
	u32 := binary.LittleEndian.Uint32
	for _, d := range []*dict{&x.terms, &x.surface} {
		d.text = readArray(r, 1, getByte)
		d.ends = readArray(r, 4, u32)
		d.values = readArray(r, 4, getInt32)
		d.slots = readArray(r, 4, u32)
	}
	x.idf = readArray(r, 4, getFloat32)
	x.starts = readArray(r, 4, u32)
	x.docs = readArray(r, 4, u32)
	x.weight = readArray(r, 4, getFloat32)
	x.gramBits = gramBitsFor(x.n)
	x.gramStart = readStarts(r, 1<<x.gramBits)
	x.gramDocs = readArray(r, 4, u32)
	x.gramW = readArray(r, 2, binary.LittleEndian.Uint16)
	x.vectors = readArray(r, 1, getInt8)
	x.common = readArray(r, 4, getFloat32)
	x.apart = readArray(r, 4, getFloat32)
	x.meanNorm = r.float32()
	x.nameEnds = readArray(r, 4, u32)
	x.nameTerms = readArray(r, 4, getInt32)
	x.termRows = readArray(r, 4, getInt32)
	x.termVecs = readArray(r, 1, getInt8)
	x.verbs = readArray(r, 1, getInt8)
	x.examples = examples{
		keys: readArray(r, 4, u32), idf: readArray(r, 4, getFloat32), starts: readArray(r, 4, u32),
		docs: readArray(r, 4, u32), weight: readArray(r, 4, getFloat32), count: readArray(r, 4, getFloat32),
		ends: readArray(r, 4, u32), trust: readArray(r, 4, getFloat32),
		toolStarts: readArray(r, 4, u32), toolDocs: readArray(r, 4, u32), toolWeight: readArray(r, 4, getFloat32),
		centers: readArray(r, 1, getInt8),
	}
	x.asked = asked{ends: readArray(r, 4, u32), vectors: readArray(r, 1, getInt8)}
	switch version {
	case magic:
		x.paths = paths{kinds: readArray(r, 1, getInt8), ends: readArray(r, 4, u32), terms: readArray(r, 4, getInt32)}
		r.bad = r.bad || !x.paths.valid(x.n, len(x.idf))
	case magicPlaces:
		r.bad = len(readArray(r, 1, getInt8)) != x.n || r.bad
	}
	if r.bad || len(r.b) > 0 || !x.valid() {
		return nil, ErrIndex
	}
	return x, nil
}

// valid checks every number that is used as a position.
func (x *Index) valid() bool {
	terms := len(x.idf)
	dim := 0
	if x.table != nil {
		dim = x.table.Dim()
	}
	return x.n <= maxTools && x.terms.valid(terms) && x.surface.valid(terms) &&
		rising(x.starts, terms+1, len(x.docs)) && len(x.weight) == len(x.docs) && below(x.docs, x.n) &&
		rising(x.gramStart, 1<<x.gramBits+1, len(x.gramDocs)) && len(x.gramW) == len(x.gramDocs) && below(x.gramDocs, x.n) &&
		len(x.vectors) == x.n*dim && len(x.common) == x.n*min(dim, 1) && len(x.apart) == len(x.common) && len(x.verbs) == x.n &&
		rising(x.nameEnds, x.n, len(x.nameTerms)) && inside(x.nameTerms, 0, terms) &&
		len(x.termRows) == terms && inside(x.termRows, -1, len(x.termVecs)/max(dim, 1)) && len(x.termVecs)%max(dim, 1) == 0 &&
		x.examples.valid(x.n, dim) && x.asked.valid(x.n, dim)
}

// inside reports whether all of v are at least low and below high.
func inside(v []int32, low int32, high int) bool {
	for _, e := range v {
		if e < low || int(e) >= high {
			return false
		}
	}
	return true
}

// rising reports whether v has n numbers that never fall and end at most at limit.
func rising(v []uint32, n, limit int) bool {
	if len(v) != n {
		return false
	}
	last := uint32(0)
	for _, e := range v {
		if e < last || int(e) > limit {
			return false
		}
		last = e
	}
	return true
}

func below(v []uint32, n int) bool {
	for _, e := range v {
		if int(e) >= n {
			return false
		}
	}
	return true
}
