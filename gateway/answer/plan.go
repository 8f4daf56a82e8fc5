package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/engine"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/jq"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

// Format is how an answer that is JSON is written.
type Format uint8

// The formats, as package registry names them.
const (
	FormatAuto Format = iota
	FormatJSON
	FormatTable
	FormatTOON
)

// maxMasks bounds the compiled masks a tool keeps: agents write a few, and each
// takes some kilobytes.
const maxMasks = 32

// Plan says what becomes of the answers of a tool. Its exported fields are not changed.
type Plan struct {
	Profile    string // registry.ProfileOff, …
	Format     Format
	Budget     int // tokens; 0: no budget
	Program    *Program
	Reshape    *jq.Program // nil: none
	Redact     bool        // no answer rather than one that Program could not treat
	Structured bool        // send structuredContent
	KeepHidden bool        // leave control and invisible characters in answers
	// Argument is the name of the argument that takes a field mask; "": there is
	// none, because the answers have no structure or the names are taken.
	Argument string
	// PassStructured says that structuredContent of an MCP server is passed on.
	// Otherwise it is what the agent reads as text, unless the text has it already.
	PassStructured bool
	// OutputSchema describes structuredContent; nil: not known.
	OutputSchema json.RawMessage
	// Paging says how the next page of the upstream is asked for; nil: not known.
	Paging *Paging

	// effect is what third-party plugins make of an answer, one after the other; "":
	// there are none.
	effect string

	before    []*engine.Program // of the tool and of the toolset
	connector []byte            // default projection; nil: not used
	maxString int
	shape     func() *shape
	result    func() json.RawMessage // see ResultSchema; made on first use

	mu    sync.Mutex                          // serialises changes of masks
	masks atomic.Pointer[map[string]*Program] // replaced, never changed
}

// Program is what runs over a JSON answer, in order: one table, or several where
// they could not be merged into one pass. No table: the answer is minified only.
type Program struct {
	Tables [][]byte
	// After are the tables of a caller's mask that run behind third-party plugins.
	After [][]byte

	stream struct {
		sync.Once
		tables [][]byte
		err    error
	}
}

// Stream are the tables for a stream of documents, which becomes an array. They
// are made on first use.
func (p *Program) Stream() ([][]byte, error) {
	p.stream.Do(func() {
		first := &engine.Program{}
		if len(p.Tables) > 0 {
			if first, p.stream.err = engine.Decompile(p.Tables[0]); p.stream.err != nil {
				return
			}
		}
		first.Documents = engine.DocumentStream
		t, err := engine.Compile(first)
		if err != nil {
			p.stream.err = fmt.Errorf("compiling for a stream: %w", err)
			return
		}
		p.stream.tables = append([][]byte{t}, p.Tables[min(1, len(p.Tables)):]...)
	})
	return p.stream.tables, p.stream.err
}

// chain merges programs that run one after the other into as few passes as can be.
func chain(parts []*engine.Program) (*Program, error) {
	p := &Program{}
	var last *engine.Program
	for _, next := range parts {
		if next.Root == nil {
			continue
		}
		n := len(p.Tables)
		if n > 0 {
			m, err := engine.Merge(last, next)
			if err == nil {
				if t, err := engine.Compile(m); err == nil { // not past a bound of tables
					last, p.Tables[n-1] = m, t
					continue
				}
			} else if !errors.Is(err, engine.ErrMerge) {
				return nil, err
			}
		}
		t, err := engine.Compile(next)
		if err != nil {
			return nil, err
		}
		last, p.Tables = next, append(p.Tables, t)
	}
	return p, nil
}

