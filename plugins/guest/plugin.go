package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/extism"
)

// Context is what a plugin may ask about the call that it serves (config_get).
type Context struct {
	Tool        string // sluice.tool: the tool's name
	Operation   string // sluice.operation: method and path, or the upstream tool's name
	Status      int    // sluice.status: of the upstream's answer
	ContentType string // sluice.content_type: of the upstream's answer
	Arguments   []byte // sluice.arguments: the caller's arguments, a JSON object
	Keys        *Keys  // of an auth plugin; nil for the others
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
	e, err := h.Load(extism.Spec{Name: p.Manifest.Name, Code: p.Code, Grants: g, Limits: l, Config: config, Log: o.Log})
	if err != nil {
		return nil, err
	}
	return &Plugin{p: e, entry: entries[p.Manifest.Kind]}, nil
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

func validate(schema, doc []byte) error {
	s, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return errors.New("its schema is not JSON")
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // a schema of a plugin loads nothing
	if err := c.AddResource("config.json", s); err != nil {
		return errors.New("its schema cannot be used")
	}
	compiled, err := c.Compile("config.json")
	if err != nil {
		return errors.New("its schema cannot be used")
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return errors.New("it is not JSON")
	}
	err = compiled.Validate(v)
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return faultsOf(invalid)
	}
	return err
}

// faultsOf names the faults alone: the library's own text begins with the address
// it made up for the schema.
func faultsOf(err *jsonschema.ValidationError) error {
	var lines []string
	var visit func(*jsonschema.ValidationError)
	visit = func(e *jsonschema.ValidationError) {
		for _, c := range e.Causes {
			visit(c)
		}
		if len(e.Causes) > 0 || len(lines) == maxFaults {
			return
		}
		at := "/" + strings.Join(e.InstanceLocation, "/")
		lines = append(lines, at+": "+e.ErrorKind.LocalizedString(english))
	}
	visit(err)
	return errors.New(strings.Join(lines, "; "))
}

// maxFaults of a configuration that are named: enough to see the pattern.
const maxFaults = 8

var english = message.NewPrinter(language.English)

// Compile makes the first call as fast as the others.
func (p *Plugin) Compile(ctx context.Context) error { return p.p.Compile(ctx) }

// Transform runs the plugin's entry point on in and appends its output to dst. It
// keeps none of its arguments. Errors are those of [extism.Plugin.Call]; dst is then
// as it was.
func (p *Plugin) Transform(ctx context.Context, dst, in []byte, c *Context) ([]byte, error) {
	call := extism.Call{Export: p.entry, Input: in, Config: c.value}
	if c.Keys != nil {
		call.Data = c.Keys
	}
	return p.p.Call(ctx, dst, call)
}

// Stats counts the calls so far.
func (p *Plugin) Stats() extism.Stats { return p.p.Stats() }

// Close frees the plugin; running calls end first.
func (p *Plugin) Close() { p.p.Close() }
