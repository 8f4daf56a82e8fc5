package module

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Bounds of a module. What is past them is refused with [ErrInvalid].
const (
	// MaxBytes: a Go program with encoding/json is 3.3 MB, and compiling takes 0.4
	// seconds a megabyte.
	MaxBytes = 16 << 20
	// MaxLocals is per function; wazero takes room for each while it compiles, and a
	// module of 30 bytes can declare four billion. V8 has the same bound.
	MaxLocals = 50_000
	// MaxTable is the elements of one table, 8 bytes each; it is written into the
	// metered module, so a table cannot grow past it either.
	MaxTable = 100_000
	// MaxElements is what all element segments hold, as many as fill the largest table: an
	// instance has 8 bytes of each beside its memory, and compiling takes 80.
	MaxElements = MaxTable
	// MaxGlobals: an instance has some 60 bytes of each beside its memory. Compilers of Go,
	// Rust and C write eight at most; those that write thousands, one for each address that
	// a linker exports, stay below.
	MaxGlobals = 10_000
	// MaxTables: compilers write one.
	MaxTables = 16
	// MaxSections: compilers write thirteen and some dozens for debuggers. A section may have
	// three bytes, and is looked at again and again.
	MaxSections = 1000
	// MaxItems bounds imports, exports, segments and the like of one module.
	MaxItems = 100_000
)

// ErrInvalid is wrapped by everything that [Parse] refuses.
var ErrInvalid = errors.New("not a WebAssembly module that can be used")

// External kinds of imports and exports (Core 2.0 §5.5.5).
const (
	Func   byte = 0
	Table  byte = 1
	Memory byte = 2
	Global byte = 3
)

// Section ids (Core 2.0 §5.5.2).
const (
	SectionCustom = iota
	secType
	SectionImport
	SectionFunction
	secTable
	SectionMemory
	secGlobal
	SectionExport
	secStart
	secElement
	SectionCode
	SectionData
	SectionDataCount
)

// Value types (Core 2.0 §5.3.1).
const (
	I32 byte = 0x7f
	I64 byte = 0x7e
)

// Type is a function's signature; its bytes are value types.
type Type struct{ Params, Results []byte }

// Import is one import.
type Import struct {
	Module, Name string
	Kind         byte
	Type         uint32 // index into Types; functions only
}

// Export is one export.
type Export struct {
	Name  string
	Kind  byte
	Index uint32
}

// Limits are those of a memory (pages of 64 KB) or a table (elements).
type Limits struct {
	Min, Max uint32
	HasMax   bool
}

// Custom is a custom section.
type Custom struct {
	Name    string
	Payload []byte
}

// Section is a section of a module.
type Section struct {
	ID      byte
	Payload []byte // a view of the module
	Start   int    // where the section begins in the module
}

// longestHead is the bytes of the id and the size of a section: a number of 32 bits has
// five at most (Core 2.0 §5.2.2).
const longestHead = 6

// header is the magic number and version 1.
const header = "\x00asm\x01\x00\x00\x00"

// componentLayer is the layer of components, in byte 6 of their header. That of modules
// is 0: it is the upper half of their version.
const componentLayer = 1

// Sections calls f for each section of code, whatever its size, and ends at the first
// error. It fails with an error of its own when code is not made of whole sections.
func Sections(code []byte, f func(Section) error) error {
	switch {
	case bytes.HasPrefix(code, []byte(header)):
	case len(code) >= len(header) && bytes.HasPrefix(code, []byte(header[:4])) && code[6] == componentLayer:
		return errComponents
	case len(code) >= len(header) && bytes.HasPrefix(code, []byte(header[:4])):
		return &FileError{fmt.Sprintf("WebAssembly of version %d, and plugins are of version 1", binary.LittleEndian.Uint32(code[4:])), rebuild}
	default:
		return notModule(code)
	}
	for r := (reader{b: code, at: len(header)}); r.at < len(code); {
		start := r.at
		s := Section{ID: r.byte(), Start: start}
		size := r.u32()
		if r.err != nil && len(code)-start < longestHead {
			return &FileError{"cut off: it ends in the head of a section", getWhole}
		}
		if r.err != nil {
			return r.err
		}
		if left := len(code) - r.at; uint64(size) > uint64(left) {
			return cutOff(sectionName(s.ID), int(size), left)
		}
		s.Payload = r.bytes(size)
		if err := f(s); err != nil {
			return err
		}
	}
	return nil
}