// Plain is the answer of a tool in a toolset of the given profile without any
// setting: what a preview shows, and whose [Plan.Mask] a caller's fields go
// through.
func Plain(c *connector.Tool, profile string) *Plan {
	a := &Plan{Profile: profile, Program: &Program{}, shape: sync.OnceValue(func() *shape { return readShape(c.OutputSchema) })}
	if profile == registry.ProfileConcise && c.Program != nil {
		a.connector = c.Program
		a.Program.Tables = [][]byte{c.Program}
	}
	if c.Structured {
		a.Argument = FieldsArgument(c.InputSchema)
	}
	return a
}

// Settings is what a [Plan] is compiled from.
type Settings struct {
	Tool     *connector.Tool
	Profile  string              // of the toolset
	Answers  []*registry.Answers // the operator's, the widest first
	Programs [][]byte            // response programs that Answers name
	Plugins  []*guest.Package    // third parties', in the order they run
}

// Compile makes the plan of a tool. The narrowest setting wins.
func Compile(s Settings) (*Plan, error) {
	c := s.Tool
	a := &Plan{Profile: s.Profile, Budget: Budget(s.Answers), shape: sync.OnceValue(func() *shape { return readShape(c.OutputSchema) })}
	var expression string
	for _, o := range s.Answers {
		if o.Profile != "" {
			a.Profile = o.Profile
		}
		if o.Format != "" {
			a.Format = FormatOf(o.Format)
		}
		if o.MaxString != 0 {
			a.maxString = o.MaxString
		}
		if o.JQ != "" {
			expression = o.JQ
		}
		a.Redact = a.Redact || o.Redact
		a.Structured = a.Structured || o.Structured
		a.KeepHidden = a.KeepHidden || o.KeepHidden
		if o.Program == nil {
			continue
		}
		if *o.Program < 0 || *o.Program >= len(s.Programs) {
			return nil, problem.New(problem.InvalidPlugin, "the bundle of the toolset has no program %d", *o.Program)
		}
		p, err := engine.Decompile(s.Programs[*o.Program])
		if err != nil {
			return nil, err
		}
		a.before = append([]*engine.Program{p}, a.before...)
	}
	if a.Profile == registry.ProfileConcise {
		a.connector = c.Program
	}
	if c.Structured {
		a.Argument = FieldsArgument(c.InputSchema)
	}
	a.readEffects(s.Plugins)
	var err error
	if expression != "" {
		if a.Reshape, err = jq.Compile(expression); err != nil {
			return nil, err
		}
	}
	if len(a.before) == 0 && a.maxString == 0 {
		// The connector's table as it is: 1,000 toolsets share it.
		a.Program = &Program{}
		if a.connector != nil {
			a.Program.Tables = [][]byte{a.connector}
		}
	} else if a.Program, err = a.compile(nil); err != nil {
		return nil, err
	}
	if c.MCP != nil {
		a.PassStructured = a.Structured || a.Profile != registry.ProfileConcise
		a.Structured = false // the server decides whether there is any
	}
	if (a.Structured || a.PassStructured) && a.Reshape == nil && len(c.OutputSchema) > 0 {
		a.OutputSchema = projectSchema(c.OutputSchema, a.Program.Tables)
	}
	a.Structured = a.Structured && a.Reshape == nil && a.effect != manifest.EffectText
	a.OutputSchema = a.pluginSchema(a.OutputSchema, s.Plugins)
	a.result = sync.OnceValue(func() json.RawMessage {
		if a.Reshape != nil || a.effect != "" || len(c.OutputSchema) == 0 {
			return nil
		}
		if c.MCP != nil {
			return c.OutputSchema
		}
		return likelySchema(c.OutputSchema, a.Program.Tables)
	})
	if c.Plan != nil {
		a.Paging = findPaging(c.Plan.Params(), c.Plan.Body())
	}
	return a, nil
}

// Budget is the token budget that settings give, the widest first; 0: none.
func Budget(settings []*registry.Answers) int {
	budget := registry.DefaultTokenBudget
	for _, s := range settings {
		if s.Budget != 0 {
			budget = max(s.Budget, 0)
		}
	}
	return budget
}

