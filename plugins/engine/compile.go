package engine

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
)

// Compile makes the table of p. Equal programs give equal bytes, and equal
// nodes are stored once. It fails when a bound of this package is passed, a name
// occurs twice in a node, or a predicate is malformed; the error says which.
func Compile(p *Program) ([]byte, error) { return new(Memory).Compile(p) }

// Memory remembers what it compiled, for those who compile the programs of many
// operations of one API: a quarter of them are different. The zero Memory is empty.
// Goroutines may share it; it keeps everything until it is dropped.
type Memory struct {
	scratch sync.Pool // of *compiler

	mu     sync.RWMutex
	tables map[string][]byte     // guarded by mu; by what tells programs apart
	hashes map[string]hashed     // guarded by mu; by names, each with its length
	signed map[*Predicate]string // guarded by mu; their signatures: programs share some
}

// signature is [predicateSignature] of p.
func (m *Memory) signature(p *Predicate) (string, error) {
	m.mu.RLock()
	sig, ok := m.signed[p]
	m.mu.RUnlock()
	if ok {
		return sig, nil
	}
	sig, err := predicateSignature(p)
	if err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.signed == nil {
		m.signed = map[*Predicate]string{}
	}
	m.signed[p] = sig
	return sig, nil
}

// table is one that was compiled.
func (m *Memory) table(key []byte) ([]byte, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	t, ok := m.tables[string(key)]
	return t, ok
}

// keep remembers a table and returns it, or the one that another goroutine made
// meanwhile.
func (m *Memory) keep(key, t []byte) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if first, ok := m.tables[string(key)]; ok {
		return first
	}
	if m.tables == nil {
		m.tables = map[string][]byte{}
	}
	m.tables[string(key)] = t
	return t
}

// compiler is one whose memory may have been used before.
func (m *Memory) compiler() *compiler {
	c, ok := m.scratch.Get().(*compiler)
	if !ok {
		return &compiler{ids: map[*Node]int{}, heapAt: map[string]int{}, memory: m}
	}
	clear(c.ids)
	clear(c.heapAt)
	clear(c.flats)
	clear(c.fields)
	c.flats, c.fields, c.order, c.class, c.heap = c.flats[:0], c.fields[:0], c.order[:0], c.class[:0], c.heap[:0]
	return c
}

// Compile is [Compile]. Equal programs get the same bytes: do not change them.
func (m *Memory) Compile(p *Program) ([]byte, error) {
	if p.Output != JSON {
		return nil, fmt.Errorf("compiling response program: unknown output %d", p.Output)
	}
	if p.Documents > DocumentStream {
		return nil, fmt.Errorf("compiling response program: unknown document mode %d", p.Documents)
	}
	c := m.compiler()
	defer m.scratch.Put(c)
	if p.Root != nil {
		if err := c.collect(p.Root); err != nil {
			return nil, fmt.Errorf("compiling response program: %w", err)
		}
		c.join()
	}
	key := c.key(p)
	if t, ok := m.table(key); ok {
		return t, nil
	}
	t, err := c.write(p)
	if err != nil {
		return nil, fmt.Errorf("compiling response program: %w", err)
	}
	return m.keep(key, t), nil
}

// flat is a node with its fields sorted, shorthand expanded and children as
// indices into compiler.flats.
type flat struct {
	fields   []flatField
	rest     int
	rules    Rules
	suffixes []string
	where    string // encoded operations with absolute heap strings, "" = none; see predicate.go
	pred     *Predicate
	offset   uint32
	limit    uint32
	maxStr   uint32
	maxNum   uint32
}

type flatField struct {
	name   string
	child  int
	exempt bool
	url    bool
	any    bool
	told   bool
}

type compiler struct {
	ids   map[*Node]int
	flats []flat
	order []int // class → node number, in order of first visit from the root
	class []int // flat index → class

	heap   []byte
	heapAt map[string]int
	memory *Memory

	// What one step needs for a moment, and the next program again.
	fields []flatField // those of flats
	sorted []sorted
	moved  []flatField
	sig    []byte
	keyOf  []byte
	out    []byte
	fixes  []fix
}

// fix is where a string's offset belongs, written when the heap's place is known.
type fix struct{ at, to int }

