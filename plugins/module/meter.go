package module

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// MeterModule and MeterName name the import that [Meter] adds: a function without
// parameters whose result, an i32, is how many units may run until it is called
// again.
const (
	MeterModule = "sluice:meter"
	MeterName   = "refill"
)

// ErrUnmeterable is wrapped when a module uses instructions that [Meter] does not
// know. It may still be valid.
var ErrUnmeterable = errors.New("cannot be metered")

const (
	// leafUnits is the most a function without calls and loops may cost and go
	// uncounted; callUnits is what a call costs beyond itself, to make up for it.
	leafUnits = 100
	callUnits = 16
	// maxFrameUnits bounds what a function that calls others costs for its place on the
	// stack: a unit for each instruction and each value that lives over a branch, so that
	// between two refills a stack grows by a few megabytes at most.
	maxFrameUnits = 1 << 18
	// coarseUnits is the most a region may cost that is paid for as a whole where it begins. The
	// loop of an interpreter has tens of thousands of instructions and runs some of them a round:
	// a larger region is paid for block by block, as it runs.
	coarseUnits = 2000
	// coarseFrame is the most that a place on the stack may cost and be paid for with each call.
	// Larger ones are taken from what the stack may grow by until it is looked at, and given
	// back at the return: the function of an interpreter calls itself for each call of its program.
	coarseFrame = 4096
	// roomUnits is what a stack may grow by in such places between two looks at it.
	roomUnits = 1 << 18
	// bulkShift: a bulk instruction costs a unit for 64 bytes or elements.
	bulkShift = 6
	// growUnits: growing a memory copies it.
	growUnits = 4096
)

// Meter appends to dst the module with a counter: it goes down by the number of
// instructions on entry to each function and each round of a loop, by the size of
// each bulk operation, and when it is below zero the module calls the import
// [MeterModule].[MeterName] for more. It starts at zero. Functions that can only
// run for a moment (no loop, no call, 100 instructions) are not counted, calls
// are. Large functions and loops are paid for block by block, as they run. The limits of
// tables are lowered to MaxTable.
//
// A metered module computes what the module computes. Equal modules give equal
// results. It fails with ErrInvalid and ErrUnmeterable.
func Meter(dst, code []byte) ([]byte, error) {
	dst, _, err := Prepare(dst, code)
	return dst, err
}

// MeterInterpreter is [Meter] for interpreters of our own: it leaves the exported functions
// of the names uncounted, whose loops ask the host themselves, and does not count places
// on the stack, which they bound. The functions that they call are counted.
func MeterInterpreter(dst, code []byte, exports ...string) ([]byte, error) {
	dst, _, err := prepare(dst, code, exports)
	return dst, err
}

// Prepare is [Meter], and also says how long compiling the module may take at worst.
func Prepare(dst, code []byte) ([]byte, time.Duration, error) { return prepare(dst, code, nil) }

func prepare(dst, code []byte, except []string) ([]byte, time.Duration, error) {
	return prepareWith(dst, code, except, coarseUnits, coarseFrame)
}

// prepareWith is prepare with other values of coarseUnits and coarseFrame.
func prepareWith(dst, code []byte, except []string, coarse, frame uint32) ([]byte, time.Duration, error) {
	m, err := Parse(code)
	if err != nil {
		return dst, 0, err
	}
	g := meter{m: m, coarse: coarse, coarseFrame: frame, refill: uint32(m.ImportedFuncs), fuel: uint32(m.globals), room: uint32(m.globals) + 1, newType: uint32(len(m.Types)), work: len(m.Funcs) * m.globals / declaredGlobals}
	for _, e := range m.Exports {
		if e.Kind == Func && slices.Contains(except, e.Name) {
			g.exempt = append(g.exempt, e.Index)
		}
	}
	if len(g.exempt) < len(except) {
		return dst, 0, fmt.Errorf("%w: it does not export all of %s", ErrInvalid, strings.Join(except, ", "))
	}
	start := len(dst)
	dst = append(dst, code[:8]...)
	for _, s := range g.sections() {
		if dst, err = g.section(dst, s); err != nil {
			return dst[:start], 0, fmt.Errorf("%s: %w", sectionName(s.ID), err)
		}
	}
	return dst, time.Duration(g.work) * 100, nil
}

