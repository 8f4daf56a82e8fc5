package engine

import "fmt"

// Check verifies a table that came from outside: after it, no implementation
// reads or jumps outside the table, whatever the input. It accepts what Compile
// writes, in any order of its parts. Its time is linear in the table.
func Check(program []byte) error {
	t := table(program)
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrTable, fmt.Sprintf(format, args...))
	}
	if len(t) < headerBytes+tablePad || len(t) > MaxTable || len(t)%tableAlign != 0 {
		return bad("%d bytes", len(t))
	}
	if string(t[:4]) != tableMagic {
		return bad("no magic")
	}
	if v := t.u16(4); v != Version {
		return bad("version %d, known is %d", v, Version)
	}
	if t.length() != uint32(len(t)) {
		return bad("length %d in %d bytes", t.length(), len(t))
	}
	if t.output() != JSON || t.documents() > DocumentStream || t.u16(22) != 0 || t.u64(24) != 0 {
		return bad("unknown output, document mode or flags")
	}
	n := t.nodes()
	if n > MaxNodes || headerBytes+n*nodeBytes > len(t)-tablePad {
		return bad("%d nodes", n)
	}
	if r := t.root(); r != childKeep && (r < 0 || r >= n) {
		return bad("root %d of %d nodes", r, n)
	}
	for _, b := range t[len(t)-tablePad:] {
		if b != 0 {
			return bad("no padding")
		}
	}
	if t.ops() > MaxOps || !t.within(t.u32(16), uint32(t.ops()*opBytes)) {
		return bad("%d predicate terms at %d", t.ops(), t.u32(16))
	}
	starts, err := t.checkOps()
	if err != nil {
		return err
	}
	// Parts may not be shared without end, or a small table would take long to check.
	budget := 4 * len(t)
	for i := range n {
		if err := t.checkNode(i, starts, &budget); err != nil {
			return err
		}
	}
	return nil
}

// within tells whether n bytes at off lie behind the header and before the padding.
func (t table) within(off, n uint32) bool {
	end := uint32(len(t) - tablePad)
	return off >= headerBytes && off <= end && n <= end-off
}

func (t table) checkNode(i int, starts []bool, budget *int) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: node %d: %s", ErrTable, i, fmt.Sprintf(format, args...))
	}
	child := func(c int) bool { return c >= childDrop && c < t.nodes() }
	b := headerBytes + i*nodeBytes
	fields := uint32(t.u16(b + 20))
	mbits, gbits := t.u8(b+26), t.u8(b+27)
	if mbits > 14 || gbits > mbits || fields > MaxFields || t.u32(b+28) != 0 {
		return bad("%d fields, hash of %d and %d bits", fields, mbits, gbits)
	}
	if !t.within(t.u32(b+8), 2<<mbits+1<<gbits) || !t.within(t.u32(b+12), fields*entryBytes) {
		return bad("hash or entries outside")
	}
	if *budget -= 2<<mbits + 1<<gbits + int(fields)*entryBytes; *budget < 0 {
		return bad("parts shared too often")
	}
	if Rules(t.u16(b+24))&^ruleBits != 0 || !child(t.i16(b+22)) {
		return bad("unknown rules or rest")
	}
	if e := t.u32(b + 16); e != 0 {
		if !t.within(e, extBytes) {
			return bad("extension outside")
		}
		x := t.ext(int(e))
		if x.where < 0 || x.where > len(starts) || x.where > 0 && !starts[x.where-1] || t.u32(int(e)+28) != 0 {
			return bad("unknown predicate")
		}
		if x.suffixes < 0 || x.suffixes > MaxSuffixes || !t.within(t.u32(int(e)+16), uint32(x.suffixes*suffixBytes)) {
			return bad("suffixes outside")
		}
		if *budget -= x.suffixes * suffixBytes; *budget < 0 {
			return bad("parts shared too often")
		}
		for s := range x.suffixes {
			o := x.suffixOff + s*suffixBytes
			if l := t.u32(o + 4); l == 0 || l > MaxSuffix || !t.within(t.u32(o), l) {
				return bad("suffix outside")
			}
		}
	}
	v := t.node(i)
	for s := range 1 << mbits {
		if k := t.u16(v.slots + 2*s); k != slotEmpty && uint32(k) >= fields {
			return bad("slot %d of %d fields", k, fields)
		}
	}
	for k := range int(fields) {
		o := v.entries + k*entryBytes
		lf := t.u16(o + 4)
		if lf&^(entryLenMask|entryExempt|entryKeepURL|entryNoPages|entryTold) != 0 || lf&entryLenMask > MaxName || !t.within(t.u32(o), uint32(lf&entryLenMask)) {
			return bad("name %d outside", k)
		}
		if !child(t.i16(o + 6)) {
			return bad("field %d leads to node %d", k, t.i16(o+6))
		}
	}
	for k := range int(fields) {
		e := t.entry(&v, k)
		if t.find(&v, t[e.key:][:e.length]) != k {
			return bad("field %d cannot be found", k)
		}
	}
	return nil
}

