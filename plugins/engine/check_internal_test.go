package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// blank makes a table by hand: nodes without fields, whose hash is one empty slot in
// their own first bytes, predicate terms that are always true, and free room of
// 0xFF bytes, which reads as empty slots.
func blank(nodes, ops, room int) table {
	n := headerBytes + nodes*nodeBytes + ops*opBytes + room + tablePad
	n = (n + tableAlign - 1) / tableAlign * tableAlign
	t := make(table, n)
	copy(t, tableMagic)
	t.put16(4, Version)
	t.put32(8, n)
	t.put16(12, nodes)
	t.put16(14, childKeep)
	t.put32(16, headerBytes+nodes*nodeBytes)
	t.put16(20, ops)
	for i := range nodes {
		b := t.nodeAt(i)
		for k := range 8 {
			t[b+k] = 0xFF
		}
		t.put32(b+8, b)
		t.put32(b+12, b)
		t.put16(b+22, childDrop)
	}
	for i := range ops {
		t.leaf(i, CmpExists, kindNone)
	}
	for i := t.room(); i < t.end(); i++ {
		t[i] = 0xFF
	}
	return t
}

func (t table) put16(o, v int)   { binary.LittleEndian.PutUint16(t[o:], uint16(v)) }
func (t table) put32(o, v int)   { binary.LittleEndian.PutUint32(t[o:], uint32(v)) }
func (t table) nodeAt(i int) int { return headerBytes + i*nodeBytes }
func (t table) opAt(i int) int   { return t.opsOff() + i*opBytes }
func (t table) end() int         { return len(t) - tablePad }
func (t table) room() int        { return headerBytes + t.nodes()*nodeBytes + t.ops()*opBytes }

// leaf makes term i a comparison of nothing with nothing.
func (t table) leaf(i int, cmp Cmp, kind int) {
	o := t.opAt(i)
	t[o], t[o+1], t[o+2] = opLeaf, byte(cmp), byte(kind)
	t.put32(o+4, i+1)
	t.put32(o+8, headerBytes)
	t.put32(o+16, headerBytes)
}

// not makes term i the negation of the one after it.
func (t table) not(i, next int) {
	o := t.opAt(i)
	t[o], t[o+1], t[o+2] = opNot, 0, 0
	t.put32(o+4, next)
	t.put32(o+8, headerBytes)
	t.put32(o+16, headerBytes)
}

// extension gives node 0 an extension at o without limits and suffixes.
func (t table) extension(o int) {
	t.put32(t.nodeAt(0)+16, o)
	clear(t[o : o+extBytes])
	t.put32(o+16, headerBytes)
}

