package enginepool

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/sluicegate/sluice/plugins/engine"
)

// The status codes and the control block of engine.c.
const (
	statusOK      = 0
	statusNotJSON = 1
	statusDepth   = 2
	statusFuel    = 3

	controlStatus = 32 // offset of the results
)

var errMemory = errors.New("engine's memory is exhausted")

// transform lays out control block, table, input and output one behind the
// other, runs, and copies the output to dst.
func (i *instance) transform(ctx context.Context, dst, program, in []byte, lim engine.Limits) ([]byte, engine.Stats, error) {
	outCap := outputRoom(program, len(in))
	tableAt := uint32(controlBytes)
	inAt := tableAt + up64(uint32(len(program)))
	outAt := inAt + up64(uint32(len(in))) + inputPad
	i.stack[0] = uint64(outAt) + uint64(outCap)
	if err := i.reserve.CallWithStack(ctx, i.stack[:]); err != nil {
		return dst, engine.Stats{}, fmt.Errorf("reserving memory: %w", err)
	}
	base := uint32(i.stack[0])
	if base == 0 {
		return dst, engine.Stats{}, errMemory
	}
	le := binary.LittleEndian
	c := i.control[:]
	le.PutUint32(c[0:], base+tableAt)
	le.PutUint32(c[4:], base+inAt)
	le.PutUint32(c[8:], uint32(len(in)))
	le.PutUint32(c[12:], base+outAt)
	le.PutUint32(c[16:], outCap)
	le.PutUint32(c[20:], uint32(lim.MaxDepth))
	le.PutUint64(c[24:], min(lim.Fuel, 1<<62))
	if !i.memory.Write(base, c) || !i.memory.Write(base+tableAt, program) || !i.memory.Write(base+inAt, in) {
		return dst, engine.Stats{}, errMemory
	}
	i.stack[0] = uint64(base)
	if err := i.run.CallWithStack(ctx, i.stack[:]); err != nil {
		return dst, engine.Stats{}, fmt.Errorf("running program: %w", err)
	}
	st := engine.Stats{In: uint64(len(in))}
	switch status := uint32(i.stack[0]); status {
	case statusOK:
	case statusNotJSON:
		return dst, st, engine.ErrNotJSON
	case statusDepth:
		return dst, st, engine.ErrDepth
	case statusFuel:
		return dst, st, engine.ErrFuel
	default:
		return dst, st, fmt.Errorf("engine refused its control block with status %d", status)
	}
	r, ok := i.memory.Read(base+controlStatus, controlBytes-controlStatus)
	if !ok {
		return dst, st, errMemory
	}
	st.Out = uint64(le.Uint32(r[4:]))
	st.FieldsDropped = le.Uint64(r[8:])
	st.Rows, st.RowsDropped, st.RowsCut = le.Uint64(r[16:]), le.Uint64(r[24:]), le.Uint64(r[32:])
	st.StringsCut, st.BytesCut = le.Uint64(r[40:]), le.Uint64(r[48:])
	st.Fuel = min(lim.Fuel, 1<<62) - le.Uint64(r[56:])
	if st.Told = le.Uint64(r[64:]); st.Told > 0 {
		st.ToldAt, st.ToldLen = le.Uint32(r[72:]), le.Uint32(r[76:])
	}
	out, ok := i.memory.Read(base+outAt, uint32(st.Out))
	if !ok {
		return dst, st, errMemory
	}
	return append(dst, out...), st, nil
}

// outputRoom is what the engine asks for: no program writes more than it reads,
// but for a comma between documents of a stream.
func outputRoom(program []byte, in int) uint32 {
	n := uint32(in)
	if engine.Streams(program) {
		n *= 2
	}
	return up64(n) + outputSlack
}

func up64(n uint32) uint32 { return (n + 63) &^ 63 }
