package module

import (
	"fmt"
	"slices"
)

// Bounds of the structure of one function, and of what a module may cost to compile. A
// compiler of WebAssembly takes time and memory that grow with products of these, in the
// worst case with the square of the branches and faster for nested loops. With them no
// function takes more than 3 seconds or 300 MB; docs/adr/0011 has what was measured,
// and what the largest real modules have.
const (
	// MaxInstructions of a function: each may take 2.6 KB while it is compiled. The
	// largest of a Go program with net/http has 23,000.
	MaxInstructions = 75_000
	// MaxBranches of a function: the ways its blocks, ifs, loops, branches and tables of
	// targets go on. Go: 3,800.
	MaxBranches = 8_000
	// MaxDepth is how deep blocks may be in each other. Go nests one for each place where
	// a goroutine can stop: 550.
	MaxDepth = 2_000
	// MaxLive is the sum over the branches of a function of the values that may live
	// there: its locals, and what is on its stack. Go: 39,000.
	MaxLive = 600_000
	// MaxNested is the sum over the loops of a function of the loops around each, times
	// its locals.
	MaxNested = 8_000_000
	// MaxReloads is the calls of a function, with those that [Meter] adds, times the globals
	// that can be set: wazero reads each again behind each call, at 180 bytes. Go: 30,000.
	MaxReloads = 500_000
	// MaxWork is what all functions may take together at worst, in tenths of a
	// microsecond: 100 seconds, which 15 MB of Go come to by 65 and then take 10.
	MaxWork = 1_000_000_000
	// MaxValues of a function's type: parameters, or results. V8 has the same bound.
	MaxValues = 1_000
	// MaxTypeValues is the sum of all types' parameters and results: for each type there
	// is code that calls functions of it.
	MaxTypeValues = 100_000
)

// What the parts of a function cost, in tenths of a microsecond: in the worst module of
// its kind that was measured.
const (
	instructionWork = 65
	branchesWork    = 3 // for ten pairs of branches
	liveWork        = 40
	nestedWork      = 3
	reloadWork      = 8
	declaredGlobals = 7 // that take one: every function declares them all
)

// shape is what a function's compilation may take.
type shape struct {
	instructions, branches, depth, locals, live int
	around, nested                              int // loops that are open; sum over the loops, see MaxNested
	calls, globals                              int // those that can be set, see MaxReloads
	height                                      int // of the stack
	frames                                      []frame
}

// frame is an open block: the height of the stack below it, and how many values it
// takes and leaves.
type frame struct {
	base, params, results int
	loop                  bool
}

// start begins a function of a module with so many globals that can be set.
func (s *shape) start(globals, locals, results int) {
	*s = shape{globals: globals + meterGlobals, calls: meterCalls, locals: locals, frames: append(s.frames[:0], frame{results: results})}
}

// work estimates what compiling the function takes at most, in tenths of a microsecond.
func (s *shape) work() int {
	return instructionWork*s.instructions + branchesWork*s.branches*s.branches/10 + liveWork*s.live + nestedWork*s.nested*s.locals + reloadWork*s.calls*s.globals
}

// check refuses a function that is past a bound.
func (s *shape) check() error {
	for _, c := range []struct {
		what      string
		got, most int
	}{
		{"instructions", s.instructions, MaxInstructions},
		{"branches", s.branches, MaxBranches},
		{"blocks in each other", s.depth, MaxDepth},
		{"values that live over its branches", s.live, MaxLive},
		{"locals in nested loops", s.nested * s.locals, MaxNested},
		{"globals to read again behind calls", s.calls * s.globals, MaxReloads},
	} {
		if c.got > c.most {
			return &costlyError{fmt.Sprintf("%d %s, more than %d", c.got, c.what, c.most)}
		}
	}
	return nil
}

// branch notes n ways in which the function goes on from here.
func (s *shape) branch(n int) {
	s.branches += n
	s.live += n * (s.locals + s.height)
}

func (s *shape) push(n int) { s.height += n }

// pop takes values off the stack. In code that is never reached there may be none.
func (s *shape) pop(n int) {
	if len(s.frames) > 0 {
		s.height = max(s.height-n, s.frames[len(s.frames)-1].base)
	}
}

func (s *shape) open(params, results int) {
	s.pop(params)
	s.frames = append(s.frames, frame{base: s.height, params: params, results: results})
	s.depth = max(s.depth, len(s.frames))
	s.height += params
}

// leave sets the height to what an open block begins with, and what it added.
func (s *shape) leave(added func(f frame) int) {
	if len(s.frames) > 0 {
		f := s.frames[len(s.frames)-1]
		s.height = f.base + added(f)
	}
}

func (s *shape) end() {
	s.leave(func(f frame) int { return f.results })
	if n := len(s.frames) - 1; n >= 0 {
		if s.frames[n].loop {
			s.around--
		}
		s.frames = s.frames[:n]
	}
}

// stop notes that what follows in the block is not reached.
func (s *shape) stop() { s.leave(func(frame) int { return 0 }) }

