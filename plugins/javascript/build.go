package javascript

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/binary"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/sluicegate/sluice/plugins/module"
)

// engine is what every plugin is made of; see module/build.sh.
//
//go:embed module/plugin.wasm
var engine []byte

// Bounds of a program.
const (
	// MaxSource is the longest program, bytes: libraries that are bundled with it included.
	MaxSource = 2 << 20
	// maxPages is the memory that the top level of a program may leave, pages of 64 KB: it is
	// part of the module, and of every instance.
	maxPages = 256
	// maxStart is how long the top level may run.
	maxStart = 10 * time.Second
	// stackSize is C stack in the smallest memory class: 300 calls deep. The stack of the machine
	// below it is 20 times as large, and a quarter of the class. largeStack is that of larger
	// classes: 1,200 calls deep, within the 384 KB of build.sh.
	stackSize  = 80 << 10
	largeStack = 320 << 10
	// maxMessage is what is kept of an error's message, bytes.
	maxMessage = 4 << 10
)

// Entries of which the gateway offers functions of its own; the names of these begin with own.
const (
	workflowEntry = "run_workflow"
	authEntry     = "transform_request"
	own           = "sluice_"
)

// Functions that a filter or projection may have beside it: transformError and
// transformArguments of the program.
const (
	errorEntry     = "transform_error"
	argumentsEntry = "transform_arguments"
)

// Kind is what a program does: it decides which function the module exports, and what it
// may import.
type Kind struct {
	// Entry is the function of the contract that the default export is: "transform_response",
	// "transform_request" or "run_workflow".
	Entry string
	// Text tells that a string which the program returns is the answer as it is; otherwise it is
	// written as JSON where the input was JSON.
	Text bool
	// Memory is the memory that the module may have, bytes, as in its manifest; 0: the
	// smallest class. With 32 MB and more, functions may call each other 1,100 deep instead of 280.
	Memory int
}

// SourceError is what is wrong with a program.
type SourceError struct {
	Line, Column int // where, from 1; 0: not known
	Message      string
}

// Error says where and what: "plugin.js:LINE:COLUMN: MESSAGE", without the place where it is not
// known.
func (e *SourceError) Error() string {
	if e.Line == 0 {
		return "plugin.js: " + e.Message
	}
	return fmt.Sprintf("plugin.js:%d:%d: %s", e.Line, e.Column, e.Message)
}

// Build returns the module of a program, an ECMAScript module whose default export is the
// function to call. It has no manifest yet. The same source gives the same bytes. Build fails
// with a *[SourceError] when the program does not compile, or its top level throws, runs for
// longer than 10 seconds or leaves more than 16 MB.
func Build(ctx context.Context, source []byte, k Kind) ([]byte, error) {
	return build(ctx, source, k, maxStart)
}

// build is Build with a limit for the top level.
func build(ctx context.Context, source []byte, k Kind, limit time.Duration) ([]byte, error) {
	if len(source) > MaxSource {
		return nil, &SourceError{Message: fmt.Sprintf("the program has %d bytes, more than %d", len(source), MaxSource)}
	}
	limited, cancel := context.WithTimeoutCause(ctx, limit, &SourceError{Message: fmt.Sprintf("its top level runs for longer than %v", limit)})
	defer cancel()
	// Interpreted: compiling takes longer than what runs here.
	r := wazero.NewRuntimeWithConfig(limited, wazero.NewRuntimeConfigInterpreter().WithCloseOnContextDone(true).WithMemoryLimitPages(maxPages))
	defer func() { _ = r.Close(context.WithoutCancel(ctx)) }()
	m, err := start(limited, r)
	if err == nil {
		err = load(limited, m, source, k)
	}
	if limited.Err() != nil {
		return nil, context.Cause(limited)
	}
	if err != nil {
		return nil, err
	}
	others, err := m.ExportedFunction("has").Call(limited)
	if err != nil {
		return nil, &SourceError{Message: "its top level left the engine unusable"}
	}
	memory, _ := m.Memory().Read(0, m.Memory().Size())
	return pack(memory, k, others[0])
}