// collect flattens n and what it refers to, with an explicit worklist: programs
// come from schemas of strangers and may be deep.
func (c *compiler) collect(root *Node) error {
	work := []*Node{root}
	c.ids[root] = 0
	c.flats = append(c.flats, flat{})
	ref := func(n *Node) int {
		if n == nil {
			return childKeep
		}
		id, ok := c.ids[n]
		if !ok {
			id = len(c.flats)
			c.ids[n] = id
			c.flats = append(c.flats, flat{})
			work = append(work, n)
		}
		return id
	}
	for len(work) > 0 {
		n := work[len(work)-1]
		work = work[:len(work)-1]
		if len(c.flats) > 4*MaxNodes { // before equal ones are joined
			return fmt.Errorf("more than %d nodes", 4*MaxNodes)
		}
		f, err := c.flatten(n, ref)
		if err != nil {
			return err
		}
		c.flats[c.ids[n]] = f
	}
	return nil
}

func (c *compiler) flatten(n *Node, ref func(*Node) int) (flat, error) {
	f := flat{rest: childDrop, rules: n.Rules & ruleBits, offset: n.Offset, limit: n.Limit, maxStr: n.MaxString, maxNum: n.MaxNumbers, pred: n.Where}
	if n.Rules&^(ruleBits|KeyLinks) != 0 {
		return f, fmt.Errorf("unknown rule bits %#x", uint16(n.Rules))
	}
	if f.limit == 0 {
		f.limit = noLimit
	}
	if !n.DropRest {
		f.rest = ref(n.Rest)
	}
	fields, suffixes := n.Fields, n.DropSuffixes
	if n.Rules&KeyLinks != 0 && !n.DropRest {
		if !slices.ContainsFunc(fields, func(f Field) bool { return f.Name == "_links" }) {
			fields = append(slices.Clip(fields), Field{Name: "_links", Drop: true})
		}
		suffixes = append(slices.Clip(suffixes), "_url")
	}
	c.fields = slices.Grow(c.fields, len(fields))
	f.fields = c.fields[len(c.fields):len(c.fields):cap(c.fields)]
	for i := range fields {
		x := &fields[i]
		if len(x.Name) > MaxName {
			return f, fmt.Errorf("field name of %d bytes, at most %d", len(x.Name), MaxName)
		}
		if x.Drop && n.DropRest {
			continue // left out anyhow, and the engine may stop earlier without it
		}
		e := flatField{name: x.Name, child: childDrop, exempt: x.Exempt && f.rules != 0, url: x.KeepURL && !x.Exempt && f.rules&DropURL != 0}
		e.any = x.NoPages && !x.Exempt && !x.KeepURL && f.rules&(DropURL|KeepPages) == DropURL|KeepPages
		if x.Drop {
			e.exempt, e.url, e.any, e.told = false, false, false, x.Told
		} else {
			e.child = ref(x.Node)
		}
		f.fields = append(f.fields, e)
	}
	c.fields = c.fields[:len(c.fields)+len(f.fields)]
	f.fields = slices.Clip(f.fields)
	if len(f.fields) > MaxFields {
		return f, fmt.Errorf("node with %d fields, at most %d", len(f.fields), MaxFields)
	}
	c.sort(f.fields)
	for i := 1; i < len(f.fields); i++ {
		if f.fields[i].name == f.fields[i-1].name {
			return f, fmt.Errorf("field %q occurs twice in a node", f.fields[i].name)
		}
	}
	if !n.DropRest {
		f.suffixes = slices.Compact(slices.Sorted(slices.Values(suffixes)))
	}
	if len(f.suffixes) > MaxSuffixes {
		return f, fmt.Errorf("node with %d suffixes, at most %d", len(f.suffixes), MaxSuffixes)
	}
	for _, s := range f.suffixes {
		if s == "" || len(s) > MaxSuffix {
			return f, fmt.Errorf("suffix of %d bytes, 1 to %d", len(s), MaxSuffix)
		}
	}
	if n.Where != nil {
		sig, err := c.memory.signature(n.Where)
		if err != nil {
			return f, err
		}
		f.where = sig
	}
	return f, nil
}