type meter struct {
	m       *Module
	refill  uint32 // index of the added function; what was at or after it moves up
	fuel    uint32 // index of the added global that counts
	room    uint32 // index of the added global with what large places on the stack may take
	newType uint32
	body    []byte   // scratch
	shape   shape    // of the function that is read
	work    int      // of compiling all of them
	exempt  []uint32 // functions that are not counted
	free    bool     // the function that is read is one of them
	fine    []bool   // scratch of fine.regions

	coarse, coarseFrame uint32
}

// order is where a section has its place; data count comes before code.
func order(id byte) int {
	if id == SectionDataCount {
		return SectionCode*2 - 1
	}
	return int(id) * 2
}

// sections returns the module's with the three that the meter adds to, empty
// where they were missing.
func (g *meter) sections() []Section {
	missing := []byte{secType, SectionImport, secGlobal}
	var out []Section
	last := 0
	add := func(before int) {
		for len(missing) > 0 && order(missing[0]) < before {
			out = append(out, Section{ID: missing[0], Payload: []byte{0}})
			missing = missing[1:]
		}
	}
	for _, s := range g.m.sections {
		if s.ID != SectionCustom {
			if o := order(s.ID); o > last {
				add(o)
				last = o
			}
			if len(missing) > 0 && missing[0] == s.ID {
				missing = missing[1:]
			}
		}
		out = append(out, s)
	}
	add(1 << 10)
	return out
}

func (g *meter) section(dst []byte, s Section) ([]byte, error) {
	r := reader{b: s.Payload}
	var out []byte
	switch s.ID {
	case secType:
		out = binary.AppendUvarint(nil, uint64(r.u32())+1)
		out = append(out, s.Payload[r.at:]...)
		out = append(out, 0x60, 0, 1, I32)
	case SectionImport:
		out = binary.AppendUvarint(nil, uint64(r.u32())+1)
		out = append(out, s.Payload[r.at:]...)
		out = AppendName(AppendName(out, MeterModule), MeterName)
		out = binary.AppendUvarint(append(out, Func), uint64(g.newType))
	case secTable:
		out = g.tables(&r)
	case secGlobal:
		n := r.u32()
		out = binary.AppendUvarint(nil, uint64(n)+2)
		for range n {
			out = append(out, r.byte(), r.byte())
			out = g.constant(out, &r)
		}
		for range 2 {
			out = append(out, I32, 1, opI32Const, 0, opEnd)
		}
	case SectionExport:
		n := r.u32()
		out = binary.AppendUvarint(nil, uint64(n))
		for range n {
			out = AppendName(out, r.name())
			kind := r.byte()
			out = append(out, kind)
			i := r.u32()
			if kind == Func {
				i = g.moved(i)
			}
			out = binary.AppendUvarint(out, uint64(i))
		}
	case secStart:
		out = binary.AppendUvarint(nil, uint64(g.moved(r.u32())))
	case secElement:
		out = g.elements(&r)
	case SectionCode:
		out = g.code(&r)
	case SectionCustom:
		if r.name() == "name" {
			return dst, nil // its indexes would name other functions
		}
		out = s.Payload
	case SectionFunction, SectionMemory, SectionData, SectionDataCount:
		out = s.Payload
	default:
		return dst, fmt.Errorf("%w: section of an extension", ErrUnmeterable)
	}
	if r.err != nil {
		if errors.Is(r.err, ErrUnmeterable) {
			return dst, r.err
		}
		return dst, fmt.Errorf("%w: %w", ErrInvalid, r.err)
	}
	return AppendSection(dst, s.ID, out), nil
}

// moved is the new index of a function.
func (g *meter) moved(i uint32) uint32 {
	if i >= g.refill {
		return i + 1
	}
	return i
}

func (g *meter) tables(r *reader) []byte {
	n := r.u32()
	out := binary.AppendUvarint(nil, uint64(n))
	for range n {
		out = append(out, r.byte(), 1)
		l := r.limits()
		limit := uint32(MaxTable)
		if l.HasMax {
			limit = min(limit, l.Max)
		}
		out = binary.AppendUvarint(out, uint64(l.Min))
		out = binary.AppendUvarint(out, uint64(limit))
	}
	return out
}

