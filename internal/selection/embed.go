package selection

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
)

// Table is a static embedding: a vocabulary of word pieces with a row of numbers
// for each. The vector of a text is the mean of the rows of its pieces.
//
// The format is "SLEMB001", then rows, dimensions and the size of the vocabulary
// (three little-endian uint32), the vocabulary joined by line feeds, a float32
// scale for each row, and the rows as int8.
type Table struct {
	dim     int
	rows    map[string]int32
	scale   []float32
	q       []int8
	longest int
}

const (
	tableMagic = "SLEMB001"
	maxRows    = 1 << 17 // a vocabulary has about 30,000 word pieces
	maxDim     = 4096    // encoders have 384 to 1024
)

// errTable is returned for bytes that are not a table.
var errTable = errors.New("selection: not an embedding table")

// ParseTable reads a table. It keeps no reference to b.
func ParseTable(b []byte) (*Table, error) {
	if len(b) < 20 || string(b[:8]) != tableMagic {
		return nil, errTable
	}
	rows, dim, size := int(binary.LittleEndian.Uint32(b[8:])), int(binary.LittleEndian.Uint32(b[12:])), int(binary.LittleEndian.Uint32(b[16:]))
	if rows <= 0 || rows > maxRows || dim <= 0 || dim > maxDim || size > len(b) || len(b) != 20+size+4*rows+rows*dim {
		return nil, errTable
	}
	t := &Table{dim: dim, rows: make(map[string]int32, rows), scale: make([]float32, rows), q: make([]int8, rows*dim)}
	for piece := range strings.SplitSeq(string(b[20:20+size]), "\n") {
		t.longest = max(t.longest, len(strings.TrimPrefix(piece, "##")))
		t.rows[piece] = int32(len(t.rows))
	}
	if len(t.rows) != rows {
		return nil, errTable
	}
	at := 20 + size
	for i := range t.scale {
		t.scale[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[at+4*i:]))
		if !(t.scale[i] >= 0 && t.scale[i] < 1e6) { // also what is not a number
			return nil, errTable
		}
	}
	for i, c := range b[at+4*rows:] {
		t.q[i] = int8(c)
	}
	return t, nil
}

// Dim is the length of a vector.
func (t *Table) Dim() int { return t.dim }

// maxPieces bounds the pieces of a text that are looked at.
const maxPieces = 96

// pieces is the scratch of vector.
type pieces struct {
	word []byte
	key  []byte
	ids  []int32
}

// vector writes the normalised vector of text into v, zeros when it has no known
// word, and reports whether it has one.
func (t *Table) vector(text string, v []float32, s *pieces) bool {
	s.ids = s.ids[:0]
	s.word = eachWord(text, s.word, func(w []byte) { t.split(w, s) })
	return t.sum(v, s)
}

// wordVector is vector of one word as eachWord gives it.
func (t *Table) wordVector(w []byte, v []float32, s *pieces) bool {
	s.ids = s.ids[:0]
	t.split(w, s)
	return t.sum(v, s)
}

// sum writes the normalised sum of the rows in s into v.
func (t *Table) sum(v []float32, s *pieces) bool {
	clear(v)
	for _, id := range s.ids[:min(len(s.ids), maxPieces)] {
		scale := t.scale[id]
		for k, q := range t.q[int(id)*t.dim : int(id+1)*t.dim] {
			v[k] += scale * float32(q)
		}
	}
	return normalise(v)
}

// normalise makes the length of v 1 and reports whether it had one.
func normalise(v []float32) bool {
	var sum float32
	for _, f := range v {
		sum += f * f
	}
	if sum == 0 {
		return false
	}
	scale := float32(1 / math.Sqrt(float64(sum)))
	for k := range v {
		v[k] *= scale
	}
	return true
}

// split appends the rows of word's pieces, longest first; a word that is not
// covered to its end is left out.
func (t *Table) split(w []byte, s *pieces) {
	mark := len(s.ids)
	for i := 0; i < len(w); {
		end := min(len(w), i+t.longest)
		found := false
		for ; end > i; end-- {
			s.key = s.key[:0]
			if i > 0 {
				s.key = append(s.key, "##"...)
			}
			s.key = append(s.key, w[i:end]...)
			if id, ok := t.rows[string(s.key)]; ok {
				s.ids = append(s.ids, id)
				i, found = end, true
				break
			}
		}
		if !found {
			s.ids = s.ids[:mark]
			return
		}
	}
}

// dot multiplies a query's vector with a stored one; the result is a cosine.
func dot(a []float32, b []int8) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	i := 0
	for ; i+3 < len(a); i += 4 {
		s0 += a[i] * float32(b[i])
		s1 += a[i+1] * float32(b[i+1])
		s2 += a[i+2] * float32(b[i+2])
		s3 += a[i+3] * float32(b[i+3])
	}
	for ; i < len(a); i++ {
		s0 += a[i] * float32(b[i])
	}
	return (s0 + s1 + s2 + s3) / math.MaxInt8
}
