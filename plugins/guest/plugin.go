package guest

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/extism"
)

// Context is what a plugin may ask about the call that it serves (config_get).
type Context struct {
	// Caller is who calls, for the host only: what an instance of the plugin remembers
	// of a caller, no other caller's call can see.
	Caller      string
	Tool        string        // sluice.tool: the tool's name
	Operation   string        // sluice.operation: method and path, or the upstream tool's name
	Status      int           // sluice.status: of the upstream's answer
	ContentType string        // sluice.content_type: of the upstream's answer
	InputType   string        // sluice.input_type: media type of what the plugin gets
	Part        string        // sluice.part: what that is of the answer
	Arguments   []byte        // sluice.arguments: the caller's arguments, a JSON object
	Used        time.Duration // set by Transform: the processor time that the plugin used
	Keys        *Keys         // of an auth plugin; nil for the others
	Calls       *Calls        // of a workflow; nil for the others
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

// Plugin is a package that was loaded with one configuration.
type Plugin struct {
	p     *extism.Plugin
	entry string
}

// Options of [Load].
type Options struct {
	Policy Policy
	// Config is the plugin's configuration, a JSON object; nil for none.
	Config json.RawMessage
	// Toolset is whose calls wait for each other; see [extism.Spec].
	Toolset string
	// Log takes what the plugin logs. Default: the host's logger.
	Log func(level int, message string)
}

// Load makes a package ready to be called with a configuration: what it asks for is
// compared with the policy and the configuration with its schema. It fails with a
// [problem.Forbidden], [problem.InvalidArgument] or [problem.InvalidPlugin]. Close
// the plugin when done.
func Load(h *extism.Host, p *Package, o Options) (*Plugin, error) {
	g, l, err := p.grants(o.Policy)
	if err != nil {
		return nil, err
	}
	config, err := p.config(o.Config)
	if err != nil {
		return nil, err
	}
	e, err := h.Load(extism.Spec{Name: p.Manifest.Name, Share: o.Toolset, Code: p.Code, Grants: g, Limits: l, Config: config, Log: o.Log})
	if err != nil {
		return nil, err
	}
	return &Plugin{p: e, entry: p.Entry()}, nil
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
	call := extism.Call{Export: p.entry, Input: in, Owner: c.Caller, Used: &c.Used, Config: c.value}
	switch {
	case c.Keys != nil:
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
