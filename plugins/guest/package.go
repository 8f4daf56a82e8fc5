package guest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/module"
)

// entries are the functions that a plugin of a kind exports, for the kinds that run.
var entries = map[manifest.Kind]string{
	manifest.Filter:     "transform_response",
	manifest.Projection: "transform_response",
	manifest.Auth:       "transform_request",
	manifest.Workflow:   "run_workflow",
}

// Entry is the function of the plugin that is called: the one its manifest names, or that
// of its kind.
func (p *Package) Entry() string { return cmp.Or(p.Manifest.Entry, entries[p.Manifest.Kind]) }

// Package is a plugin as it is published.
type Package struct {
	Manifest *manifest.Manifest
	Module   *module.Module
	Code     []byte
	Digest   string // "sha256:" and the lower-case hex SHA-256 of Code
	// Errors and Arguments say that a filter or projection exports a function of its own for
	// them, and NoAnswers that it has none for answers.
	Errors, Arguments, NoAnswers bool

	// replaced is what one of effect replace promises. nil: it was not opened, but made.
	replaced *replaced
}

// The functions that a filter or projection may export besides that of its kind: for the
// bodies of error statuses, and for arguments before a request is built.
const (
	ErrorEntry     = "transform_error"
	ArgumentsEntry = "transform_arguments"
)

// Parts of a call that plugins are told by sluice.part, as far as they choose a function.
const (
	PartError     = "error"
	PartArguments = "arguments"
)

// Open reads a plugin and checks it against the contract: the manifest, its kind and the
// entry point. It keeps code. It fails with a [problem.InvalidPlugin].
func Open(code []byte) (*Package, error) {
	m, err := module.Parse(code)
	if err != nil {
		fault, remedy := module.Explain(err)
		return nil, refuse(remedy, "the file cannot be used as a plugin: %s", fault)
	}
	raw, ok := m.Custom(manifest.Section)
	if !ok {
		return nil, refuse(`build it with "sluice plugin build", which puts plugin.json there`, "the module has no section %s, or more than one", manifest.Section)
	}
	man, err := manifest.Parse(raw)
	if err != nil {
		return nil, err
	}
	p := &Package{Manifest: man, Module: m, Code: code, replaced: &replaced{}}
	entry := p.Entry()
	if entries[man.Kind] == "" {
		return nil, refuse("this version of Sluice runs third-party plugins of the kinds filter, projection, auth and workflow", "the module is a %s", man.Kind)
	}
	shapes := man.Kind == manifest.Filter || man.Kind == manifest.Projection
	p.NoAnswers = shapes && !exports(m, entry)
	p.Errors, p.Arguments = shapes && exports(m, ErrorEntry), shapes && exports(m, ArgumentsEntry)
	if !exports(m, entry) && (man.Entry != "" || !p.Errors && !p.Arguments) {
		return nil, refuse(exported(m), "the function %s is not exported, which a plugin of kind %s has unless entry in its manifest names another", entry, man.Kind)
	}
	if name := misshapen(m, entry, ErrorEntry, ArgumentsEntry); name != "" {
		return nil, refuse("give it the signature () -> i32: what it gets comes by the host's functions", "the function %s takes parameters, or returns something else than an i32", name)
	}
	if reads, said := man.ReadsErrors(); said && !reads && p.Errors {
		return nil, refuse("export it no more, or take input.errors out of plugin.json", "input.errors of its manifest is false, and it exports %s", ErrorEntry)
	}
	if man.Tool != nil {
		if err := checkOffered(man.Tool); err != nil {
			return nil, refuse("correct tool in plugin.json and build it again", "the tool that it offers cannot be served: %v", err)
		}
	}
	sum := sha256.Sum256(code)
	p.Digest = "sha256:" + hex.EncodeToString(sum[:])
	return p, nil
}

// CheckCode looks into the functions of the module, which [Open] does not: it finds the
// extensions of WebAssembly that their instructions need, and what compiling refuses. It
// fails with a [problem.InvalidPlugin].
func (p *Package) CheckCode() error {
	if _, err := module.Meter(nil, p.Code); err != nil {
		fault, remedy := module.Explain(err)
		return refuse(remedy, "the file cannot be used as a plugin: %s", fault)
	}
	return nil
}