// constant copies a constant expression (Core 2.0 §3.3.10).
func (g *meter) constant(out []byte, r *reader) []byte {
	for r.err == nil {
		from := r.at
		op := r.byte()
		if op == opRefFunc {
			out = binary.AppendUvarint(append(out, op), uint64(g.moved(r.u32())))
			continue
		}
		if op >= opI32Add && op <= opI32Mul || op >= opI64Add && op <= opI64Mul {
			r.fail("%w", errConstants)
			break
		}
		r.immediates(op)
		out = append(out, r.b[from:r.at]...)
		if op == opEnd {
			break
		}
	}
	return out
}

// elements copies element segments in their eight forms (Core 2.0 §5.5.12).
func (g *meter) elements(r *reader) []byte {
	n := r.u32()
	out := binary.AppendUvarint(nil, uint64(n))
	for range n {
		flag := r.u32()
		if flag > 7 {
			r.fail("element segment of kind %d", flag)
		}
		if r.err != nil {
			return out
		}
		out = binary.AppendUvarint(out, uint64(flag))
		if flag&1 == 0 { // active
			if flag&2 != 0 {
				out = binary.AppendUvarint(out, uint64(r.u32()))
			}
			out = g.constant(out, r)
		}
		if flag&3 != 0 {
			out = append(out, r.byte()) // kind or type
		}
		items := r.u32()
		out = binary.AppendUvarint(out, uint64(items))
		for range items {
			if r.err != nil {
				return out
			}
			if flag&4 != 0 {
				out = g.constant(out, r)
			} else {
				out = binary.AppendUvarint(out, uint64(g.moved(r.u32())))
			}
		}
	}
	return out
}

func (g *meter) code(r *reader) []byte {
	n := r.u32()
	if int(n) != len(g.m.Funcs) {
		r.fail("%d bodies for %d functions", n, len(g.m.Funcs))
		return nil
	}
	out := make([]byte, 0, len(r.b)+len(r.b)/4)
	out = binary.AppendUvarint(out, uint64(n))
	for i := range n {
		body := r.bytes(r.u32())
		if r.err != nil {
			return nil
		}
		t, ok := g.m.typeAt(g.m.Funcs[i])
		if !ok {
			r.fail("function %d has no type", i)
			return nil
		}
		b := reader{b: body}
		g.free = slices.Contains(g.exempt, g.refill+i)
		g.body = g.function(g.body[:0], &b, t)
		if b.err != nil {
			r.fail("function %d: %w", i, b.err)
			return nil
		}
		if err := g.shape.check(); err != nil {
			r.fail("function %d has %w", i, err)
			return nil
		}
		if g.work += g.shape.work(); g.work > MaxWork {
			r.fail("%w", &costlyError{"its functions would take too long to compile"})
			return nil
		}
		out = binary.AppendUvarint(out, uint64(len(g.body)))
		out = append(out, g.body...)
	}
	return out
}

// function appends a body with its counters. Each region, the function and each
// loop without the loops inside it, begins with one whose cost is filled in when
// the region was read.
func (g *meter) function(out []byte, r *reader, t Type) []byte {
	from, start := *r, len(out)
	f := fine{regions: g.fine[:0]}
	out = g.pass(out, r, t, &f)
	g.fine = f.regions
	if r.err != nil || g.free || !f.needed() && (f.frame <= g.coarseFrame || len(t.Results) > 1) {
		return out
	}
	f.on, f.balanced = true, f.frame > g.coarseFrame && len(t.Results) <= 1
	*r = from
	return g.pass(out[:start], r, t, &f)
}

// fine is what the first pass over a function tells the second one, which is made of
// large functions only.
type fine struct {
	on       bool
	regions  []bool // in the order in which they begin: paid for block by block
	frame    uint32 // what its place on the stack costs
	balanced bool   // which is given back at the return
}

func (f *fine) needed() bool { return slices.Contains(f.regions, true) }

