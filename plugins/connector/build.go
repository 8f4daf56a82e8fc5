package connector

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/plugins/engine"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/plugins/projection"
)

// Artifact is a connector that was made.
type Artifact struct {
	Module  []byte // standalone WebAssembly module
	Digest  string // "sha256:…" of Module
	Name    string
	Version string // info.version, at most manifest.MaxText bytes
	Tag     string // registry tag, see Tag
	Tools   int
}

// Builder collects operations. What it keeps of one until Finish is its part of the
// manifest and what it says of answers: a program keeps what other operations take,
// so programs are made when all are known.
type Builder struct {
	index   projection.Index
	answers []*operation.Operation // what projection.Default needs of them
	api     *operation.API
	tools   []byte // JSON, separated by commas
	count   int
	names   map[string]struct{} // lower case
	ops     map[string]struct{} // METHOD path
	done    bool
}

// tailBytes is room for the end of a connector's manifest.
const tailBytes = 64

// NewBuilder starts a connector of an API. api is read by Finish only, so it may be
// filled while operations are added.
func NewBuilder(api *operation.API) *Builder {
	return &Builder{api: api, names: map[string]struct{}{}, ops: map[string]struct{}{}}
}

// Add packs one operation; the order of calls is the order of tools. It fails, and
// leaves the builder as it was, when the operation cannot be a tool: a bad or taken
// name, METHOD and path that are taken, a schema that is not an object, a plan that
// does not compile. Of op only Response is kept, until Finish.
func (b *Builder) Add(op *operation.Operation) error {
	if b.done {
		return fmt.Errorf("adding %s %s: the connector is finished", op.Method, op.Path)
	}
	if b.count == manifest.MaxTools {
		return fmt.Errorf("adding %s %s: more than %d tools", op.Method, op.Path, manifest.MaxTools)
	}
	key, name := op.Method+" "+op.Path, strings.ToLower(op.Name)
	if _, taken := b.ops[key]; taken {
		return fmt.Errorf("adding %s: the connector has this operation already", key)
	}
	if _, taken := b.names[name]; taken {
		return fmt.Errorf("adding %s: the name %q is taken", key, op.Name)
	}
	if op.Plan == nil {
		return fmt.Errorf("adding %s: it has no request plan", key)
	}
	if _, err := op.Plan.Compile(); err != nil {
		return fmt.Errorf("adding %s: %w", key, err)
	}
	tool := toolOf(op, b.count)
	start := len(b.tools)
	if b.count > 0 {
		b.tools = append(b.tools, ',')
	}
	if cap(b.tools)-len(b.tools) < len(tool.InputSchema)+len(tool.OutputSchema)+roomForTool {
		// Doubled: append grows a long slice by a quarter, and the whole of a large API
		// would be copied a dozen times.
		b.tools = slices.Grow(b.tools, max(len(b.tools), len(tool.InputSchema)+len(tool.OutputSchema)+roomForTool))
	}
	from := len(b.tools)
	b.tools = tool.Append(b.tools)
	// Read back with the reader that every gateway uses: what it would refuse there
	// is told here, for this operation.
	if err := readable(b.tools[from:]); err != nil {
		b.tools = b.tools[:start]
		return fmt.Errorf("adding %s: %w", key, err)
	}
	b.names[name], b.ops[key] = struct{}{}, struct{}{}
	b.index.Add(op)
	b.answers = append(b.answers, &operation.Operation{Method: op.Method, Path: op.Path, Response: op.Response})
	b.count++
	return nil
}

// roomForTool is more than what most tools take beside their schemas.
const roomForTool = 8 << 10

func readable(raw []byte) error {
	if _, err := jsonscan.Parse(raw, manifest.MaxDepth-2); err != nil {
		return fmt.Errorf("its schemas: %w", err)
	}
	_, err := manifest.ParseTool(raw)
	return err
}

func toolOf(op *operation.Operation, program int) manifest.Tool {
	t := manifest.Tool{
		Name: op.Name, Title: cut(op.Title, manifest.MaxText), Description: cut(op.Description, manifest.MaxDescription),
		Method: op.Method, Path: op.Path, OperationID: cut(op.ID, manifest.MaxText), Pointer: cut(op.Pointer, manifest.MaxPath),
		Deprecated: op.Deprecated, Annotations: manifest.Annotations(op.Annotations),
		InputSchema: op.InputSchema, OutputSchema: op.OutputSchema, Request: op.Plan.Append(nil), Program: program,
		Security: requirements(op.Security), Servers: servers(op.Servers),
	}
	for _, tag := range op.Tags[:min(len(op.Tags), manifest.MaxItems)] {
		t.Tags = append(t.Tags, cut(tag, manifest.MaxText))
	}
	return t
}