func exports(m *module.Module, name string) bool {
	e, ok := m.Export(name)
	return ok && e.Kind == module.Func
}

// misshapen names an exported function that the gateway would call and cannot; "": none.
func misshapen(m *module.Module, names ...string) string {
	for _, name := range names {
		e, ok := m.Export(name)
		if !ok || e.Kind != module.Func {
			continue
		}
		t, ok := m.FuncType(e.Index)
		if ok && (len(t.Params) > 0 || len(t.Results) > 1 || len(t.Results) == 1 && t.Results[0] != module.I32 && t.Results[0] != module.I64) {
			return name
		}
	}
	return ""
}

// exported says which functions of a module could be the entry point.
func exported(m *module.Module) string {
	const most = 8
	var names []string
	for _, e := range m.Exports {
		if t, ok := m.FuncType(e.Index); e.Kind != module.Func || !ok || len(t.Params) > 0 || len(t.Results) > 1 || strings.HasPrefix(e.Name, "_") {
			continue
		}
		if len(names) == most {
			names = append(names, "…")
			break
		}
		names = append(names, fmt.Sprintf("%.40q", e.Name))
	}
	if len(names) == 0 {
		return "export a function of that name without parameters that returns an i32; it exports none that could be called"
	}
	return `export a function of that name without parameters that returns an i32, or set "entry" to one of those it exports: ` + strings.Join(names, ", ")
}

