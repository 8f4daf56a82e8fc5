package compress

import (
	"strconv"
	"testing"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// TestCommonestValue compares the rule of each column with what counting all values
// of it says: one value in every row, or in seven of ten.
func TestCommonestValue(t *testing.T) {
	constants := 0
	for seed := range uint64(3000) {
		g := newGenerator(seed)
		e := new(encoder)
		doc := jsonscan.AppendMinified(nil, g.document())
		if seed%2 == 0 {
			doc = g.uniform()
		}
		e.reset(nil)
		if !e.build(doc) || e.nodes[0].flags&filled == 0 || !e.document() {
			continue
		}
		for _, s := range e.order {
			r := e.records[s]
			for c := range r.columns {
				counts, most := map[string]int{}, ""
				for i := range r.instances {
					id := r.row(i)[c]
					if id < 0 || e.nodes[id].flags&filled != 0 {
						continue
					}
					v := value(e, id)
					if counts[v]++; counts[v] > counts[most] {
						most = v
					}
				}
				n, rows := counts[most], len(r.instances)
				col := &r.columns[c]
				want := modePlain
				switch {
				case n == rows:
					want = modeFixed
				case col.parts != nil:
					continue // a template, which comes before a default
				case rows >= 3 && n*10 >= rows*defaultShare:
					want = modeDefault
				}
				if col.mode != want || want != modePlain && value(e, col.konst) != most {
					t.Fatalf("seed %d, column %q: mode %d, want %d of %q in %d of %d rows: %.500s", seed, r.keys[c], col.mode, want, most, n, rows, doc)
				}
				if want != modePlain {
					constants++
				}
			}
		}
	}
	if constants < 1000 {
		t.Errorf("only %d columns with one value or a default, want 1000", constants)
	}
}

// value is the kind and text of one that is no filled container.
func value(e *encoder, id int32) string {
	n := &e.nodes[id]
	if n.container() {
		return string(rune(n.kind))
	}
	return string(rune(n.kind)) + string(e.raw(n))
}

// uniform is a list of objects of the same keys, of which most have one value.
func (g *generator) uniform() []byte {
	values := []string{`1`, `null`, `"null"`, `"1"`, `[]`, `{}`, `""`, `[1]`, `"a"`, `true`}
	b := []byte{'['}
	for i := range 2 + g.IntN(20) {
		if i > 0 {
			b = append(b, ',')
		}
		for k := range 4 {
			b = append(b, "{,,,"[k], '"', byte('a'+k), '"', ':')
			if g.IntN(10) < 2*k {
				b = append(b, values[g.IntN(len(values))]...)
			} else {
				b = append(b, values[k]...)
			}
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

// TestFollow numbers keys as number does, in any order.
func TestFollow(t *testing.T) {
	g := newGenerator(1)
	var follow, number numbering
	for range 20 {
		follow.reset()
		number.reset()
		for i := range 500 {
			key := []byte(strconv.Itoa(i % 7))
			if g.IntN(5) == 0 {
				key = strconv.AppendInt(nil, int64(g.IntN(100)), 10)
			}
			a, freshA := follow.follow(key)
			b, freshB := number.number(key)
			if a != b || freshA != freshB {
				t.Fatalf("key %s: follow says %d, %v, number %d, %v", key, a, freshA, b, freshB)
			}
		}
	}
}
