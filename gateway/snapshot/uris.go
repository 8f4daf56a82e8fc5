package snapshot

import (
	"regexp"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/plugins/manifest"
)

// ForeignScheme begins a URI of a server in a toolset of several, where the server's own
// would be taken for one of another: ForeignScheme, the name of the connector, ":" and
// the server's URI.
const ForeignScheme = "sluice+"

func foreign(b *Binding, uri string) string { return ForeignScheme + b.Name + ":" + uri }

// Resource finds what reads a URI as clients know it, and the URI as its server does;
// nil: nothing does.
func (ts *Toolset) Resource(uri string) (*Tool, string, error) {
	if err := ts.items.made.do(ts.makeItems); err != nil {
		return nil, "", err
	}
	t, own := ts.items.resolve(uri)
	return t, own, nil
}

func (in *items) resolve(uri string) (*Tool, string) {
	if t := in.uris[uri]; t != nil {
		return t, t.Item.Key
	}
	if rest, ok := strings.CutPrefix(uri, ForeignScheme); ok {
		name, own, _ := strings.Cut(rest, ":")
		for _, s := range in.servers {
			if s.binding.Name == name {
				return s.read(own), own
			}
		}
	}
	for _, s := range in.servers {
		for _, t := range s.templates {
			if t.Item.Name == t.Item.Key && !s.hidden[uri] && t.Item.pattern.match(uri) {
				return t, uri
			}
		}
	}
	if len(in.servers) == 1 {
		return in.servers[0].read(uri), uri
	}
	return nil, ""
}

// Reader is what reads whatever the server of a connector has to read; nil: it has nothing.
func (ts *Toolset) Reader(connector string) (*Tool, error) {
	if err := ts.items.made.do(ts.makeItems); err != nil {
		return nil, err
	}
	for _, s := range ts.items.servers {
		if s.binding.Name == connector {
			return s.open, nil
		}
	}
	return nil, nil //nolint:nilnil // there is none
}

// Hearer returns a tool or what reads of the server of a connector, in whose name what the
// server says outside of calls is listened to; nil: clients must not hear it, because
// something has to see all that the server says, or all callers share a session there.
func (ts *Toolset) Hearer(connector string) (*Tool, error) {
	tool, err := ts.Reader(connector)
	if tool == nil && err == nil {
		var all []*Tool
		all, err = ts.Tools()
		if i := slices.IndexFunc(all, func(t *Tool) bool { return t.Binding != nil && t.Binding.Name == connector }); i >= 0 {
			tool = all[i]
		}
	}
	if err != nil || tool == nil || !tool.Speaks() {
		return nil, err
	}
	return tool, nil
}

// Speaks reports whether what the tool's server says outside of calls may reach clients.
// One of 2026-07-28 alone says nothing; whether it has another revision too is found out.
func (t *Tool) Speaks() bool {
	how := t.Binding.Connector.MCP()
	return how != nil && !t.Binding.stateless && !t.Toolset.withholds(t.Binding)
}

// Subscribes reports whether the tool's server reports changes of its resources.
func (t *Tool) Subscribes() bool {
	for _, s := range t.Toolset.items.servers {
		if s.binding == t.Binding {
			return s.tells
		}
	}
	return false
}

// Template finds a resource template by the URI template that clients know; nil: there
// is none.
func (ts *Toolset) Template(uriTemplate string) *Tool {
	for _, t := range ts.items.all[manifest.Templates] {
		if t.Item.Name == uriTemplate {
			return t
		}
	}
	return nil
}

// ForeignURIs reports whether URIs in results of the tool's server may have to be
// changed for clients.
func (t *Tool) ForeignURIs() bool {
	ts := t.Toolset
	return t.Binding != nil && len(ts.Bindings) > 1 && ts.items.made.do(ts.makeItems) == nil && len(ts.items.servers) > 1
}

// PublicURI is how clients know a URI that the tool's server named: the server's own
// where that leads to this server, else one that does.
func (t *Tool) PublicURI(own string) string {
	in := &t.Toolset.items
	for _, s := range in.servers {
		if s.binding != t.Binding {
			continue
		}
		if r := s.resources[own]; r != nil {
			return r.Item.Name
		}
		if r, _ := in.resolve(own); r != nil && r.Binding == t.Binding {
			return own
		}
		return foreign(t.Binding, own)
	}
	return own // the server has nothing to read
}

// template is a URI template (RFC 6570), as far as it says which URIs are of it.
type template struct {
	uri     string
	literal string // in front of the first expression
	whole   *regexp.Regexp
}

// newTemplate reads a URI template. One that cannot be read is that of no URI.
func newTemplate(uri string) *template {
	t := &template{uri: uri}
	var b strings.Builder
	b.WriteString(`^`)
	rest := uri
	for first := true; ; first = false {
		before, after, found := strings.Cut(rest, "{")
		if first {
			t.literal = before
		}
		b.WriteString(regexp.QuoteMeta(before))
		if !found {
			break
		}
		expression, tail, closed := strings.Cut(after, "}")
		if !closed || expression == "" {
			return t
		}
		switch expression[0] {
		case '?', '&', '#', ';', '.': // may be nothing
			b.WriteString(`(?:` + regexp.QuoteMeta(expression[:1]) + `.*)?`)
		case '+', '/':
			b.WriteString(`.*`)
		default:
			if strings.HasSuffix(expression, "*") {
				b.WriteString(`.*`)
			} else {
				b.WriteString(`[^/?#]*`)
			}
		}
		rest = tail
	}
	b.WriteString(`$`)
	t.whole, _ = regexp.Compile(`(?s)` + b.String())
	return t
}

func (t *template) match(uri string) bool {
	return t.whole != nil && strings.HasPrefix(uri, t.literal) && t.whole.MatchString(uri)
}

// overlaps reports whether a URI may be of both templates.
func (t *template) overlaps(o *template) bool {
	return strings.HasPrefix(t.literal, o.literal) || strings.HasPrefix(o.literal, t.literal)
}
