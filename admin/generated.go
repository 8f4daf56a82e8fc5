package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/sluicegate/sluice/admin/plugin"
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

// generated is a connector's tools as generated, before any toolset edits them.
type generated struct {
	digest string // of the stored version; "": it is not stored
	opened *connector.Connector
	tools  []generatedTool
	byOp   map[Operation]int
	// base is the origin of the first server that is a whole address, elsewhere are
	// those of operations that have other servers, with and without a credential;
	// "" and none: nobody says.
	base      string
	elsewhere registry.Origins
	keyed     registry.Origins // those of elsewhere whose operations want a credential
}

type generatedTool struct {
	name, title, description string
	method, path             string
	annotations              plugin.Annotations
	input, output            json.RawMessage
	schemaTokens             int
	secured                  bool // cannot be called without authentication
	schemes                  []string
}

// generate lists the tools of an opened connector.
func generate(c *connector.Connector) (*generated, error) {
	g := &generated{opened: c, tools: make([]generatedTool, 0, c.Len()), byOp: make(map[Operation]int, c.Len())}
	g.base = originOfServers(c.Servers())
	for i := range c.Len() {
		h, err := c.Tool(i) // compiles the plan too: a tool that cannot be called is not stored
		if err != nil {
			return nil, fmt.Errorf("reading tool %d of connector %s: %w", i, c.Name(), err)
		}
		security := c.Security()
		if h.Security != nil {
			security = h.Security
		}
		t := generatedTool{
			name: h.Name, title: h.Title, description: h.Description, method: h.Method, path: h.Path,
			annotations: plugin.Annotations{
				ReadOnly: h.Annotations.ReadOnly, Destructive: h.Annotations.Destructive,
				Idempotent: h.Annotations.Idempotent, OpenWorld: h.Annotations.OpenWorld,
			},
			input: h.InputSchema, output: h.OutputSchema, schemaTokens: tokens.Estimate(h.InputSchema), secured: len(security) > 0,
		}
		seen := map[string]bool{}
		for _, alternative := range security {
			t.secured = t.secured && len(alternative) > 0
			for _, id := range alternative {
				if !seen[id] {
					seen[id] = true
					t.schemes = append(t.schemes, id)
				}
			}
		}
		g.byOp[Operation{Method: t.method, Path: t.path}] = i
		g.tools = append(g.tools, t)
		if at := originOfServers(h.Servers); at != "" && at != g.base {
			g.elsewhere = g.elsewhere.With(at)
			if len(security) > 0 && c.HasSchemes() {
				g.keyed = g.keyed.With(at)
			}
		}
	}
	return g, nil
}

// openConnectors opens connectors of the registry and keeps those that were used last.
// They are immutable and named by their content.
type openConnectors struct {
	publisher *publish.Publisher

	mu   sync.Mutex
	list []*generated // guarded by mu; the last used one is at the end
}

// newConnectors opens the connectors that a publisher pushed.
func newConnectors(p *publish.Publisher) *openConnectors { return &openConnectors{publisher: p} }

// open returns the tools of a version of a connector.
func (c *openConnectors) open(ctx context.Context, v *store.ConnectorVersion) (*generated, error) {
	if g := c.kept(v.Digest); g != nil {
		return g, nil
	}
	opened, err := c.publisher.Open(ctx, v.Repository, registry.Digest(v.Manifest))
	if err != nil {
		return nil, fmt.Errorf("opening connector %s: %w", v.Connector, err)
	}
	g, err := generate(opened)
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

func (c *openConnectors) kept(digest string) *generated {
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

// serverURL is a server's address with its variables at their defaults.
func serverURL(srv operation.Server) string {
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
		at := serverURL(srv)
		if strings.ContainsAny(at, "{}") {
			continue
		}
		if origin, err := registry.OriginOf(at); err == nil {
			return origin
		}
	}
	return ""
}

func (g *generatedTool) takes(name string) bool {
	h := connector.Head{InputSchema: g.input}
	return h.Takes(name)
}

// shown is the input schema of a tool without what is fixed.
func (g *generatedTool) shown(fixed registry.Fixed) json.RawMessage {
	h := connector.Head{InputSchema: g.input}
	return h.Fix(fixed).InputSchema
}
