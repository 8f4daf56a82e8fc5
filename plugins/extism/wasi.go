package extism

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// Error numbers of WASI preview 1.
const (
	wasiOK           = 0
	wasiBadFile      = 8
	wasiFault        = 21
	wasiInvalid      = 28
	wasiNotSupported = 58
)

const (
	// maxVectors is how many buffers one read or write may name, and maxSubscriptions how many
	// events one poll: as IOV_MAX of Linux. Languages name some.
	maxVectors       = 1024
	maxSubscriptions = 1024
	// randomPart is how many random bytes are made between two looks at the time.
	randomPart = 64 << 10
)

// fileless are the functions of WASI that name a file by its path, or need one that is no
// standard stream: there are none, and a path may have millions of bytes, which wazero copies
// before it looks.
var fileless = map[string]string{
	"fd_pread": i32 + i32 + i32 + i64 + i32, "fd_pwrite": i32 + i32 + i32 + i64 + i32,
	"fd_prestat_dir_name": i32 + i32 + i32, "fd_readdir": i32 + i32 + i32 + i64 + i32, "fd_renumber": i32 + i32,
	"path_create_directory": i32 + i32 + i32, "path_filestat_get": i32 + i32 + i32 + i32 + i32,
	"path_filestat_set_times": i32 + i32 + i32 + i32 + i64 + i64 + i32, "path_link": i32 + i32 + i32 + i32 + i32 + i32 + i32,
	"path_open": i32 + i32 + i32 + i32 + i32 + i64 + i64 + i32 + i32, "path_readlink": i32 + i32 + i32 + i32 + i32 + i32,
	"path_remove_directory": i32 + i32 + i32, "path_rename": i32 + i32 + i32 + i32 + i32 + i32,
	"path_symlink": i32 + i32 + i32 + i32 + i32, "path_unlink_file": i32 + i32 + i32,
	"sock_accept": i32 + i32 + i32, "sock_recv": i32 + i32 + i32 + i32 + i32 + i32, "sock_send": i32 + i32 + i32 + i32 + i32,
}

// instantiateWASI gives plugins WASI preview 1: wazero's, but for functions whose work grows
// with what a plugin names. Those of wazero run to their end whatever it is, and a loop of
// them, which costs some instructions, would keep a processor for minutes.
func instantiateWASI(ctx context.Context, r wazero.Runtime) error {
	if _, err := buildWASI(r).Instantiate(ctx); err != nil {
		return fmt.Errorf("making WASI: %w", err)
	}
	return nil
}

// wasiTypes has the functions of WASI by name. What else a module imports is refused before
// it is compiled: an error of its start would name no cause that its author could look at.
var wasiTypes = sync.OnceValue(func() map[string]envType {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer r.Close(ctx)
	code, err := buildWASI(r).Compile(ctx)
	if err != nil {
		panic(err) // it depends on nothing that was read: a test shows it
	}
	types := map[string]envType{}
	for name, f := range code.ExportedFunctions() {
		types[name] = envType{string(f.ParamTypes()), string(f.ResultTypes())}
	}
	return types
})

func buildWASI(r wazero.Runtime) wazero.HostModuleBuilder {
	b := r.NewHostModuleBuilder(wasiModule)
	wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(b)
	add := func(name, params string, f func(m api.Memory, stack []uint64) uint32) {
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, m api.Module, stack []uint64) {
			i := running(ctx)
			i.look()
			if !i.p.memory {
				stack[0] = wasiFault
				return
			}
			stack[0] = uint64(f(m.Memory(), stack))
		}), valueTypes(params), valueTypes(i32)).Export(name)
	}
	for name, params := range fileless {
		add(name, params, func(api.Memory, []uint64) uint32 { return wasiBadFile })
	}
	add("fd_read", i32+i32+i32+i32, func(m api.Memory, s []uint64) uint32 { return transfer(m, s, true) })
	add("fd_write", i32+i32+i32+i32, func(m api.Memory, s []uint64) uint32 { return transfer(m, s, false) })
	add("poll_oneoff", i32+i32+i32+i32, poll)
	return b
}

// transfer reads from the standard input, which is at its end, or writes to a standard
// output, which goes nowhere. It takes the file, the buffers, how many these are, and where to
// say how many bytes were transferred.
func transfer(m api.Memory, stack []uint64, read bool) uint32 {
	file, at, n, result := uint32(stack[0]), uint32(stack[1]), uint32(stack[2]), uint32(stack[3])
	if read && file != 0 || !read && file != 1 && file != 2 {
		return wasiBadFile
	}
	if n > maxVectors {
		return wasiInvalid
	}
	vectors, ok := m.Read(at, 8*n)
	if !ok {
		return wasiFault
	}
	var bytes uint32
	for ; len(vectors) > 0; vectors = vectors[8:] {
		size := binary.LittleEndian.Uint32(vectors[4:])
		if _, ok := m.Read(binary.LittleEndian.Uint32(vectors), size); !ok {
			return wasiFault
		}
		bytes += size
	}
	if read {
		bytes = 0
	}
	if !m.WriteUint32Le(result, bytes) {
		return wasiFault
	}
	return wasiOK
}

// poll has no event wait: a clock is over at once, and there is nothing to read. It takes where the
// subscriptions are, where the events go, how many these are, and where to say that.
func poll(m api.Memory, stack []uint64) uint32 {
	const subscription, event = 48, 32
	const clock, toRead, toWrite = 0, 1, 2
	from, to, n, result := uint32(stack[0]), uint32(stack[1]), uint32(stack[2]), uint32(stack[3])
	if n == 0 || n > maxSubscriptions {
		return wasiInvalid
	}
	in, ok := m.Read(from, n*subscription)
	if !ok {
		return wasiFault
	}
	out, ok := m.Read(to, n*event)
	if !ok || !m.WriteUint32Le(result, n) {
		return wasiFault
	}
	for ; n > 0; n-- {
		var e [event]byte
		copy(e[:], in[:8]) // the plugin's own
		kind, file := in[8], binary.LittleEndian.Uint32(in[16:])
		switch {
		case kind == clock, kind == toRead && file == 0:
		case kind == toRead, kind == toWrite && (file == 0 || file > 2):
			e[8] = wasiBadFile
		case kind == toWrite:
			e[8] = wasiNotSupported
		default:
			return wasiInvalid
		}
		e[10] = kind
		copy(out, e[:])
		in, out = in[subscription:], out[event:]
	}
	return wasiOK
}

// sameRandom is what a plugin without randomness gets: the same bytes each time.
type sameRandom struct{ source *rand.Rand }

func (r *sameRandom) Read(b []byte) (int, error) {
	if r.source == nil {
		r.source = rand.New(rand.NewSource(42)) //nolint:gosec // it is not meant to be random
	}
	return r.source.Read(b)
}

// inParts is a source of randomness that looks at the time between the parts of what is asked for.
type inParts struct {
	i      *Instance
	source io.Reader
}

func (r inParts) Read(b []byte) (int, error) {
	r.i.look()
	return r.source.Read(b[:min(len(b), randomPart)])
}