// start makes an instance. What the host offers in a call is not there yet.
func start(ctx context.Context, r wazero.Runtime) (api.Module, error) {
	compiled, err := r.CompileModule(ctx, engine)
	if err != nil {
		return nil, fmt.Errorf("reading the JavaScript engine: %w", err)
	}
	hosts := map[string]wazero.HostModuleBuilder{}
	for _, f := range compiled.ImportedFunctions() {
		from, name, _ := f.Import()
		if hosts[from] == nil {
			hosts[from] = r.NewHostModuleBuilder(from)
		}
		hosts[from].NewFunctionBuilder().WithGoFunction(absent(name), f.ParamTypes(), f.ResultTypes()).Export(name)
	}
	for _, h := range hosts {
		if _, err := h.Instantiate(ctx); err != nil {
			return nil, fmt.Errorf("starting the JavaScript engine: %w", err)
		}
	}
	return r.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithStartFunctions())
}

// absent answers 0: no room, no setting, no time. Time stands still and chance is none, so
// that the same source gives the same module.
func absent(name string) api.GoFunction {
	return api.GoFunc(func(_ context.Context, stack []uint64) {
		if len(stack) > 0 && name != "output_set" {
			stack[0] = 0
		}
	})
}

var place = regexp.MustCompile(`plugin\.js:(\d+):(\d+)`)

// load runs the top level.
func load(ctx context.Context, m api.Module, source []byte, k Kind) error {
	call := func(name string, args ...uint64) (uint64, error) {
		out, err := m.ExportedFunction(name).Call(ctx, args...)
		if err != nil {
			return 0, &SourceError{Message: "its top level stopped the engine: it takes too much memory, or calls itself too deeply"}
		}
		return out[0], nil
	}
	at, err := call("source", uint64(len(source)))
	if err != nil {
		return err
	}
	if at == 0 || !m.Memory().Write(uint32(at), source) {
		return &SourceError{Message: "there is no memory for the program"}
	}
	stack := uint64(stackSize)
	if k.Memory >= 32<<20 {
		stack = largeStack
	}
	code, err := call("load", stack, flag(k.Text), flag(k.Entry == workflowEntry), flag(k.Entry == authEntry))
	if err != nil || code == 0 {
		return err
	}
	where, err := call("message")
	if err != nil {
		return err
	}
	said, _ := m.Memory().Read(uint32(where>>32), min(uint32(where), maxMessage))
	return told(string(said))
}