// join finds equal nodes by partition refinement, which also works for nodes
// that refer to themselves, and numbers the classes as first seen from the root.
func (c *compiler) join() {
	c.class = resized(c.class, len(c.flats))
	count := 1
	own := c.signatures()
	for {
		seen := make(map[string]int, count)
		next := make([]int, len(c.flats))
		var sig []byte
		child := func(i int) {
			if i >= 0 {
				i = c.class[i]
			}
			sig = binary.AppendVarint(sig, int64(i))
		}
		for i := range c.flats {
			f := &c.flats[i]
			sig = binary.AppendVarint(binary.AppendVarint(sig[:0], int64(c.class[i])), int64(own[i]))
			child(f.rest)
			for k := range f.fields {
				child(f.fields[k].child)
			}
			k, ok := seen[string(sig)]
			if !ok {
				k = len(seen)
				seen[string(sig)] = k
			}
			next[i] = k
		}
		c.class = next
		if len(seen) == count {
			break
		}
		count = len(seen)
	}
	number := make([]int, count)
	for i := range number {
		number[i] = -1
	}
	stack := []int{0}
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if number[c.class[i]] >= 0 {
			continue
		}
		number[c.class[i]] = len(c.order)
		c.order = append(c.order, i)
		f := &c.flats[i]
		for _, x := range slices.Backward(f.fields) {
			if x.child >= 0 {
				stack = append(stack, x.child)
			}
		}
		if f.rest >= 0 {
			stack = append(stack, f.rest)
		}
	}
	for i := range c.class {
		c.class[i] = number[c.class[i]]
	}
}

// signatures numbers the nodes by what they are apart from their children.
func (c *compiler) signatures() []int {
	own := make([]int, len(c.flats))
	seen := map[string]int{}
	sig := c.sig
	defer func() { c.sig = sig }()
	for i := range c.flats {
		sig = c.flats[i].appendOwn(sig[:0])
		n, ok := seen[string(sig)]
		if !ok {
			n = len(seen)
			seen[string(sig)] = n
		}
		own[i] = n
	}
	return own
}

// appendOwn appends what a node is apart from its children; different nodes get
// different bytes.
func (f *flat) appendOwn(sig []byte) []byte {
	for _, v := range [...]uint32{uint32(f.rules), f.offset, f.limit, f.maxStr, f.maxNum, uint32(len(f.suffixes)), uint32(len(f.fields))} {
		sig = binary.AppendUvarint(sig, uint64(v))
	}
	for _, s := range f.suffixes {
		sig = appendText(sig, s)
	}
	sig = appendText(sig, f.where)
	for k := range f.fields {
		x := &f.fields[k]
		sig = appendText(sig, x.name)
		flags := byte(0)
		if x.exempt {
			flags |= 1
		}
		if x.url {
			flags |= 2
		}
		if x.any {
			flags |= 4
		}
		if x.told {
			flags |= 8
		}
		sig = append(sig, flags)
	}
	return sig
}

func appendText(sig []byte, s string) []byte {
	return append(binary.AppendUvarint(sig, uint64(len(s))), s...)
}

// key is all that the table is made of: the joined nodes in their order, each with
// its children.
func (c *compiler) key(p *Program) []byte {
	key := append(c.keyOf[:0], byte(p.Output), byte(p.Documents))
	for _, i := range c.order {
		f := &c.flats[i]
		key = f.appendOwn(key)
		key = binary.AppendVarint(key, int64(c.child(f.rest)))
		for k := range f.fields {
			key = binary.AppendVarint(key, int64(c.child(f.fields[k].child)))
		}
	}
	c.keyOf = key
	return key
}

func (c *compiler) child(i int) int16 {
	if i >= 0 {
		i = c.class[i]
	}
	return int16(i)
}

// intern puts a string into the heap once and returns where.
func (c *compiler) intern(s string) int {
	if at, ok := c.heapAt[s]; ok {
		return at
	}
	at := len(c.heap)
	c.heap = append(c.heap, s...)
	c.heapAt[s] = at
	return at
}

