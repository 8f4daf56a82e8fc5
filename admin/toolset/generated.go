package toolset

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

// keptConnectors is how many opened connectors are kept: what one operator works
// on. The largest known one has 10 MB.
const keptConnectors = 16

// Generated is a connector's tools as generated, before any toolset edits them.
type Generated struct {
	digest string // of the stored version; "": it is not stored
	Opened *connector.Connector
	Tools  []GeneratedTool
	ByOp   map[Operation]int
	// base is the origin of the first server that is a whole address, elsewhere are
	// those of operations that have other servers, with and without a credential;
	// "" and none: nobody says.
	Base      string
	Elsewhere registry.Origins
	Keyed     registry.Origins // those of elsewhere whose operations want a credential
	// Together has, for each security scheme, those that every requirement with it names too:
	// one is of no use without the others.
	Together map[string][]string
}

// GeneratedTool is a tool of a connector without edits.
type GeneratedTool struct {
	connector.Head
	SchemaTokens int
	Secured      bool // cannot be called without authentication
	Schemes      []string
}

// Generate lists the tools of an opened connector.
func Generate(c *connector.Connector) (*Generated, error) {
	g := &Generated{Opened: c, Tools: make([]GeneratedTool, 0, c.Len()), ByOp: make(map[Operation]int, c.Len()), Together: map[string][]string{}}
	g.Base = originOfServers(c.Servers())
	for i := range c.Len() {
		h, err := c.Tool(i) // compiles the plan too: a tool that cannot be called is not stored
		if err != nil {
			return nil, fmt.Errorf("reading tool %d of connector %s: %w", i, c.Name(), err)
		}
		security := c.Security()
		if h.Security != nil {
			security = h.Security
		}
		t := GeneratedTool{Head: h.Head, SchemaTokens: tokens.Estimate(h.InputSchema), Secured: len(security) > 0}
		seen := map[string]bool{}
		for _, alternative := range security {
			t.Secured = t.Secured && len(alternative) > 0
			g.need(alternative)
			for _, id := range alternative {
				if !seen[id] {
					seen[id] = true
					t.Schemes = append(t.Schemes, id)
				}
			}
		}
		g.ByOp[Operation{Method: t.Method, Path: t.Path}] = i
		g.Tools = append(g.Tools, t)
		if at := originOfServers(h.Servers); at != "" && at != g.Base {
			g.Elsewhere = g.Elsewhere.With(at)
			if len(security) > 0 && c.HasSchemes() {
				g.Keyed = g.Keyed.With(at)
			}
		}
	}
	return g, nil
}

// need keeps what a requirement says of schemes that go together.
func (g *Generated) need(schemes []string) {
	for _, id := range schemes {
		with, known := g.Together[id]
		if !known {
			with = slices.DeleteFunc(slices.Clone(schemes), func(s string) bool { return s == id })
		} else {
			with = slices.DeleteFunc(with, func(s string) bool { return !slices.Contains(schemes, s) })
		}
		g.Together[id] = with
	}
}

// Connectors opens connectors of the registry and keeps those that were used last.
// They are immutable and named by their content.
type Connectors struct {
	publisher *publish.Publisher

	mu   sync.Mutex
	list []*Generated // guarded by mu; the last used one is at the end
}

// NewConnectors opens the connectors that a publisher pushed.
func NewConnectors(p *publish.Publisher) *Connectors { return &Connectors{publisher: p} }

// Open returns the tools of a version of a connector.
func (c *Connectors) Open(ctx context.Context, v *store.ConnectorVersion) (*Generated, error) {
	if g := c.kept(v.Digest); g != nil {
		return g, nil
	}
	opened, err := c.publisher.Open(ctx, v.Repository, registry.Digest(v.Manifest))
	if err != nil {
		return nil, fmt.Errorf("opening connector %s: %w", v.Connector, err)
	}
	g, err := Generate(opened)
	if err != nil {
		return nil, err
	}
	g.digest = v.Digest
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.list) == keptConnectors {
		c.list = c.list[1:]
	}
	c.list = append(c.list, g)
	return g, nil
}

func (c *Connectors) kept(digest string) *Generated {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, g := range c.list {
		if g.digest == digest {
			c.list = append(append(c.list[:i:i], c.list[i+1:]...), g)
			return g
		}
	}
	return nil
}

// ServerURL is a server's address with its variables at their defaults.
func ServerURL(srv operation.Server) string {
	u := srv.URL
	for _, v := range srv.Variables {
		u = strings.ReplaceAll(u, "{"+v.Name+"}", v.Default)
	}
	return u
}

// originOfServers is the origin of the first server that is a whole address, its
// variables filled in with their defaults, as the gateway chooses it; "": there is none.
func originOfServers(servers []operation.Server) string {
	for _, srv := range servers {
		at := ServerURL(srv)
		if strings.ContainsAny(at, "{}") {
			continue
		}
		if origin, err := registry.OriginOf(at); err == nil {
			return origin
		}
	}
	return ""
}