// told reads the text of an error: its message, and its stack in the lines behind it.
func told(text string) *SourceError {
	message, stack, _ := strings.Cut(strings.ToValidUTF8(text, "\uFFFD"), "\n")
	e := &SourceError{Message: message}
	if p := place.FindStringSubmatch(stack); p != nil {
		e.Line, _ = strconv.Atoi(p[1])
		e.Column, _ = strconv.Atoi(p[2])
	}
	return e
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// pack returns the engine with a memory as its data, with the exports and imports that a kind
// has. others tells which functions the program has beside its default export.
//
// Functions that only other kinds may import stand last among the imports. They are left out, and
// as many that trap come first among the module's own: every other function keeps its number.
func pack(memory []byte, k Kind, others uint64) ([]byte, error) {
	m, err := module.Parse(engine)
	if err != nil {
		return nil, err
	}
	kept, dropped := split(m, k)
	out := bytes.Clone(engine[:8]) // magic number and version
	err = module.Sections(engine, func(s module.Section) error {
		switch s.ID {
		case module.SectionImport:
			out = module.AppendSection(out, s.ID, imports(kept, k))
		case module.SectionFunction:
			var types []byte
			for _, i := range dropped {
				types = binary.AppendUvarint(types, uint64(i.Type))
			}
			out = module.AppendSection(out, s.ID, prepend(s.Payload, len(dropped), types))
		case module.SectionCode:
			out = module.AppendSection(out, s.ID, prepend(s.Payload, len(dropped), bytes.Repeat(trap, len(dropped))))
		case module.SectionMemory:
			out = module.AppendSection(out, s.ID, binary.AppendUvarint([]byte{1, 0}, uint64(len(memory)>>16)))
		case module.SectionExport:
			out = module.AppendSection(out, s.ID, exports(m, k, others))
		case module.SectionDataCount: // of memory.init, which nothing uses
		case module.SectionData:
			out = module.AppendSection(out, s.ID, data(memory))
		default:
			out = module.AppendSection(out, s.ID, s.Payload)
		}
		return nil
	})
	return out, err
}

// trap is a body without locals: unreachable, end.
var trap = []byte{3, 0, 0x00, 0x0b}

// split divides the imports of the engine: those that plugins of a kind have, and at the end
// those that they have not.
func split(m *module.Module, k Kind) (kept, dropped []module.Import) {
	n := len(m.Imports)
	for n > 0 && strings.HasPrefix(m.Imports[n-1].Name, own) && k.Entry != authEntry && (k.Entry != workflowEntry || m.Imports[n-1].Name != callTools) {
		n--
	}
	return m.Imports[:n], m.Imports[n:]
}

// callTools is the function of workflows. It is the first of those that some kinds have: in auth
// plugins another of its type takes its place, which is never called, because a program of
// these is given no tools.
const callTools = "sluice_call"

func imports(kept []module.Import, k Kind) []byte {
	out := binary.AppendUvarint(nil, uint64(len(kept)))
	for _, i := range kept {
		from, name := i.Module, i.Name
		if name == callTools && k.Entry != workflowEntry {
			from, name = "extism:host/env", "length"
		}
		out = module.AppendName(module.AppendName(out, from), name)
		out = binary.AppendUvarint(append(out, i.Kind), uint64(i.Type))
	}
	return out
}

// prepend puts n items in front of those of a section.
func prepend(payload []byte, n int, items []byte) []byte {
	have, size := binary.Uvarint(payload)
	out := append(binary.AppendUvarint(nil, have+uint64(n)), items...)
	return append(out, payload[size:]...)
}

func exports(m *module.Module, k Kind, others uint64) []byte {
	var kept []module.Export
	for _, e := range m.Exports {
		filters := k.Entry == "transform_response"
		if e.Name == k.Entry || e.Kind == module.Memory || filters && (e.Name == errorEntry && others&1 != 0 || e.Name == argumentsEntry && others&2 != 0) {
			kept = append(kept, e)
		}
	}
	out := binary.AppendUvarint(nil, uint64(len(kept)))
	for _, e := range kept {
		out = binary.AppendUvarint(append(module.AppendName(out, e.Name), e.Kind), uint64(e.Index))
	}
	return out
}

// gap is how many zeros are worth the end of a piece of data.
const gap = 64

// data are the pieces of a memory that are not zero.
func data(memory []byte) []byte {
	var pieces [][2]int
	for at := 0; at < len(memory); {
		n := zeros(memory[at:])
		from := at + n
		if from == len(memory) {
			break
		}
		if last := len(pieces) - 1; n < gap && last >= 0 {
			from = pieces[last][0]
			pieces = pieces[:last]
		}
		at += n
		for at < len(memory) && memory[at] != 0 {
			at++
		}
		pieces = append(pieces, [2]int{from, at})
	}
	out := binary.AppendUvarint(nil, uint64(len(pieces)))
	for _, p := range pieces {
		out = append(out, 0, 0x41) // active, i32.const
		out = appendSigned(out, int64(p[0]))
		out = append(out, 0x0b) // end
		out = binary.AppendUvarint(out, uint64(p[1]-p[0]))
		out = append(out, memory[p[0]:p[1]]...)
	}
	return out
}

func zeros(b []byte) int {
	for i, c := range b {
		if c != 0 {
			return i
		}
	}
	return len(b)
}

// appendSigned appends a signed LEB128 number (Core 2.0 §5.2.2).
func appendSigned(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}