// Module is what a module says of itself. Slices are views of its code.
type Module struct {
	Types    []Type
	Imports  []Import
	Exports  []Export
	Funcs    []uint32 // type index of each function it defines
	Tables   []Limits
	Memories []Limits
	Customs  []Custom
	HasStart bool
	// ImportedFuncs is how many of Imports are functions.
	ImportedFuncs int

	globals  int      // imported and own
	mutable  int      // of globals
	imported []uint32 // type index of each imported function
	sections []Section
}

// Parse takes a module apart, down to its sections; function bodies are read by
// [Meter] and by the compiler. It keeps code and fails with ErrInvalid.
func Parse(code []byte) (*Module, error) {
	m, err := parse(code)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return m, nil
}

func parse(code []byte) (*Module, error) {
	if len(code) > MaxBytes {
		return nil, TooLarge(int64(len(code)))
	}
	m := &Module{}
	err := Sections(code, func(sec Section) error {
		if len(m.sections) == MaxSections {
			return fmt.Errorf("more than %d sections", MaxSections)
		}
		m.sections = append(m.sections, sec)
		s := reader{b: sec.Payload}
		m.section(sec.ID, &s)
		if s.err == nil && sec.ID != SectionCustom && s.at != len(s.b) && sec.ID < secElement && sec.ID != secGlobal {
			s.err = errors.New("bytes left over")
		}
		if s.err != nil {
			return fmt.Errorf("%s: %w", sectionName(sec.ID), s.err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := m.checkLinked(); err != nil {
		return nil, err
	}
	return m, m.checkTypeIndexes()
}

// checkLinked tells what a compiler wrote for a linker from a module: it imports its memory
// and says how it is to be moved.
func (m *Module) checkLinked() error {
	for _, i := range m.Imports {
		if _, ok := m.Custom("linking"); ok && i.Kind == Memory {
			return &FileError{"an object file, which was not linked", "link it: wasm-ld --no-entry FILE.o -o FILE.wasm"}
		}
	}
	return nil
}

// checkTypeIndexes finds functions of a type that the module lacks. wazero 1.12 checks
// that after the function bodies, and panics when one of them calls such a function.
func (m *Module) checkTypeIndexes() error {
	for _, indexes := range [][]uint32{m.imported, m.Funcs} {
		for i, t := range indexes {
			if int(t) >= len(m.Types) {
				return fmt.Errorf("function %d has type %d, there are %d types", i, t, len(m.Types))
			}
		}
	}
	return nil
}

func (m *Module) section(id byte, r *reader) {
	switch id {
	case SectionCustom:
		name := r.name()
		if r.err == nil {
			m.Customs = append(m.Customs, Custom{name, r.b[r.at:]})
		}
	case secType:
		for range r.count() {
			if form := r.byte(); form != 0x60 {
				r.fail("%w", extensionOfType(form))
				return
			}
			m.Types = append(m.Types, Type{r.bytes(r.u32()), r.bytes(r.u32())})
		}
		if err := m.checkTypes(); err != nil {
			r.fail("%w", err)
		}
	case SectionImport:
		for range r.count() {
			m.readImport(r)
		}
	case SectionFunction:
		for range r.count() {
			m.Funcs = append(m.Funcs, r.u32())
		}
	case secTable:
		for range r.count() {
			r.byte()
			m.Tables = append(m.Tables, r.limits())
		}
	case SectionMemory:
		n := r.count()
		if n > 1 {
			r.fail("%w", errMemories)
		}
		for range n {
			m.Memories = append(m.Memories, r.limits())
		}
	case secGlobal:
		m.readGlobals(r)
	case SectionExport:
		for range r.count() {
			m.Exports = append(m.Exports, Export{r.name(), r.byte(), r.u32()})
		}
	case secTag:
		r.fail("%w", errExceptions)
	case secStart:
		m.HasStart = true
		r.u32()
	case SectionCode:
		for range r.count() {
			body := reader{b: r.bytes(r.u32())}
			if body.locals(0); body.err != nil {
				r.fail("a function: %w", body.err)
			}
		}
	case secElement:
		m.readElements(r)
	case SectionData:
		r.count()
	}
	if len(m.Tables) > MaxTables {
		r.fail("%d tables, more than %d", len(m.Tables), MaxTables)
	}
	if m.globals > MaxGlobals {
		r.fail("%d globals, more than %d", m.globals, MaxGlobals)
	}
	for _, t := range m.Tables {
		if t.Min > MaxTable {
			r.fail("a table of %d elements, more than %d", t.Min, MaxTable)
		}
	}
}

// readGlobals counts globals. What they begin with is read by [Meter].
func (m *Module) readGlobals(r *reader) {
	for range r.count() {
		if m.readGlobal(r); m.globals > MaxGlobals || r.err != nil {
			return
		}
		r.constant()
	}
}

// readGlobal counts a global by its type.
func (m *Module) readGlobal(r *reader) {
	r.byte()
	m.mutable += int(r.byte() & 1)
	m.globals++
}

// readElements counts what element segments hold, in their eight forms (Core 2.0 §5.5.12).
func (m *Module) readElements(r *reader) {
	var held uint64
	for range r.count() {
		kind := r.u32()
		if kind&1 == 0 { // active
			if kind&2 != 0 {
				r.u32()
			}
			r.constant()
		}
		if kind&3 != 0 {
			r.byte() // kind or type
		}
		items := r.u32()
		if held += uint64(items); held > MaxElements {
			r.fail("segments of %d elements, more than %d", held, MaxElements)
		}
		for range items {
			if kind&4 != 0 {
				r.constant()
			} else {
				r.u32()
			}
			if r.err != nil {
				return
			}
		}
	}
}

func (m *Module) readImport(r *reader) {
	i := Import{Module: r.name(), Name: r.name(), Kind: r.byte()}
	switch i.Kind {
	case Func:
		i.Type = r.u32()
		m.ImportedFuncs++
		m.imported = append(m.imported, i.Type)
	case Table:
		r.byte()
		r.limits()
	case Memory:
		r.limits()
	case Global:
		m.readGlobal(r)
	case kindTag:
		r.fail("%w", errExceptions)
	default:
		r.fail("an import of kind %d", i.Kind)
	}
	m.Imports = append(m.Imports, i)
}

// Export returns the export of that name.
func (m *Module) Export(name string) (Export, bool) {
	for _, e := range m.Exports {
		if e.Name == name {
			return e, true
		}
	}
	return Export{}, false
}

// FuncType returns the signature of a function by its index, imported ones first.
func (m *Module) FuncType(index uint32) (Type, bool) {
	if int(index) < len(m.imported) {
		return m.typeAt(m.imported[index])
	}
	n := int(index) - len(m.imported)
	if n >= len(m.Funcs) {
		return Type{}, false
	}
	return m.typeAt(m.Funcs[n])
}

// FuncTypeOf returns the signature of an imported function.
func (m *Module) FuncTypeOf(i Import) (Type, bool) { return m.typeAt(i.Type) }

func (m *Module) typeAt(i uint32) (Type, bool) {
	if int(i) >= len(m.Types) {
		return Type{}, false
	}
	return m.Types[i], true
}

// Custom returns the payload of the custom section of that name, when there is
// exactly one.
func (m *Module) Custom(name string) ([]byte, bool) {
	var found []byte
	n := 0
	for _, c := range m.Customs {
		if c.Name == name {
			found = c.Payload
			n++
		}
	}
	return found, n == 1
}

// AppendCustom appends code with its custom sections of that name replaced by
// one at the end. An empty payload is refused: wazero v1.12.0 does not read one.
func AppendCustom(dst, code []byte, name string, payload []byte) ([]byte, error) {
	if len(payload) == 0 {
		return dst, errors.New("an empty custom section cannot be read back")
	}
	m, err := Parse(code)
	if err != nil {
		return dst, err
	}
	dst = append(dst, header...)
	for _, s := range m.sections {
		if s.ID == SectionCustom {
			r := reader{b: s.Payload}
			if r.name() == name {
				continue
			}
		}
		dst = AppendSection(dst, s.ID, s.Payload)
	}
	return AppendSection(dst, SectionCustom, AppendName(nil, name), payload), nil
}

// AppendSection appends a section whose payload is that of parts, one behind the other.
func AppendSection(dst []byte, id byte, parts ...[]byte) []byte {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	dst = binary.AppendUvarint(append(dst, id), uint64(size))
	for _, p := range parts {
		dst = append(dst, p...)
	}
	return dst
}

// AppendName appends a name: its length and its bytes (Core 2.0 §5.2.4).
func AppendName(dst []byte, s string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

// reader reads the binary format and keeps its first error.
type reader struct {
	b   []byte
	at  int
	err error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
		r.at = len(r.b)
	}
}

func (r *reader) byte() byte {
	if r.at >= len(r.b) {
		r.fail("it ends too early")
		return 0
	}
	r.at++
	return r.b[r.at-1]
}

func (r *reader) bytes(n uint32) []byte {
	if uint64(n) > uint64(len(r.b)-r.at) {
		r.fail("it ends too early")
		return nil
	}
	r.at += int(n)
	return r.b[r.at-int(n) : r.at]
}

// u32 reads an unsigned LEB128 number (Core 2.0 §5.2.2).
func (r *reader) u32() uint32 {
	var v uint32
	for shift := 0; shift < 35; shift += 7 {
		c := r.byte()
		if shift == 28 && c > 0x0f {
			break
		}
		v |= uint32(c&0x7f) << shift
		if c < 0x80 {
			return v
		}
	}
	r.fail("a number of more than 32 bits")
	return 0
}

// skipLEB passes over a number of at most n bytes.
func (r *reader) skipLEB(n int) {
	for range n {
		if r.byte() < 0x80 {
			return
		}
	}
	r.fail("a number that is too long")
}

// count reads the length of a vector. Every item takes at least a byte.
func (r *reader) count() uint32 {
	n := r.u32()
	if n > MaxItems || uint64(n) > uint64(len(r.b)-r.at) {
		r.fail("%d items do not fit", n)
		return 0
	}
	return n
}

// locals passes over the declarations of a body's locals and returns how many
// there are with the parameters.
func (r *reader) locals(params uint64) uint64 {
	n := params
	for range r.u32() {
		n += uint64(r.u32())
		r.byte()
		if n > MaxLocals {
			r.fail("more than %d locals", MaxLocals)
		}
		if r.err != nil {
			return 0
		}
	}
	return n
}

func (r *reader) name() string { return string(r.bytes(r.u32())) }

func (r *reader) limits() Limits {
	switch flag := r.byte(); flag {
	case 0:
		return Limits{Min: r.u32()}
	case 1:
		return Limits{Min: r.u32(), Max: r.u32(), HasMax: true}
	case 2, 3:
		r.fail("%w", errThreads) // a shared memory
	case 4, 5, 6, 7:
		r.fail("%w", errMemory64)
	default:
		r.fail("limits of kind %d", flag)
	}
	return Limits{}
}
