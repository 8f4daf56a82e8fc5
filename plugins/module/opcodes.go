package module

// Opcodes that need more than passing over (Core 2.0 §5.4).
const (
	opUnreachable  = 0x00
	opBlock        = 0x02
	opLoop         = 0x03
	opIf           = 0x04
	opElse         = 0x05
	opEnd          = 0x0b
	opBr           = 0x0c
	opBrIf         = 0x0d
	opBrTable      = 0x0e
	opReturn       = 0x0f
	opCall         = 0x10
	opCallIndirect = 0x11
	opDrop         = 0x1a
	opSelect       = 0x1b
	opSelectT      = 0x1c
	opLocalGet     = 0x20
	opLocalSet     = 0x21
	opGlobalGet    = 0x23
	opGlobalSet    = 0x24
	opTableSet     = 0x26
	opLoadFirst    = 0x28
	opStoreFirst   = 0x36
	opStoreLast    = 0x3e
	opMemorySize   = 0x3f
	opMemoryGrow   = 0x40
	opI32Const     = 0x41
	opI64Const     = 0x42
	opF32Const     = 0x43
	opF64Const     = 0x44
	opNumberFirst  = 0x45 // i32.eqz
	opI32LtS       = 0x48
	opI32Add       = 0x6a
	opI32Mul       = 0x6c
	opI64Add       = 0x7c
	opI64Mul       = 0x7e
	opI32Sub       = 0x6b
	opI32And       = 0x71
	opI32Shl       = 0x74
	opI32ShrU      = 0x76
	opNumberLast   = 0xc4 // i64.extend32_s
	opRefNull      = 0xd0
	opRefIsNull    = 0xd1
	opRefFunc      = 0xd2
	opMisc         = 0xfc
	opVector       = 0xfd

	blockVoid = 0x40

	miscMemoryInit = 8
	miscDataDrop   = 9
	miscMemoryCopy = 10
	miscMemoryFill = 11
	miscTableInit  = 12
	miscElemDrop   = 13
	miscTableCopy  = 14
	miscTableGrow  = 15
	miscTableSize  = 16
	miscTableFill  = 17
	miscBulkFirst  = miscMemoryInit
	miscBulkLast   = miscTableFill
)

// takesSize reports whether the top operand of a bulk instruction is how much.
func takesSize(sub uint32) bool {
	return sub != miscDataDrop && sub != miscElemDrop && sub != miscTableSize
}

// peek reads the number that follows without passing over it.
func (r *reader) peek() uint32 {
	c := *r
	return c.u32()
}

// unknown ends at an instruction that this package does not know.
func (r *reader) unknown(op byte, sub uint32) {
	if r.err == nil {
		r.fail("%w: instruction 0x%02x: %w", ErrUnmeterable, op, extensionOf(op, sub))
	}
}

// immediates passes over what follows an opcode.
func (r *reader) immediates(op byte) {
	switch {
	case op == opBlock || op == opLoop || op == opIf:
		r.skipLEB(5) // a value type, void, or a type index of 33 bits
	case op <= 0x01, op == 0x05, op == opEnd, op == 0x0f, op == 0x1a, op == 0x1b: // unreachable nop else return drop select
	case op == opBr || op == opBrIf || op == opCall || op == opRefFunc:
		r.u32()
	case op == opBrTable:
		for range uint64(r.count()) + 1 {
			r.u32()
		}
	case op == opCallIndirect:
		r.u32()
		r.u32()
	case op == opSelectT:
		r.bytes(r.u32())
	case op >= opLocalGet && op <= opTableSet:
		r.u32()
	case op >= opLoadFirst && op <= opStoreLast:
		r.u32()
		r.u32()
	case op == opMemorySize || op == opMemoryGrow:
		r.byte()
	case op == opI32Const:
		r.skipLEB(5)
	case op == opI64Const:
		r.skipLEB(10)
	case op == opF32Const:
		r.bytes(4)
	case op == opF64Const:
		r.bytes(8)
	case op >= opNumberFirst && op <= opNumberLast, op == opRefIsNull:
	case op == opRefNull:
		r.byte()
	case op == opMisc:
		r.misc(op)
	case op == opVector:
		r.vector(op)
	case op == 0xfb:
		r.unknown(op, r.u32())
	default:
		r.unknown(op, 0)
	}
}

// constant passes over a constant expression.
func (r *reader) constant() {
	for r.err == nil {
		op := r.byte()
		if r.immediates(op); op == opEnd {
			return
		}
	}
}

func (r *reader) misc(op byte) {
	switch sub := r.u32(); {
	case sub < miscMemoryInit: // saturating truncation
	case sub == miscMemoryInit || sub == miscTableInit || sub == miscMemoryCopy || sub == miscTableCopy:
		r.u32()
		r.u32()
	case sub == miscDataDrop || sub == miscMemoryFill || sub == miscElemDrop || sub == miscTableGrow || sub == miscTableSize || sub == miscTableFill:
		r.u32()
	default:
		r.unknown(op, sub)
	}
}

// vector passes over the immediates of a vector instruction (Core 2.0 §5.4.8).
func (r *reader) vector(op byte) {
	switch sub := r.u32(); {
	case sub <= 11, sub == 92, sub == 93: // loads and stores
		r.u32()
		r.u32()
	case sub == 12 || sub == 13: // const, shuffle
		r.bytes(16)
	case sub >= 21 && sub <= 34: // extract and replace lane
		r.byte()
	case sub >= 84 && sub <= 91: // load and store lane
		r.u32()
		r.u32()
		r.byte()
	case sub <= 255:
	default: // relaxed SIMD
		r.unknown(op, sub)
	}
}