// checkOps verifies all predicate terms and tells which start a predicate.
func (t table) checkOps() ([]bool, error) {
	n := t.ops()
	starts := make([]bool, n)
	for i := 0; i < n; {
		starts[i] = true
		end, err := t.checkOp(i, 1)
		if err != nil {
			return nil, err
		}
		i = end
	}
	return starts, nil
}

func (t table) checkOp(i, depth int) (int, error) {
	bad := func(format string, args ...any) (int, error) {
		return 0, fmt.Errorf("%w: predicate term %d: %s", ErrTable, i, fmt.Sprintf(format, args...))
	}
	if depth > MaxOpDepth {
		return bad("nested deeper than %d", MaxOpDepth)
	}
	o := t.op(i)
	if t.u8(t.opsOff()+i*opBytes+3) != 0 || o.next <= i || o.next > t.ops() {
		return bad("next is %d", o.next)
	}
	at := t.opsOff() + i*opBytes
	if o.op == opLeaf {
		if o.next != i+1 || !t.within(t.u32(at+8), t.u32(at+12)) || !t.within(t.u32(at+16), t.u32(at+20)) {
			return bad("strings outside")
		}
		if o.valueBytes > MaxValue || !t.pathOK(o.path, o.pathLen) || !leafOK(Cmp(o.cmp), o.kind) {
			return bad("path, value or comparison")
		}
		v := t[o.value:][:o.valueBytes]
		if o.kind == kindNumber && numberEnd(v, 0) != len(v) || o.kind < kindNumber && len(v) != 0 {
			return bad("value")
		}
		return o.next, nil
	}
	if o.op > opNot || o.cmp != 0 || o.kind != 0 || o.pathLen != 0 || o.valueBytes != 0 || !t.within(t.u32(at+8), 0) || !t.within(t.u32(at+16), 0) {
		return bad("kind %d", o.op)
	}
	count := 0
	for k := i + 1; k < o.next; count++ {
		end, err := t.checkOp(k, depth+1)
		if err != nil {
			return 0, err
		}
		if end > o.next {
			return bad("terms overlap")
		}
		k = end
	}
	if count == 0 || o.op == opNot && count != 1 {
		return bad("%d operands", count)
	}
	return o.next, nil
}

func (t table) pathOK(off, n int) bool {
	pieces := 0
	for n > 0 {
		if n < 2 {
			return false
		}
		l := int(t.u16(off))
		if l > MaxName || l > n-2 {
			return false
		}
		off, n = off+2+l, n-2-l
		if pieces++; pieces > MaxPath {
			return false
		}
	}
	return true
}

func leafOK(c Cmp, kind uint8) bool {
	switch c {
	case CmpExists:
		return kind == kindNone
	case CmpEq:
		return kind > kindNone && kind <= kindString
	case CmpLt, CmpLe, CmpGt, CmpGe:
		return kind == kindNumber || kind == kindString
	case CmpContains, CmpPrefix, CmpGlob:
		return kind == kindString
	}
	return false
}