// checkOffered refuses schemas that clients or the gateway cannot use.
func checkOffered(t *manifest.OfferedTool) error {
	for name, schema := range map[string]json.RawMessage{"inputSchema": t.InputSchema, "outputSchema": t.OutputSchema} {
		if schema == nil {
			continue
		}
		if _, err := CompileSchema(schema); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	var top struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(t.InputSchema, &top) != nil || top.Type != "object" { // MCP "Tool"
		return errors.New(`inputSchema: its type is not "object"`)
	}
	return nil
}

// Effect is what a filter or projection does to an answer, and the schema of what
// it makes when that is manifest.EffectReplace.
func (p *Package) Effect() (effect string, schema json.RawMessage) {
	if p.Manifest.Output == nil {
		return manifest.EffectSubset, nil
	}
	return p.Manifest.Output.Effect, p.Manifest.Output.Schema
}

// Text reports whether the plugin makes text that is not JSON.
func (p *Package) Text() bool {
	return p.Manifest.Output != nil && p.Manifest.Output.Effect == manifest.EffectText
}

func refuse(remedy, format string, args ...any) error {
	return problem.New(problem.InvalidPlugin, format, args...).Fix("%s", remedy)
}

// Policy is what a node lets plugins be granted: of that, a plugin gets what its binding
// grants ([Options]). The zero value lets them turn input into output within the smallest
// limits.
type Policy struct {
	Clock, Random bool
	AnyHost       bool          // any host may be granted
	Hosts         []string      // else these; "*.example.com" stands for all names below
	Memory        int           // bytes; the most a plugin may ask for. Default: 8 MB
	Deadline      time.Duration // the most a plugin may ask for. Default: 100 ms
	Output        int           // bytes. Default: 16 MB
	// Granted lets a plugin have all of this that it asks for, without a binding.
	Granted bool
}

// NodePolicy is what gateways let plugins be granted.
func NodePolicy() Policy {
	return Policy{Clock: true, Random: true, AnyHost: true, Memory: manifest.MaxMemory, Deadline: manifest.MaxDeadline * time.Millisecond}
}

// AuthorPolicy grants all that a package asks for: for the author's own machine.
func AuthorPolicy(*Package) Policy {
	p := NodePolicy()
	p.Granted = true
	return p
}

// concurrentWorkflows is how many calls of one workflow may run at once: most of
// their time they wait for other servers.
const concurrentWorkflows = 128

// LimitsOf is what a plugin with a manifest runs within: what it asks for, or the
// defaults of the contract.
func LimitsOf(m *manifest.Manifest) extism.Limits {
	l := extism.Limits{Memory: 8 << 20, Deadline: 100 * time.Millisecond}
	if asked := m.Limits; asked != nil {
		if asked.MemoryBytes > 0 {
			l.Memory = asked.MemoryBytes
		}
		if asked.DeadlineMS > 0 {
			l.Deadline = time.Duration(asked.DeadlineMS) * time.Millisecond
		}
	}
	if m.Kind == manifest.Workflow {
		l.Concurrent = concurrentWorkflows
	}
	return l
}

// LimitsWith is [LimitsOf] for a binding that grants given: without a grant a call has
// [manifest.FreeDeadlineMS] at most.
func LimitsWith(m *manifest.Manifest, given *manifest.Grants) extism.Limits {
	l := LimitsOf(m)
	most := manifest.FreeDeadlineMS
	if given != nil {
		most = max(most, given.DeadlineMS)
	}
	l.Deadline = min(l.Deadline, time.Duration(most)*time.Millisecond)
	return l
}

// CheckGrants says what is wrong with what a binding grants: a package is granted only
// what it asks for. It fails with a [problem.InvalidArgument].
func (p *Package) CheckGrants(given *manifest.Grants) error {
	if err := given.Check(); err != nil {
		return problem.New(problem.InvalidArgument, "the grants of plugin %s: %v", p.Manifest.Name, err)
	}
	asks := p.Manifest.Asks()
	if more := given.Beyond(&asks); !more.Empty() {
		return problem.New(problem.InvalidArgument, "plugin %s %s does not ask for %s", p.Manifest.Name, p.Manifest.Version, more.String()).
			Fix("it asks for: %s", asks.String())
	}
	return nil
}

// Check compares what the package asks for with the policy. It fails with a
// [problem.Forbidden] that names everything that is refused.
func (p *Package) Check(policy Policy) error {
	_, _, err := p.grants(policy, nil)
	return err
}

// grants compares what a package asks for with the policy, and gives it what its binding
// grants of that. It fails with a [problem.Forbidden] that names everything that is refused.
func (p *Package) grants(policy Policy, given *manifest.Grants) (extism.Grants, extism.Limits, error) {
	var g extism.Grants
	asked := LimitsOf(p.Manifest)
	asks := p.Manifest.Asks()
	if policy.Granted {
		given = &asks
	} else if given == nil {
		given = &manifest.Grants{}
	}
	l := LimitsWith(p.Manifest, given)
	l.Output = policy.Output
	var refused []string
	if c := p.Manifest.Capabilities; c != nil {
		g = extism.Grants{Clock: c.Clock && given.Clock, Random: c.Random && given.Random}
		g.NoClock, g.NoRandom = c.Clock && !g.Clock, c.Random && !g.Random
		for _, h := range given.Hosts {
			if slices.ContainsFunc(c.Hosts, func(asked string) bool { return manifest.CoversHost(asked, h) }) {
				g.Hosts = append(g.Hosts, h)
			}
		}
		if c.Signing != nil { // it is what binding an auth plugin means
			g.Functions = []string{deriveFunction, signFunction, tokenFunction, fetchFunction}
		}
		if c.Tools != nil { // which tools these are, the binding says
			g.Functions = []string{callFunction}
		}
		if c.Clock && !policy.Clock {
			refused = append(refused, "the real time (clock)")
		}
		if c.Random && !policy.Random {
			refused = append(refused, "randomness (random)")
		}
		for _, h := range c.Hosts {
			if !policy.AnyHost && !slices.Contains(policy.Hosts, h) {
				refused = append(refused, "requests to "+h)
			}
		}
	}
	if asked.Memory > max(policy.Memory, 8<<20) {
		refused = append(refused, "that much memory")
	}
	if asked.Deadline > max(policy.Deadline, 100*time.Millisecond) {
		refused = append(refused, "that much time")
	}
	if len(refused) > 0 {
		return g, l, problem.New(problem.Forbidden, "plugin %s asks for what it is not granted: %s", p.Manifest.Name, strings.Join(refused, ", ")).
			Fix("use a version that asks for less")
	}
	return g, l, nil
}
