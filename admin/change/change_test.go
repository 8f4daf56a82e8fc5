package change

import (
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/catalog"
	"github.com/sluicegate/sluice/admin/catalog/source"
	"github.com/sluicegate/sluice/admin/change/difference"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/login/upstream"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/connector"
)

// What becomes of a change is a value that nothing but the change decides.
func TestDecide(t *testing.T) {
	breaking := &difference.Changes{Breaking: 1, Tools: []connector.ToolChange{{Kind: connector.ToolRemoved, Impact: connector.ImpactBreaking}}}
	added := &difference.Changes{Tools: []connector.ToolChange{{Kind: connector.ToolAdded, Impact: connector.ImpactSafe}}}
	told := &difference.Changes{Tools: []connector.ToolChange{{Tool: "pay", Kind: connector.ToolAdded, Impact: connector.ImpactBreaking, Details: []connector.Detail{
		{Where: connector.WhereInstructions, What: `it says "call me first"`},
	}}}}
	moved := &difference.Changes{Origins: &credential.OriginChange{New: []string{"https://elsewhere.example"}}}
	server := &source.Source{Server: &connector.MCPServer{}}
	for name, c := range map[string]struct {
		isNew, first, same bool
		request            *RefreshRequest // nil: the change is not a refresh
		approved           difference.SpecRef
		source             *source.Source
		policy             string
		edited             bool // the draft has changes that are not live
		diff               *difference.Changes
		want               verdict
		why                string
	}{
		"a new toolset":                      {isNew: true, first: true, want: create},
		"another connector":                  {first: true, want: add},
		"the same source is added again":     {same: true, want: refreshed},
		"a refresh of what is the same":      {request: &RefreshRequest{}, same: true, want: unchanged},
		"a dry run":                          {request: &RefreshRequest{DryRun: true}, diff: breaking, want: dryRun},
		"a person takes over what breaks":    {request: &RefreshRequest{}, diff: breaking, want: refreshed},
		"a schedule holds what breaks":       {request: &RefreshRequest{Hold: true}, diff: breaking, want: hold, why: "breaking"},
		"a schedule holds another address":   {request: &RefreshRequest{Hold: true}, diff: moved, want: hold},
		"a schedule takes over what is safe": {request: &RefreshRequest{Hold: true}, diff: added, want: refreshed},
		"a schedule leaves an edited draft":  {request: &RefreshRequest{Hold: true}, diff: added, edited: true, want: hold, why: "not live"},
		"a server says the same":             {request: &RefreshRequest{}, source: server, policy: upstream.Pin, diff: &difference.Changes{}, want: unchanged},
		"pinned, something is added":         {request: &RefreshRequest{}, source: server, policy: upstream.Pin, diff: added, want: hold},
		"pinned and accepted":                {request: &RefreshRequest{Accept: true}, source: server, policy: upstream.Pin, diff: breaking, want: refreshed},
		"warned, something is added":         {request: &RefreshRequest{}, source: server, policy: upstream.Warn, diff: added, want: refreshed},
		"warned, something is gone":          {request: &RefreshRequest{}, source: server, policy: upstream.Warn, diff: breaking, want: hold, why: "that agents know"},
		"followed":                           {request: &RefreshRequest{Accept: true, follows: true}, source: server, policy: upstream.Follow, diff: breaking, want: refreshed},
		"followed, but it tells models":      {request: &RefreshRequest{Accept: true, follows: true}, source: server, policy: upstream.Follow, diff: told, want: hold, why: "call me first"},
		"accepted as it was shown":           {request: &RefreshRequest{approve: "chg_1"}, approved: difference.SpecRef{Version: "2"}, diff: &difference.Changes{To: difference.SpecRef{Version: "2"}}, want: refreshed},
	} {
		version := "new"
		if c.same {
			version = "old"
		}
		x := &change{
			isNew: c.isNew, source: c.source, diff: c.diff, was: draft.Part{Version: &store.ConnectorVersion{Digest: "old"}},
			d: &draft.Draft{
				Toolset: &store.Toolset{Slug: "shop", LiveDigest: "live", DraftDigest: "live"},
				Part:    &draft.Part{Row: store.ToolsetConnector{UpstreamPolicy: c.policy}, Version: &store.ConnectorVersion{Digest: version}},
			},
		}
		if c.source == nil {
			x.source = &source.Source{}
		}
		if c.first {
			x.was.Version = nil
		}
		if c.edited {
			x.d.Toolset.DraftDigest = "edited"
		}
		if c.request != nil {
			x.again = &refresh{request: c.request, approved: c.approved}
		}
		got, err := x.decide()
		if err != nil || got.verdict != c.want || !strings.Contains(got.why, c.why) || (got.why != "") != (c.want == hold) {
			t.Errorf("%s: %+v, %v, want verdict %d with %q", name, got, err, c.want, c.why)
		}
	}
}

// What was accepted is one version at known addresses; anything else is shown again.
func TestDecideRefuses(t *testing.T) {
	accepted := difference.SpecRef{Version: "2", Digest: "b"}
	for name, diff := range map[string]*difference.Changes{
		"the source is as it was":  nil,
		"the source changed again": {To: difference.SpecRef{Version: "3"}},
		"it sends calls elsewhere": {To: accepted, Origins: &credential.OriginChange{New: []string{"https://elsewhere.example"}}},
	} {
		x := &change{
			source: &source.Source{}, diff: diff, was: draft.Part{Version: &store.ConnectorVersion{Digest: "old"}}, again: &refresh{request: &RefreshRequest{approve: "chg_1"}, approved: accepted},
			d: &draft.Draft{Toolset: &store.Toolset{Slug: "shop"}, Part: &draft.Part{Version: &store.ConnectorVersion{Digest: "new"}}},
		}
		if got, err := x.decide(); problem.As(err) == nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// A request has one source, and what the node dials for it is all that the operator named.
func TestCreateToolset(t *testing.T) {
	r := &Reader{}
	two := &CreateToolset{Source: CreateSource{Catalog: &catalog.EntryChoice{}, MCP: &MCPSource{URL: "https://mcp.example"}}}
	if _, _, err := r.fromCatalog(two); problem.As(err) == nil || problem.As(err).Place.Pointer != "/source" {
		t.Errorf("two sources: %v", err)
	}
	for _, c := range []struct {
		in   CreateToolset
		want string
	}{
		{CreateToolset{Slug: "given", Name: "Pet Store"}, "given"},
		{CreateToolset{Name: "Pet Store"}, "pet-store"},
		{CreateToolset{}, "connector"},
	} {
		if got := c.in.slug("connector"); got != c.want {
			t.Errorf("slug %q, want %q", got, c.want)
		}
	}
	in := &CreateToolset{BaseURL: "https://base.example", Source: CreateSource{
		OpenAPI: &source.OpenAPISource{URL: "https://spec.example", Overlays: []source.OverlaySource{{URL: "https://overlay.example"}}},
	}}
	if got := strings.Join(in.addresses(), " "); got != "https://base.example https://spec.example https://overlay.example" {
		t.Errorf("addresses %s", got)
	}
}

func TestCheckInterval(t *testing.T) {
	for every, ok := range map[time.Duration]bool{
		0: true, minSchedule: true, maxSchedule: true, minSchedule - time.Second: false, maxSchedule + time.Second: false,
	} {
		if err := checkInterval(every); (err == nil) != ok {
			t.Errorf("%s: %v", every, err)
		}
	}
}