// fields compiles a program with fields of these names and returns its table, which
// has one node.
func fieldsTable(t *testing.T, names ...string) table {
	t.Helper()
	root := &Node{}
	for _, n := range names {
		root.Fields = append(root.Fields, Field{Name: n})
	}
	b, err := Compile(&Program{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	return table(b)
}

// grow adds room to a table.
func grow(t table, n int) table {
	out := append(append(table{}, t[:t.end()]...), make(table, n+tablePad)...)
	for i := t.end(); i < out.end(); i++ {
		out[i] = 0xFF
	}
	out.put32(8, len(out))
	return out
}

// checks is the table tests' judge: want is what the refusal says, or empty.
func checks(t *testing.T) func(name string, b table, want string) {
	return func(name string, b table, want string) {
		t.Helper()
		err := Check(b)
		if want == "" && err != nil || want != "" && (!errors.Is(err, ErrTable) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// TestCheckHeader tries each field of the header at its limit and one past it.
func TestCheckHeader(t *testing.T) {
	check := checks(t)
	with := func(b table, change func(b table)) table { change(b); return b }
	check("smallest", blank(0, 0, 0), "")
	check("no room for padding", with(blank(0, 0, 0)[:headerBytes], func(b table) { b.put32(8, len(b)) }), "32 bytes")
	check("largest", blank(0, 0, MaxTable-headerBytes-tablePad), "")
	check("larger", blank(0, 0, MaxTable-headerBytes-tablePad+1), "1048592 bytes")
	check("not aligned", with(append(blank(0, 0, 0), make(table, 8)...), func(b table) { b.put32(8, len(b)) }), "56 bytes")
	check("length", with(blank(0, 0, 16), func(b table) { b.put32(8, len(b)-1) }), "length")
	for i := range 4 {
		check("magic", with(blank(0, 0, 0), func(b table) { b[i]++ }), "no magic")
	}
	check("version", with(blank(0, 0, 0), func(b table) { b.put16(4, Version+1) }), "version")
	check("output", with(blank(0, 0, 0), func(b table) { b[6] = byte(JSON) + 1 }), "unknown output")
	check("documents", with(blank(0, 0, 0), func(b table) { b[7] = byte(DocumentStream) }), "")
	check("documents", with(blank(0, 0, 0), func(b table) { b[7] = byte(DocumentStream) + 1 }), "unknown output")
	for _, i := range []int{22, 23, 24, 31} {
		check("reserved", with(blank(0, 0, 0), func(b table) { b[i] = 1 }), "unknown output")
	}
	for i := range tablePad {
		check("padding", with(blank(0, 0, 0), func(b table) { b[b.end()+i] = 1 }), "no padding")
	}
	check("most nodes", blank(MaxNodes, 0, 0), "")
	check("a node more", blank(MaxNodes+1, 0, 0), "16385 nodes")
	check("nodes to the padding", blank(1, 0, 0), "")
	check("nodes into the padding", with(blank(1, 0, 0), func(b table) { b.put16(12, 2) }), "2 nodes")
	for root, want := range map[int]string{childKeep: "", childDrop: "root", 0: "", 1: "", 2: "root 2 of 2"} {
		check(fmt.Sprint("root ", root), with(blank(2, 0, 0), func(b table) { b.put16(14, root) }), want)
	}
	check("most terms", blank(0, MaxOps, 0), "")
	check("a term more", blank(0, MaxOps+1, 0), "1025 predicate terms")
	check("terms in the header", with(blank(0, 1, 0), func(b table) { b.put32(16, headerBytes-1) }), "1 predicate terms at 31")
	check("no terms at the padding", with(blank(0, 0, 0), func(b table) { b.put32(16, b.end()) }), "")
	check("no terms in the padding", with(blank(0, 0, 0), func(b table) { b.put32(16, b.end()+1) }), "0 predicate terms")
	check("terms into the padding", with(blank(0, 2, 0), func(b table) { b.put16(20, 3) }), "3 predicate terms")
}

// TestCheckNode tries each field of a node at its limit and one past it.
func TestCheckNode(t *testing.T) {
	check := checks(t)
	f := func(name, want string, change func(b table, node int)) {
		t.Helper()
		b := blank(2, 2, 1<<16)
		change(b, b.nodeAt(0))
		check(name, b, want)
	}
	hash := func(mbits, gbits int) func(b table, node int) {
		return func(b table, node int) {
			b.put32(node+8, b.room())
			b[node+26], b[node+27] = byte(mbits), byte(gbits)
		}
	}
	f("largest hash", "", hash(14, 14))
	f("larger hash", "hash of 15", hash(15, 0))
	f("more groups than slots", "hash of 3 and 4 bits", hash(3, 4))
	f("reserved", "0 fields", func(b table, node int) { b[node+28] = 1 })
	f("reserved", "0 fields", func(b table, node int) { b[node+31] = 1 })
	f("hash in the header", "hash or entries outside", func(b table, node int) { b.put32(node+8, headerBytes-1) })
	f("hash to the padding", "", func(b table, node int) { b.put32(node+8, b.end()-3) })
	f("hash into the padding", "hash or entries outside", func(b table, node int) { b.put32(node+8, b.end()-2) })
	f("large hash to the padding", "", func(b table, node int) { hash(3, 3)(b, node); b.put32(node+8, b.end()-24) })
	f("large hash into the padding", "hash or entries outside", func(b table, node int) { hash(3, 3)(b, node); b.put32(node+8, b.end()-23) })
	f("hash at the end of memory", "hash or entries outside", func(b table, node int) { b.put32(node+8, 0xFFFFFFFF) })
	f("no entries at the padding", "", func(b table, node int) { b.put32(node+12, b.end()) })
	f("no entries in the padding", "hash or entries outside", func(b table, node int) { b.put32(node+12, b.end()+1) })
	f("no entries in the header", "hash or entries outside", func(b table, node int) { b.put32(node+12, headerBytes-1) })
	f("slot of a field that is not there", "slot 0 of 0", func(b table, node int) { b.put16(node, 0) })
	for bit := range 16 {
		want := "unknown rules"
		if ruleBits&(1<<bit) != 0 {
			want = ""
		}
		f(fmt.Sprint("rule ", bit), want, func(b table, node int) { b.put16(node+24, 1<<bit) })
	}
	for rest, want := range map[int]string{-3: "rest", childDrop: "", childKeep: "", 1: "", 2: "rest"} {
		f(fmt.Sprint("rest ", rest), want, func(b table, node int) { b.put16(node+22, rest) })
	}
}

// TestCheckFields tries the fields of a node, their names and where they lead.
func TestCheckFields(t *testing.T) {
	check := checks(t)
	var many []string
	for i := range MaxFields {
		many = append(many, fmt.Sprint("f", i))
	}
	full := fieldsTable(t, many...)
	check("most fields", full, "")
	more := grow(full, 64)
	more.put16(more.nodeAt(0)+20, MaxFields+1)
	check("a field more", more, "1025 fields")

	f := func(name, want string, change func(b table, node, entry int)) {
		t.Helper()
		b := grow(fieldsTable(t, "first", "second"), 1024)
		v := b.node(0)
		change(b, b.nodeAt(0), v.entries)
		check(name, b, want)
	}
	f("nothing", "", func(table, int, int) {})
	f("slot one past the fields", "of 2 fields", func(b table, node, _ int) {
		v := b.node(0)
		for s := range 1 << v.mbits {
			if b.u16(v.slots+2*s) == slotEmpty {
				b.put16(v.slots+2*s, 2)
				return
			}
		}
		t.Fatal("no slot is empty")
	})
	move := func(b table, node, entry, to int) { copy(b[to:], b[entry:entry+2*entryBytes]); b.put32(node+12, to) }
	f("entries to the padding", "", func(b table, node, entry int) { move(b, node, entry, b.end()-2*entryBytes) })
	f("entries into the padding", "hash or entries outside", func(b table, node, _ int) { b.put32(node+12, b.end()-2*entryBytes+1) })
	for bit := 10; bit < 16; bit++ {
		want := "name 0 outside"
		if bit >= 12 {
			want = "" // exempt and the other marks
		}
		f(fmt.Sprint("mark ", bit), want, func(b table, _, entry int) { b.put16(entry+4, int(b.u16(entry+4))|1<<bit) })
	}
	f("name in the header", "name 0 outside", func(b table, _, entry int) { b.put32(entry, headerBytes-1) })
	f("name to the padding", "", func(b table, _, entry int) {
		n := int(b.u16(entry + 4))
		copy(b[b.end()-n:b.end()], b[b.u32(entry):][:n])
		b.put32(entry, b.end()-n)
	})
	f("name into the padding", "name 0 outside", func(b table, _, entry int) { b.put32(entry, b.end()-int(b.u16(entry+4))+1) })
	f("name longer than any", "name 0 outside", func(b table, _, entry int) { b.put16(entry+4, MaxName+1) })
	f("another name", "cannot be found", func(b table, _, entry int) { b[b.u32(entry)] ^= 1 })
	f("two entries of one name", "cannot be found", func(b table, _, entry int) {
		copy(b[entry+entryBytes:entry+2*entryBytes], b[entry:entry+entryBytes])
	})
	f("last entry of another name", "field 1 cannot be found", func(b table, _, entry int) { b[b.u32(entry+entryBytes)] ^= 1 })
	for child, want := range map[int]string{-3: "leads to node -3", childDrop: "", childKeep: "", 0: "", 1: "leads to node 1"} {
		f(fmt.Sprint("child ", child), want, func(b table, _, entry int) { b.put16(entry+6, child) })
		f(fmt.Sprint("last child ", child), want, func(b table, _, entry int) { b.put16(entry+entryBytes+6, child) })
	}
	check("longest name", fieldsTable(t, strings.Repeat("n", MaxName)), "")
}

// TestCheckExtension tries predicates and suffixes of a node.
func TestCheckExtension(t *testing.T) {
	check := checks(t)
	f := func(name, want string, change func(b table, ext int)) {
		t.Helper()
		b := blank(1, 3, 8192)
		b.not(0, 2) // terms 0 and 2 start a predicate, term 1 belongs to 0
		b.extension(b.room())
		change(b, b.room())
		check(name, b, want)
	}
	f("nothing", "", func(table, int) {})
	for where, want := range map[int]string{1: "", 2: "unknown predicate", 3: "", 4: "unknown predicate", 0xFFFFFFFF: "unknown predicate"} {
		f(fmt.Sprint("where ", where), want, func(b table, ext int) { b.put32(ext, where) })
	}
	f("reserved", "unknown predicate", func(b table, ext int) { b[ext+28] = 1 })
	f("in the header", "extension outside", func(b table, _ int) { b.put32(b.nodeAt(0)+16, 1) })
	f("to the padding", "", func(b table, _ int) { b.extension(b.end() - extBytes) })
	f("into the padding", "extension outside", func(b table, _ int) { b.put32(b.nodeAt(0)+16, b.end()-extBytes+1) })

	suffixes := func(n, bytes int) func(b table, ext int) {
		return func(b table, ext int) {
			list := ext + extBytes
			b.put32(ext+16, list)
			b.put32(ext+20, n)
			for i := range n {
				b.put32(list+i*suffixBytes, list)
				b.put32(list+i*suffixBytes+4, bytes)
			}
		}
	}
	f("most suffixes", "", suffixes(MaxSuffixes, 1))
	f("a suffix more", "suffixes outside", suffixes(MaxSuffixes+1, 1))
	f("longest suffix", "", suffixes(1, MaxSuffix))
	f("longer suffix", "suffix outside", suffixes(1, MaxSuffix+1))
	f("empty suffix", "suffix outside", suffixes(1, 0))
	f("last suffix empty", "suffix outside", func(b table, ext int) { suffixes(3, 1)(b, ext); b.put32(ext+extBytes+2*suffixBytes+4, 0) })
	f("suffix in the header", "suffix outside", func(b table, ext int) { suffixes(1, 1)(b, ext); b.put32(ext+extBytes, headerBytes-1) })
	f("suffix to the padding", "", func(b table, ext int) { suffixes(1, 5)(b, ext); b.put32(ext+extBytes, b.end()-5) })
	f("suffix into the padding", "suffix outside", func(b table, ext int) { suffixes(1, 5)(b, ext); b.put32(ext+extBytes, b.end()-4) })
	f("list in the header", "suffixes outside", func(b table, ext int) { b.put32(ext+16, headerBytes-1) })
	f("list into the padding", "suffixes outside", func(b table, ext int) { b.put32(ext+16, b.end()-suffixBytes+1); b.put32(ext+20, 1) })
}

// TestCheckIsLinear lets nodes share parts as often as the budget allows, and once more.
func TestCheckIsLinear(t *testing.T) {
	check := checks(t)
	const nodes = 63
	b := blank(nodes, 0, 1<<16)
	left := 4 * len(b)
	last := -1 // a node that can cost one byte more
	for i := range nodes {
		cost, mbits, gbits := 3, 0, 0
		for m := range 15 {
			for g := range m + 1 {
				if c := 2<<m + 1<<g; c > cost && c <= left-3*(nodes-i-1) {
					cost, mbits, gbits = c, m, g
				}
			}
		}
		if mbits == 0 && gbits == 0 && last < 0 {
			last = i
		}
		left -= cost
		n := b.nodeAt(i)
		b.put32(n+8, b.room())
		b[n+26], b[n+27] = byte(mbits), byte(gbits)
	}
	if left != 0 || last < 0 {
		t.Fatalf("%d bytes are left of the budget", left)
	}
	check("all of the budget", b, "")
	with := func(change func(b table)) table { c := append(table{}, b...); change(c); return c }
	check("more than the budget", with(func(b table) { b[b.nodeAt(last)+26] = 1 }), "parts shared too often")
	check("a suffix of the last node more", with(func(b table) {
		ext := b.end() - extBytes - suffixBytes
		b.extension(ext)
		b.put32(b.nodeAt(0)+16, 0)
		b.put32(b.nodeAt(nodes-1)+16, ext)
		b.put32(ext+16, ext+extBytes)
		b.put32(ext+20, 1)
		b.put32(ext+extBytes, ext)
		b.put32(ext+extBytes+4, 1)
	}), "parts shared too often")

	// Suffixes count, too: each of these nodes reads the same 32.
	b = blank(400, 0, 1024)
	b.extension(b.room())
	list := b.room() + extBytes
	b.put32(b.room()+16, list)
	b.put32(b.room()+20, MaxSuffixes)
	for i := range MaxSuffixes {
		b.put32(list+i*suffixBytes, list)
		b.put32(list+i*suffixBytes+4, 1)
	}
	check("few share suffixes", b, "")
	for i := range 400 {
		b.put32(b.nodeAt(i)+16, b.room())
	}
	check("many share suffixes", b, "parts shared too often")

	// So do entries.
	names := make([]string, 500)
	for i := range names {
		names[i] = fmt.Sprint("name", i)
	}
	one := fieldsTable(t, names...)
	check("one node with many fields", one, "")
	const copies = 200
	shift := (copies - 1) * nodeBytes
	shared := append(append(table{}, one[:headerBytes+nodeBytes]...), make(table, shift)...)
	shared = append(shared, one[headerBytes+nodeBytes:]...)
	v := shared.node(0)
	shared.put32(8, len(shared))
	shared.put16(12, copies)
	shared.put32(16, headerBytes)
	for i := range 500 {
		e := v.entries + shift + i*entryBytes
		shared.put32(e, int(shared.u32(e))+shift)
	}
	n := shared.nodeAt(0)
	shared.put32(n+8, v.slots+shift)
	shared.put32(n+12, v.entries+shift)
	for i := 1; i < copies; i++ {
		copy(shared[shared.nodeAt(i):], shared[n:n+nodeBytes])
	}
	check("many nodes with the same fields", shared, "parts shared too often")
}

// TestCheckTerms tries predicate terms.
func TestCheckTerms(t *testing.T) {
	check := checks(t)
	f := func(name, want string, change func(b table, op int)) {
		t.Helper()
		b := blank(0, 2, 4096)
		change(b, b.opAt(0))
		check(name, b, want)
	}
	f("nothing", "", func(table, int) {})
	f("reserved", "next is 1", func(b table, op int) { b[op+3] = 1 })
	f("next is itself", "next is 0", func(b table, op int) { b.put32(op+4, 0) })
	f("next is past the end", "next is 3", func(b table, op int) { b.put32(op+4, 3) })
	f("a leaf with an operand", "strings outside", func(b table, op int) { b.put32(op+4, 2) })
	f("path in the header", "strings outside", func(b table, op int) { b.put32(op+8, headerBytes-1) })
	f("path into the padding", "strings outside", func(b table, op int) { b.put32(op+8, b.end()); b.put32(op+12, 1) })
	f("value in the header", "strings outside", func(b table, op int) { b.put32(op+16, headerBytes-1) })
	f("value into the padding", "strings outside", func(b table, op int) { b.put32(op+16, b.end()-1); b.put32(op+20, 2) })

	value := func(cmp Cmp, kind int, text string) func(b table, op int) {
		return func(b table, op int) {
			b.leaf(0, cmp, kind)
			copy(b[b.room():], text)
			b.put32(op+16, b.room())
			b.put32(op+20, len(text))
		}
	}
	f("longest value", "", value(CmpEq, kindString, strings.Repeat("v", MaxValue)))
	f("longer value", "path, value or comparison", value(CmpEq, kindString, strings.Repeat("v", MaxValue+1)))
	f("a number", "", value(CmpEq, kindNumber, "12"))
	f("no number", "value", value(CmpEq, kindNumber, "1x"))
	f("half a number", "value", value(CmpEq, kindNumber, "1e"))
	f("no bytes of a number", "value", value(CmpEq, kindNumber, ""))
	for kind := kindNull; kind <= kindTrue; kind++ {
		f("a name of a value", "", value(CmpEq, kind, ""))
		f("a name of a value with bytes", "value", value(CmpEq, kind, "x"))
	}
	f("bytes of nothing", "value", value(CmpExists, kindNone, "x"))

	path := func(names int, bytes int) func(b table, op int) {
		return func(b table, op int) {
			at := b.room()
			for range names {
				b.put16(at, bytes)
				at += 2 + bytes
			}
			b.put32(op+8, b.room())
			b.put32(op+12, at-b.room())
		}
	}
	f("longest path", "", path(MaxPath, 3))
	f("longer path", "path, value or comparison", path(MaxPath+1, 3))
	f("longest name", "", path(1, MaxName))
	f("longer name", "path, value or comparison", path(1, MaxName+1))
	f("empty name", "", path(1, 0))
	f("half a length", "path, value or comparison", func(b table, op int) { path(1, 3)(b, op); b.put32(op+12, 6) })
	f("half a name", "path, value or comparison", func(b table, op int) { path(1, 3)(b, op); b.put32(op+12, 4) })

	// Which comparison goes with which kind of value.
	for cmp := range Cmp(12) {
		for kind := range 8 {
			ok := false
			switch cmp {
			case CmpExists:
				ok = kind == kindNone
			case CmpEq:
				ok = kind >= kindNull && kind <= kindString
			case CmpLt, CmpLe, CmpGt, CmpGe:
				ok = kind == kindNumber || kind == kindString
			case CmpContains, CmpPrefix, CmpGlob:
				ok = kind == kindString
			}
			text, want := "", "path, value or comparison"
			if kind == kindNumber {
				text = "1"
			}
			if ok {
				want = ""
			}
			f(fmt.Sprintf("comparison %d of kind %d", cmp, kind), want, value(cmp, kind, text))
		}
	}

	// Terms with operands.
	f("not", "", func(b table, _ int) { b.not(0, 2) })
	f("unknown kind", "kind 4", func(b table, op int) { b.not(0, 2); b[op] = 4 })
	f("not of nothing", "0 operands", func(b table, _ int) { b.not(0, 1) })
	for _, at := range []int{1, 2} {
		f("not with a comparison", "kind 3", func(b table, op int) { b.not(0, 2); b[op+at] = 1 })
	}
	for _, at := range []int{12, 20} {
		f("not with a string", "kind 3", func(b table, op int) { b.not(0, 2); b[op+at] = 1 })
	}
	for _, at := range []int{8, 16} {
		f("not with a string in the header", "kind 3", func(b table, op int) { b.not(0, 2); b.put32(op+at, headerBytes-1) })
	}
	three := func(kind byte) table {
		b := blank(0, 3, 0)
		b.not(0, 3)
		b[b.opAt(0)] = kind
		return b
	}
	check("and of two", three(opAnd), "")
	check("or of two", three(opOr), "")
	check("not of two", three(opNot), "2 operands")
	overlap := blank(0, 4, 0)
	overlap.not(0, 2)
	overlap.not(1, 4)
	overlap[overlap.opAt(1)] = opAnd
	check("operand longer than its term", overlap, "terms overlap")

	chain := func(depth int) table {
		b := blank(0, depth, 0)
		for i := range depth - 1 {
			b.not(i, depth)
		}
		return b
	}
	check("deepest", chain(MaxOpDepth), "")
	check("deeper", chain(MaxOpDepth+1), "nested deeper than 32")
}

// TestPathThatBreaksOff: a path of which only one byte is there is refused, also at the very end
// of the table.
func TestPathThatBreaksOff(t *testing.T) {
	b := table(make([]byte, headerBytes))
	for n := range 2 {
		if got := b.pathOK(len(b)-n, n); got != (n == 0) {
			t.Errorf("a path of %d bytes: %t", n, got)
		}
	}
}