// unaryVectors are the vector instructions from 94 on that take one value (Core 2.0
// §5.4.8).
var unaryVectors = [...]byte{
	94, 95, 96, 97, 98, 99, 100, 103, 104, 105, 106, 116, 117, 122, 124, 125, 126, 127, 128, 129, 131, 132, 135, 136, 137, 138, 148, 160, 161, 163, 164,
	167, 168, 169, 170, 192, 193, 195, 196, 199, 200, 201, 202, 224, 225, 227, 236, 237, 239, 248, 249, 250, 251, 252, 253, 254, 255,
}

// follow notes what an instruction does to the stack and where the function goes on
// (Core 2.0 §3.3). r stands behind its opcode and is not moved; what is malformed is
// found by who reads the instruction.
func (s *shape) follow(m *Module, op byte, r reader) {
	s.instructions++
	switch {
	case op == opBlock || op == opLoop:
		s.branch(1)
		params, results := m.blockType(&r)
		s.open(params, results)
		if op == opLoop {
			s.metered()
			s.frames[len(s.frames)-1].loop = true
			s.around++
			s.nested += s.around
		}
	case op == opIf:
		s.pop(1)
		s.branch(2)
		s.open(m.blockType(&r))
	case op == opElse:
		s.leave(func(f frame) int { return f.params })
	case op == opEnd:
		s.end()
	case op == opBr:
		s.branch(1)
		s.stop()
	case op == opBrIf:
		s.pop(1)
		s.branch(2)
	case op == opBrTable:
		s.pop(1)
		s.branch(int(r.count()) + 1)
		s.stop()
	case op == opUnreachable || op == opReturn:
		s.stop()
	case op == opCall:
		s.call(m.FuncType(r.u32()))
	case op == opCallIndirect:
		s.pop(1)
		s.call(m.typeAt(r.u32()))
	case op == opLocalGet || op == opGlobalGet || op == opMemorySize || op >= opI32Const && op <= opF64Const || op == opRefNull || op == opRefFunc:
		s.push(1)
	case op == opMemoryGrow:
		s.metered()
	case op == opMisc:
		s.followMisc(r.u32())
	case op == opVector:
		s.followVector(r.u32())
	case op == opDrop || op == opLocalSet || op == opGlobalSet || takesTwo(op):
		s.pop(1)
	case op == opSelect || op == opSelectT || op == opTableSet || op >= opStoreFirst && op <= opStoreLast:
		s.pop(2)
	}
}

// What [Meter] adds: the branches of a check, in one of which is a call; two calls where a
// function begins; and globals.
const (
	meterBranches = 2
	meterCalls    = 2
	meterGlobals  = 2
)

// metered notes a check that [Meter] adds.
func (s *shape) metered() {
	s.branch(meterBranches)
	s.calls++
}

// takesTwo reports whether a numeric instruction takes two values and gives one.
func takesTwo(op byte) bool {
	return op > opNumberFirst && op < 0x67 && op != 0x50 || // comparisons but eqz
		op >= 0x6a && op <= 0x78 || op >= 0x7c && op <= 0x8a || // i32, i64
		op >= 0x92 && op <= 0x98 || op >= 0xa0 && op <= 0xa6 // f32, f64
}

func (s *shape) call(t Type, _ bool) {
	s.calls++
	s.pop(len(t.Params))
	s.push(len(t.Results))
}

func (s *shape) followMisc(sub uint32) {
	switch sub {
	case miscMemoryInit, miscMemoryCopy, miscMemoryFill, miscTableInit, miscTableCopy, miscTableFill:
		s.metered()
		s.pop(3)
	case miscTableGrow:
		s.metered()
		s.pop(1)
	case miscTableSize:
		s.push(1)
	}
}

func (s *shape) followVector(sub uint32) {
	switch {
	case sub == 12: // v128.const
		s.push(1)
	case sub == 11 || sub == 82 || sub >= 88 && sub <= 91: // stores, bitselect
		s.pop(2)
	case sub == 13 || sub == 14, // shuffle, swizzle
		sub == 23 || sub == 26 || sub == 28 || sub == 30 || sub == 32 || sub == 34, // replace_lane
		sub >= 35 && sub <= 81 && sub != 77,                                        // comparisons and bitwise, but not
		sub >= 84 && sub <= 87:                                                     // load_lane
		s.pop(1)
	case sub > 93 && sub < 256 && !slices.Contains(unaryVectors[:], byte(sub)):
		s.pop(1)
	}
}

// blockType returns how many values a block takes and leaves (Core 2.0 §5.4.1).
func (m *Module) blockType(r *reader) (params, results int) {
	switch b := r.byte(); {
	case b == blockVoid:
		return 0, 0
	case b&0xc0 == 0x40: // a value type: one byte, negative
		return 0, 1
	}
	r.at--
	t, _ := m.typeAt(r.u32())
	return len(t.Params), len(t.Results)
}

// checkTypes refuses types of more values than a compiler is to take.
func (m *Module) checkTypes() error {
	sum := 0
	for _, t := range m.Types {
		if n := max(len(t.Params), len(t.Results)); n > MaxValues {
			return fmt.Errorf("a function type of %d values, more than %d", n, MaxValues)
		}
		sum += len(t.Params) + len(t.Results)
	}
	if sum > MaxTypeValues {
		return fmt.Errorf("function types of %d values together, more than %d", sum, MaxTypeValues)
	}
	return nil
}