// pass is one pass over a function.
func (g *meter) pass(out []byte, r *reader, t Type, f *fine) []byte {
	from := r.at
	scratch := uint32(r.locals(uint64(len(t.Params))))
	if r.err != nil {
		return out
	}
	groups := reader{b: r.b[from:r.at]}
	out = binary.AppendUvarint(out, uint64(groups.u32())+1)
	out = append(out, groups.b[groups.at:]...)
	out = append(out, 1, I32)

	type region struct {
		index  int // of fine.regions
		costAt int // offset of its cost in out
		cost   uint32
		fine   bool
	}
	regions := 1
	begin := func(cost uint32, costAt int) region {
		if !f.on {
			f.regions = append(f.regions, false)
		}
		regions++
		return region{index: regions - 2, costAt: costAt, cost: cost, fine: f.on && f.regions[regions-2]}
	}
	open := make([]region, 0, 16)
	kinds := make([]byte, 1, 32) // opcode of each open block; the function is a block
	kinds[0] = opBlock
	entry := len(out)
	out, costAt := g.charge(out)
	open = append(open, begin(0, costAt))
	entryEnd := len(out)
	if f.balanced {
		out = g.takeRoom(out, f.frame)
		out = append(out, opBlock, blockVoid) // its end is where every way out comes by
		if len(t.Results) == 1 {
			out[len(out)-1] = t.Results[0]
		}
	}
	leaf := true
	pending := uint32(0) // what ran since fine regions were paid for
	g.shape.start(g.m.mutable, int(scratch), len(t.Results))
	for len(kinds) > 0 && r.err == nil {
		at := r.at
		op := r.byte()
		g.shape.follow(g.m, op, *r)
		cost := &open[len(open)-1].cost
		if open[len(open)-1].fine {
			cost = &pending
		}
		*cost++
		switch op {
		case opIf, opElse, opEnd, opLoop, opBr, opBrIf, opBrTable, opReturn, opCall, opCallIndirect:
			out = g.settle(out, &pending)
		}
		switch op {
		case opCall, opRefFunc:
			i := r.u32()
			out = binary.AppendUvarint(append(out, op), uint64(g.moved(i)))
			if op == opCall {
				*cost += callUnits
				leaf = false
			}
			continue
		case opReturn:
			if f.balanced {
				out = binary.AppendUvarint(append(out, opBr), uint64(len(kinds)-1))
				continue
			}
		case opLoop:
			r.immediates(op)
			out = append(out, r.b[at:r.at]...)
			var costAt int
			out, costAt = g.charge(out)
			open = append(open, begin(1, costAt))
			kinds = append(kinds, op)
			leaf = false
			continue
		case opBlock, opIf:
			kinds = append(kinds, op)
		case opEnd:
			if kinds[len(kinds)-1] == opLoop {
				g.close(out, f, open[len(open)-1].index, open[len(open)-1].costAt, open[len(open)-1].cost)
				open = open[:len(open)-1]
			}
			kinds = kinds[:len(kinds)-1]
		case opCallIndirect:
			*cost += callUnits
			leaf = false
		case opMemoryGrow:
			*cost += growUnits
			leaf = false
			out = g.chargeSize(out, scratch, true)
		case opMisc:
			if sub := r.peek(); sub >= miscBulkFirst && sub <= miscBulkLast && takesSize(sub) {
				leaf = false
				out = g.chargeSize(out, scratch, false)
			}
		}
		r.immediates(op)
		out = append(out, r.b[at:r.at]...)
	}
	if r.err == nil && r.at != len(r.b) {
		r.fail("bytes after its end")
	}
	if r.err != nil {
		return out
	}
	if g.free {
		return out
	}
	if leaf && open[0].cost <= leafUnits && !f.on {
		return append(out[:entry], out[entryEnd:]...)
	}
	if f.balanced {
		out = append(g.giveRoom(out, f.frame), opEnd)
	} else if !leaf && len(g.exempt) == 0 {
		f.frame = uint32(min(g.shape.instructions+g.shape.live, maxFrameUnits))
		open[0].cost += f.frame
	}
	g.close(out, f, 0, open[0].costAt, open[0].cost)
	return out
}

// close fills in what a region costs where it begins, and notes whether that is too much.
func (g *meter) close(out []byte, f *fine, index, costAt int, cost uint32) {
	if g.free {
		return
	}
	if index == 0 && !f.on {
		f.regions[0] = cost-f.frame > g.coarse
	} else if !f.on {
		f.regions[index] = cost > g.coarse
	}
	putCost(out, costAt, cost)
}