// Finish links the module. The builder cannot be used afterwards.
func (b *Builder) Finish() (Artifact, error) {
	if b.done {
		return Artifact{}, fmt.Errorf("finishing connector %s: it is finished", b.api.Name)
	}
	b.done = true
	version := cut(b.api.Version, manifest.MaxText)
	if version == "" {
		version = "0"
	}
	m := manifest.Manifest{
		FormatVersion: manifest.FormatVersion, Kind: manifest.Connector, Name: b.api.Name, Version: version,
		Title: cut(b.api.Title, manifest.MaxText), Description: cut(b.api.Description, manifest.MaxDescription), Generator: "sluice",
		Upstream: &manifest.Upstream{Servers: servers(b.api.Servers), Schemes: schemes(b.api.Schemes), Security: requirements(b.api.Security)},
	}
	// Each tool was read back when it was added; here what surrounds them is.
	head := m.AppendHead(nil)
	if _, _, err := manifest.ParseHead(m.AppendTail(slices.Clip(head))); err != nil {
		return Artifact{}, fmt.Errorf("finishing connector %s: %w", b.api.Name, err)
	}
	doc := make([]byte, 0, len(head)+len(b.tools)+tailBytes)
	doc = m.AppendTail(append(append(doc, head...), b.tools...))
	if len(doc) > manifest.MaxBytes {
		return Artifact{}, fmt.Errorf("finishing connector %s: its manifest has %d bytes, the limit is %d", b.api.Name, len(doc), manifest.MaxBytes)
	}
	b.tools = nil
	programs, err := b.programs()
	if err != nil {
		return Artifact{}, fmt.Errorf("finishing connector %s: %w", b.api.Name, err)
	}
	module, err := engine.Link(programs, manifest.Section, doc)
	if err != nil {
		return Artifact{}, fmt.Errorf("finishing connector %s: %w", b.api.Name, err)
	}
	digest := digestOf(module)
	return Artifact{Module: module, Digest: digest, Name: m.Name, Version: version, Tag: Tag(version, digest), Tools: b.count}, nil
}

// shape is all that the response program of an operation depends on.
type shape struct {
	response *operation.Schema // nil: not described
	resource string            // what the path is about
	purpose  projection.Purpose
}

// programs makes the response program of each tool, one for each shape of answer,
// on all processors: they are half of what making a connector takes. Equal ones
// share their bytes, here as in the module.
func (b *Builder) programs() ([][]byte, error) {
	var first []*operation.Operation // of each shape
	number := map[shape]int{}
	of := make([]int, len(b.answers))
	for i, op := range b.answers {
		s := shape{response: op.Response, purpose: projection.PurposeOf(op)}
		if op.Response != nil {
			s.resource = projection.ResourceOf(op.Path)
		}
		n, known := number[s]
		if !known {
			n = len(first)
			number[s], first = n, append(first, op)
		}
		of[i] = n
	}
	tables, errs := make([][]byte, len(first)), make([]error, len(first))
	var next atomic.Int64
	var memory engine.Memory
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(first)) {
		workers.Go(func() {
			for n := int(next.Add(1)) - 1; n < len(first); n = int(next.Add(1)) - 1 {
				tables[n], errs[n] = program(first[n], b.index, &memory)
			}
		})
	}
	workers.Wait()
	known := map[[sha256.Size]byte][]byte{}
	for n, table := range tables {
		if errs[n] != nil {
			return nil, fmt.Errorf("response program of %s %s: %w", first[n].Method, first[n].Path, errs[n])
		}
		sum := sha256.Sum256(table)
		if same, ok := known[sum]; ok {
			tables[n] = same
			continue
		}
		known[sum] = table
	}
	programs := make([][]byte, len(b.answers))
	for i := range programs {
		programs[i] = tables[of[i]]
	}
	b.answers = nil
	return programs, nil
}

// program is projection.Compile in a goroutine of its own: a panic there must end
// the build, as it would without one, not the process.
func program(op *operation.Operation, index projection.Index, memory *engine.Memory) (table []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("BUG: %v", p)
		}
	}()
	return projection.Compile(op, index, memory)
}

func digestOf(module []byte) string {
	sum := sha256.Sum256(module)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Tag is the registry tag of a connector: its version, characters outside
// [A-Za-z0-9_.-] replaced by _ and cut at 100, then - and the first 8 hexadecimal
// digits of the module's digest. It is in no hashed byte.
func Tag(version, digest string) string {
	const longest = 100
	tag := strings.Map(func(r rune) rune {
		if r < 128 && (r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z' || r == '_' || r == '.' || r == '-') {
			return r
		}
		return '_'
	}, version)
	tag = tag[:min(len(tag), longest)]
	if tag == "" || tag[0] == '.' || tag[0] == '-' {
		tag = "_" + tag[min(len(tag), 1):] // OCI tags start with a letter, digit or _
	}
	hash := strings.TrimPrefix(digest, "sha256:")
	return tag + "-" + hash[:min(len(hash), 8)]
}

// cut keeps whole characters of at most n bytes, and valid UTF-8.
func cut(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func requirements(in []operation.Requirement) [][]string {
	if in == nil {
		return nil
	}
	out := make([][]string, len(in))
	for i, r := range in {
		out[i] = append([]string{}, r...)
	}
	return out
}

func servers(in []operation.Server) []manifest.Server {
	var out []manifest.Server
	for _, s := range in[:min(len(in), manifest.MaxItems)] {
		m := manifest.Server{URL: s.URL, Description: cut(s.Description, manifest.MaxText)}
		for _, v := range s.Variables {
			m.Variables = append(m.Variables, manifest.Variable{Name: v.Name, Default: v.Default, Enum: slices.Clone(v.Enum), Description: cut(v.Description, manifest.MaxText)})
		}
		out = append(out, m)
	}
	return out
}

func schemes(in []operation.SecurityScheme) []manifest.Scheme {
	var out []manifest.Scheme
	for _, s := range in[:min(len(in), manifest.MaxItems)] {
		m := manifest.Scheme{
			ID: s.ID, Type: s.Type, In: s.In, Name: s.Name, Scheme: s.Scheme, BearerFormat: cut(s.BearerFormat, manifest.MaxText),
			OpenIDURL: s.OpenIDURL, Description: cut(s.Description, manifest.MaxText),
		}
		for _, f := range s.Flows {
			m.Flows = append(m.Flows, manifest.Flow{
				Grant: f.Grant, AuthorizationURL: f.AuthorizationURL, TokenURL: f.TokenURL, RefreshURL: f.RefreshURL,
				Scopes: slices.Clone(f.Scopes[:min(len(f.Scopes), manifest.MaxItems)]),
			})
		}
		out = append(out, m)
	}
	return out
}
