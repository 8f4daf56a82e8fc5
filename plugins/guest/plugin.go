package guest

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// Context is what a plugin may ask about the call that it serves (config_get).
type Context struct {
	// Caller is who calls, for the host only: what an instance of the plugin remembers
	// of a caller, no other caller's call can see.
	Caller      string
	Tool        string           // sluice.tool: the tool's name
	Operation   string           // sluice.operation: method and path, or the upstream tool's name
	Status      int              // sluice.status: of the upstream's answer
	ContentType string           // sluice.content_type: of the upstream's answer
	InputType   string           // sluice.input_type: media type of what the plugin gets
	Part        string           // sluice.part: what that is of the answer
	Arguments   []byte           // sluice.arguments: the caller's arguments, a JSON object
	Used        time.Duration    // set by Transform: the processor time that the plugin used
	Requests    []extism.Request // set by Transform: what it had sent
	Keys        *Keys            // of an auth plugin; nil for the others
	Calls       *Calls           // of a workflow; nil for the others
}

func (c *Context) value(key string) (string, bool) {
	switch key {
	case "sluice.tool":
		return c.Tool, true
	case "sluice.operation":
		return c.Operation, true
	case "sluice.status":
		return strconv.Itoa(c.Status), true
	case "sluice.content_type":
		return c.ContentType, true
	case "sluice.input_type":
		return c.InputType, true
	case "sluice.part":
		return c.Part, true
	case "sluice.arguments":
		return string(c.Arguments), true
	}
	return "", false
}

// Waited is how long the plugin waited for tools and hosts: no time of its own.
func (c *Context) Waited() time.Duration {
	waited := c.Calls.Waited()
	for i := range c.Requests {
		waited += c.Requests[i].Took
	}
	return waited
}

// Plugin is a package that was loaded with one configuration.
type Plugin struct {
	p      *extism.Plugin
	entry  string
	errors bool // it has a function of its own for errors
	tokens tokens
}

// Options of [Load].
type Options struct {
	Policy Policy
	// Config is the plugin's configuration, a JSON object; nil for none.
	Config json.RawMessage
	// Grants are what its binding grants of what it asks for. Default: nothing.
	Grants *manifest.Grants
	// Toolset is whose calls wait for each other; see [extism.Spec].
	Toolset string
	// Log takes what the plugin logs. Default: the host's logger.
	Log func(level int, message string)
	// HTTP sends its requests instead of the host's, and Now is the time of its clock, whose
	// random numbers are the same each time then: for golden cases. Default: the host's, and
	// what is real.
	HTTP extism.Doer
	Now  func() time.Time
}

// Load makes a package ready to be called with a configuration: what it asks for is
// compared with the policy and the configuration with its schema. It fails with a
// [problem.Forbidden], [problem.InvalidArgument] or [problem.InvalidPlugin]. Close
// the plugin when done.
func Load(h *extism.Host, p *Package, o Options) (*Plugin, error) {
	g, l, err := p.grants(o.Policy, o.Grants)
	if err != nil {
		return nil, err
	}
	config, err := p.config(o.Config)
	if err != nil {
		return nil, err
	}
	if o.Now != nil {
		g.Random, g.NoRandom = false, false
	}
	e, err := h.Load(extism.Spec{Name: p.Manifest.Name, Share: o.Toolset, Code: p.Code, Grants: g, Limits: l, Config: config, Log: o.Log, HTTP: o.HTTP, Now: o.Now})
	if err != nil {
		return nil, err
	}
	return &Plugin{p: e, entry: p.Entry(), errors: p.Errors}, nil
}

// CheckModule does with the package what a host does before its first call: it loads the
// module, compiles it and starts an instance, which finds what [Package.CheckCode] does not:
// imports that the host does not offer, instructions that do not fit together, segments beyond
// a table or a memory. It fails with a [problem.InvalidPlugin], or when starting it fails as
// [Plugin.Transform] would. A package that needs a configuration is not started without one.
func (p *Package) CheckModule(ctx context.Context, h *extism.Host) error {
	g, l, err := p.grants(AuthorPolicy(p), nil)
	if err != nil {
		return err
	}
	config, unset := p.config(nil)
	e, err := h.Load(extism.Spec{Name: p.Manifest.Name, Code: p.Code, Grants: g, Limits: l, Config: config})
	if err != nil {
		return err //nolint:wrapcheck // it says what is wrong with the module
	}
	defer e.Close()
	if err := e.Compile(ctx); err != nil || unset != nil {
		return err //nolint:wrapcheck // as above
	}
	i, err := e.Instance(ctx)
	if err != nil {
		return err //nolint:wrapcheck // as above
	}
	i.Close(ctx)
	return nil
}

// CheckConfig validates a configuration, a JSON object or nothing, against the
// package's schema. It fails with a [problem.InvalidArgument].
func (p *Package) CheckConfig(raw json.RawMessage) error {
	_, err := p.config(raw)
	return err
}

// config checks a configuration and returns its members as text: strings as they
// are, other values as JSON; all of it as "sluice.config".
func (p *Package) config(raw json.RawMessage) (map[string]string, error) {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	bad := func(err error) error {
		return problem.New(problem.InvalidArgument, "the configuration of plugin %s is not valid: %v", p.Manifest.Name, err).
			Fix(`"sluice plugin inspect" shows the schema of its configuration`)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, bad(errors.New("it is not a JSON object"))
	}
	if p.Manifest.Config == nil && len(members) > 0 {
		return nil, bad(errors.New("the plugin has none"))
	}
	if p.Manifest.Config != nil {
		if err := validate(p.Manifest.Config, raw); err != nil {
			return nil, bad(err)
		}
	}
	config := make(map[string]string, len(members)+1)
	for name, v := range members {
		var s string
		if json.Unmarshal(v, &s) != nil || v[0] != '"' {
			s = string(v)
		}
		config[name] = s
	}
	config["sluice.config"] = string(raw)
	return config, nil
}

// Compile makes the first call as fast as the others.
func (p *Plugin) Compile(ctx context.Context) error { return p.p.Compile(ctx) }

// Transform runs the plugin's entry point on in and appends its output to dst. It
// keeps none of its arguments. Errors are those of [extism.Plugin.Call]; dst is then
// as it was.
func (p *Plugin) Transform(ctx context.Context, dst, in []byte, c *Context) ([]byte, error) {
	c.Requests = c.Requests[:0]
	call := extism.Call{Export: p.entry, Input: in, Owner: c.Caller, Used: &c.Used, Config: c.value, Requests: &c.Requests}
	switch {
	case c.Part == PartArguments:
		call.Export = ArgumentsEntry
	case c.Part == PartError && p.errors:
		call.Export = ErrorEntry
	}
	switch {
	case c.Keys != nil:
		c.Keys.tokens = &p.tokens
		call.Data = c.Keys
	case c.Calls != nil:
		call.Data = c.Calls
	}
	return p.p.Call(ctx, dst, call)
}

// Rest frees what waits for calls but the compiled code; see [extism.Plugin.Rest].
func (p *Plugin) Rest() { p.p.Rest() }

// Stats counts the calls so far.
func (p *Plugin) Stats() extism.Stats { return p.p.Stats() }

// Close frees the plugin; running calls end first.
func (p *Plugin) Close() { p.p.Close() }