// settle appends: fuel -= what is pending. It is looked at where the next loop or function
// begins: until there, a function runs forward only.
func (g *meter) settle(out []byte, pending *uint32) []byte {
	if *pending == 0 || g.free {
		return out
	}
	out = binary.AppendUvarint(append(out, opGlobalGet), uint64(g.fuel))
	out = appendCost(append(out, opI32Const), *pending)
	out = binary.AppendUvarint(append(out, opI32Sub, opGlobalSet), uint64(g.fuel))
	*pending = 0
	return out
}

// takeRoom appends: room -= frame; if room < 0 { fuel = refill(); room = roomUnits }.
// Refilling looks at the stack.
func (g *meter) takeRoom(out []byte, frame uint32) []byte {
	out = binary.AppendUvarint(append(out, opGlobalGet), uint64(g.room))
	out = appendCost(append(out, opI32Const), frame)
	out = binary.AppendUvarint(append(out, opI32Sub, opGlobalSet), uint64(g.room))
	out = binary.AppendUvarint(append(out, opGlobalGet), uint64(g.room))
	out = append(out, opI32Const, 0, opI32LtS, opIf, blockVoid)
	out = binary.AppendUvarint(append(out, opCall), uint64(g.refill))
	out = binary.AppendUvarint(append(out, opGlobalSet), uint64(g.fuel))
	out = appendCost(append(out, opI32Const), roomUnits)
	out = binary.AppendUvarint(append(out, opGlobalSet), uint64(g.room))
	return append(out, opEnd)
}

// giveRoom appends: room += frame.
func (g *meter) giveRoom(out []byte, frame uint32) []byte {
	out = binary.AppendUvarint(append(out, opGlobalGet), uint64(g.room))
	out = appendCost(append(out, opI32Const), frame)
	return binary.AppendUvarint(append(out, opI32Add, opGlobalSet), uint64(g.room))
}

// appendCost appends a cost as a signed LEB128 number of five bytes.
func appendCost(out []byte, cost uint32) []byte {
	out = append(out, 0, 0, 0, 0, 0)
	putCost(out, len(out)-5, cost)
	return out
}

// charge appends: fuel -= cost; if fuel < 0 { fuel = refill() }. The cost has five
// bytes, at the offset that it returns.
func (g *meter) charge(out []byte) ([]byte, int) {
	if g.free {
		return out, 0
	}
	out = binary.AppendUvarint(append(out, opGlobalGet), uint64(g.fuel))
	out = append(out, opI32Const)
	at := len(out)
	out = append(out, 0x80, 0x80, 0x80, 0x80, 0, opI32Sub)
	return g.check(out), at
}

// putCost writes a signed LEB128 number of five bytes. A body has less than 2^30
// instructions.
func putCost(out []byte, at int, cost uint32) {
	for i := range 4 {
		out[at+i] = byte(cost>>(7*i))&0x7f | 0x80
	}
	out[at+4] = byte(cost>>28) & 0x07
}

// chargeSize appends code that pays for the operand on top of the stack, a size,
// and leaves it there. The cost stays below 2^26, so the counter cannot wrap.
func (g *meter) chargeSize(out []byte, scratch uint32, pages bool) []byte {
	if g.free {
		return out
	}
	out = binary.AppendUvarint(append(out, opLocalSet), uint64(scratch))
	out = binary.AppendUvarint(append(out, opGlobalGet), uint64(g.fuel))
	out = binary.AppendUvarint(append(out, opLocalGet), uint64(scratch))
	if pages {
		out = append(out, opI32Const, 0xff, 0xff, 0x03, opI32And, opI32Const, 10, opI32Shl)
	} else {
		out = append(out, opI32Const, bulkShift, opI32ShrU)
	}
	out = g.check(append(out, opI32Sub))
	return binary.AppendUvarint(append(out, opLocalGet), uint64(scratch))
}

// check appends code that stores the counter and refills it when it is below zero.
func (g *meter) check(out []byte) []byte {
	out = binary.AppendUvarint(append(out, opGlobalSet), uint64(g.fuel))
	out = binary.AppendUvarint(append(out, opGlobalGet), uint64(g.fuel))
	out = append(out, opI32Const, 0, opI32LtS, opIf, blockVoid)
	out = binary.AppendUvarint(append(out, opCall), uint64(g.refill))
	out = binary.AppendUvarint(append(out, opGlobalSet), uint64(g.fuel))
	return append(out, opEnd)
}