var formats = map[string]Format{
	registry.FormatAuto: FormatAuto, registry.FormatJSON: FormatJSON, registry.FormatTable: FormatTable, registry.FormatTOON: FormatTOON,
}

// FormatOf is the format that package registry names name; FormatAuto for "".
func FormatOf(name string) Format { return formats[name] }

// compile makes the program for a caller's mask; nil: none. The operator's
// programs come first, then the default projection with the mask laid over it,
// then the cap of strings: so what judges values sees them whole.
func (a *Plan) compile(mask *engine.Mask) (*Program, error) {
	if mask != nil && a.effect != "" && a.effect != manifest.EffectText {
		return a.compileBehind(mask)
	}
	parts := append([]*engine.Program(nil), a.before...)
	var def *engine.Program
	if a.connector != nil {
		var err error
		if def, err = engine.Decompile(a.connector); err != nil {
			return nil, err
		}
	}
	switch {
	case mask != nil && def != nil:
		parts = append(parts, &engine.Program{Root: mask.Over(def.Root)})
	case mask != nil:
		parts = append(parts, &engine.Program{Root: mask.Node()})
	case def != nil:
		parts = append(parts, def)
	}
	return chain(a.capped(parts))
}

// capped adds the cap of strings.
func (a *Plan) capped(parts []*engine.Program) []*engine.Program {
	if a.maxString > 0 {
		n := &engine.Node{MaxString: uint32(a.maxString)}
		n.Rest = n
		parts = append(parts, &engine.Program{Root: n})
	}
	return parts
}

// compileBehind makes the program for a caller's mask of a tool with third-party
// plugins: the mask comes behind them, so that each sees what it decides by. Of
// plugins that leave members out the default projection goes behind them with the
// mask, which may ask for more than it; an answer of a plugin's own schema is what
// the mask is about.
func (a *Plan) compileBehind(mask *engine.Mask) (*Program, error) {
	behind := &engine.Program{Root: mask.Node()}
	var p *Program
	var err error
	if a.effect == manifest.EffectReplace {
		p, err = a.compile(nil)
	} else {
		if a.connector != nil {
			def, err := engine.Decompile(a.connector)
			if err != nil {
				return nil, err
			}
			behind.Root = mask.Over(def.Root)
		}
		p, err = chain(a.before)
	}
	if err != nil {
		return nil, err
	}
	after, err := chain(a.capped([]*engine.Program{behind}))
	if err != nil {
		return nil, err
	}
	p.After = after.Tables
	return p, nil
}

// Mask returns the program for a caller's field mask, which it checks against the
// tool's output schema. Masks that were used are kept, up to maxMasks. It fails
// with [problem.InvalidArguments].
func (a *Plan) Mask(text []byte) (*Program, error) {
	if m := a.masks.Load(); m != nil {
		if p := (*m)[string(text)]; p != nil {
			return p, nil
		}
	}
	fault := func(err error, fix string) error {
		detail := err.Error()
		if p := problem.As(err); p != nil {
			detail = p.Detail
		}
		return problem.New(problem.InvalidArguments, "%s: %s", a.Argument, detail).At("", 0, 0, "/"+a.Argument).Fix("%s", fix)
	}
	mask, err := engine.ReadMask(string(bytes.TrimSpace(text)))
	if err != nil {
		return nil, fault(err, "write names with commas between them, id,owner.login or items(id,name), or * for everything")
	}
	if err := a.shape().check(mask); err != nil {
		return nil, fault(err, "* gives everything")
	}
	p, err := a.compile(mask)
	if err != nil {
		return nil, fault(err, "ask for fewer fields")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	next := map[string]*Program{}
	if m := a.masks.Load(); m != nil && len(*m) < maxMasks { // a full set starts anew
		next = maps.Clone(*m)
	}
	next[string(text)] = p
	a.masks.Store(&next)
	return p, nil
}