// write lays the table out: header, nodes, operations, then for each node its
// entries, extension, suffixes, slots and displacements, then the strings.
func (c *compiler) write(p *Program) ([]byte, error) {
	le := binary.LittleEndian
	if len(c.order) > MaxNodes {
		return nil, fmt.Errorf("%d nodes, at most %d", len(c.order), MaxNodes)
	}
	var ops []opRecord
	where, written := make([]int, len(c.order)), map[string]int{} // predicates that are equal are there once
	for k, i := range c.order {
		f := &c.flats[i]
		if f.pred == nil {
			continue
		}
		if written[f.where] == 0 {
			written[f.where] = len(ops) + 1
			ops = appendOps(ops, f.pred)
		}
		where[k] = written[f.where]
	}
	if len(ops) > MaxOps {
		return nil, fmt.Errorf("%d predicate terms, at most %d", len(ops), MaxOps)
	}
	opsOff := headerBytes + nodeBytes*len(c.order)
	t := resized(c.out, opsOff+opBytes*len(ops))
	fixes := c.fixes[:0]
	defer func() { c.out, c.fixes = t, fixes }()
	for k, i := range c.order {
		f := &c.flats[i]
		h, err := c.hash(f.fields)
		if err != nil {
			return nil, err
		}
		t = align(t, 8)
		entries := len(t)
		for _, x := range f.fields {
			fixes = append(fixes, fix{len(t), c.intern(x.name)})
			lf := uint16(len(x.name))
			if x.exempt {
				lf |= entryExempt
			}
			if x.url {
				lf |= entryKeepURL
			}
			if x.any {
				lf |= entryNoPages
			}
			if x.told {
				lf |= entryTold
			}
			t = le.AppendUint32(t, 0)
			t = le.AppendUint16(t, lf)
			t = le.AppendUint16(t, uint16(c.child(x.child)))
		}
		ext := 0
		if where[k] != 0 || f.offset != 0 || f.limit != noLimit || f.maxStr != 0 || f.maxNum != 0 || len(f.suffixes) > 0 {
			ext = len(t)
			for _, v := range []uint32{uint32(where[k]), f.offset, f.limit, f.maxStr, uint32(ext + extBytes), uint32(len(f.suffixes)), f.maxNum, 0} {
				t = le.AppendUint32(t, v)
			}
			for _, s := range f.suffixes {
				fixes = append(fixes, fix{len(t), c.intern(s)})
				t = le.AppendUint32(t, 0)
				t = le.AppendUint32(t, uint32(len(s)))
			}
		}
		slots := len(t)
		for _, s := range h.slots {
			t = le.AppendUint16(t, s)
		}
		t = append(t, h.disp...)
		n := t[headerBytes+k*nodeBytes:]
		le.PutUint64(n, h.mul)
		le.PutUint32(n[8:], uint32(slots))
		le.PutUint32(n[12:], uint32(entries))
		le.PutUint32(n[16:], uint32(ext))
		le.PutUint16(n[20:], uint16(len(f.fields)))
		le.PutUint16(n[22:], uint16(c.child(f.rest)))
		le.PutUint16(n[24:], uint16(f.rules))
		n[26], n[27] = h.mbits, h.gbits
		if len(t) > MaxTable {
			return nil, fmt.Errorf("table of more than %d bytes", MaxTable)
		}
	}
	for i, o := range ops {
		b := t[opsOff+i*opBytes:]
		b[0], b[1], b[2] = o.op, o.cmp, o.kind
		le.PutUint32(b[4:], uint32(o.next))
		le.PutUint32(b[12:], uint32(len(o.path)))
		le.PutUint32(b[20:], uint32(len(o.value)))
		at := opsOff + i*opBytes
		fixes = append(fixes, fix{at + 8, c.intern(o.path)}, fix{at + 16, c.intern(o.value)})
	}
	base := len(t)
	for _, f := range fixes {
		le.PutUint32(t[f.at:], uint32(base+f.to))
	}
	t = append(t, c.heap...)
	t = align(append(t, make([]byte, tablePad)...), tableAlign)
	if len(t) > MaxTable {
		return nil, fmt.Errorf("table of %d bytes, at most %d", len(t), MaxTable)
	}
	copy(t, tableMagic)
	le.PutUint16(t[4:], Version)
	t[6], t[7] = byte(p.Output), byte(p.Documents)
	le.PutUint32(t[8:], uint32(len(t)))
	le.PutUint16(t[12:], uint16(len(c.order)))
	root := int16(childKeep)
	if len(c.order) > 0 {
		root = 0
	}
	le.PutUint16(t[14:], uint16(root))
	le.PutUint32(t[16:], uint32(opsOff))
	le.PutUint16(t[20:], uint16(len(ops)))
	return bytes.Clone(t), nil
}

func align(t []byte, n int) []byte {
	for len(t)%n != 0 {
		t = append(t, 0)
	}
	return t
}
