package admin

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// boundTo is where a credential may be sent, as its record has it
// (docs/adr/0010-credentials-are-bound-to-origins.md).
type boundTo struct {
	// Call are the origins of requests that carry it.
	Call registry.Origins `json:"call"`
	// Token are the origins that the secret of an OAuth client and its tokens are sent
	// to; none: nothing was sent yet. The first request decides.
	Token registry.Origins `json:"token,omitempty"`
}

func (b *boundTo) text() string {
	if b.Call == nil {
		b.Call = registry.Origins{}
	}
	return store.JSON(b)
}

// parseBound reads the origins of a record; known is false for one from before they
// were kept.
func parseBound(row *store.Credential) (b boundTo, known bool, err error) {
	if row.Origins == "" {
		return b, false, nil
	}
	if err := json.Unmarshal([]byte(row.Origins), &b); err != nil {
		return b, false, fmt.Errorf("reading the origins of credential %s: %w", row.ID, err)
	}
	return b, true, nil
}

// calls is where the requests of one connector of a bundle go.
type calls struct {
	connector   string
	base        string           // origin of the base URL; "": nobody says
	keyed       registry.Origins // of operations with servers of their own that want a credential
	elsewhere   registry.Origins // and of all such operations
	credentials []string
}

func (c *calls) uses(credential string) bool { return slices.Contains(c.credentials, credential) }

// wanted are the origins that get a credential.
func (c *calls) wanted() registry.Origins {
	if c.base == "" {
		return c.keyed
	}
	return c.keyed.With(c.base)
}

// all are the origins that requests go to.
func (c *calls) all() registry.Origins {
	if c.base == "" {
		return c.elsewhere
	}
	return c.elsewhere.With(c.base)
}

// callsOf says where requests of a connector go; baseURL is what the toolset sets in the
// place of the specification's servers.
func callsOf(name, baseURL string, g *toolset.Generated) calls {
	c := calls{connector: name}
	if baseURL != "" {
		c.base, _ = registry.OriginOf(baseURL) // one that is none is called nowhere
		return c
	}
	c.base, c.keyed, c.elsewhere = g.Base, g.Keyed, g.Elsewhere
	return c
}

func originsOf(addresses ...string) registry.Origins {
	var out registry.Origins
	for _, a := range addresses {
		if origin, err := registry.OriginOf(a); err == nil {
			out = out.With(origin)
		}
	}
	return out
}

// OriginChange is an address that waits to be confirmed.
type OriginChange struct {
	Connector string   `json:"connector" doc:"Name of the connector in the toolset."`
	From      []string `json:"from" doc:"Scheme, host and port of where calls went, or the credential may be sent."`
	To        []string `json:"to" doc:"And of where they would go."`
	New       []string `json:"new,omitempty" doc:"Those of them that the credential is not for: an administrator must confirm them, or the secret must be given again."`
}

// String is the change in one line.
func (c *OriginChange) String() string {
	from, to := registry.Origins(c.From), registry.Origins(c.To)
	return from.String() + " → " + to.String()
}

func nonNil(o registry.Origins) registry.Origins {
	if o == nil {
		return registry.Origins{}
	}
	return o
}

// whyWaits says for people that addresses must be confirmed.
func whyWaits(changes []OriginChange) string {
	texts := make([]string, len(changes))
	for i := range changes {
		c := &changes[i]
		from, to := registry.Origins(c.From), registry.Origins(c.New)
		texts[i] = fmt.Sprintf("the credential of %s is for %s, and calls would take it to %s", c.Connector, from, to)
	}
	return strings.Join(texts, "; ")
}

// originsRefused is the error of sending a credential to a new address.
func originsRefused(slug string, changes []OriginChange) error {
	var all registry.Origins
	for i := range changes {
		all = all.With(changes[i].New...)
	}
	return problem.New(problem.Conflict, "%s", whyWaits(changes)).
		Fix("an administrator confirms the new address: sluice toolset origins %s --confirm %s   or somebody who has the secret sets it again: sluice toolset auth %s",
			slug, strings.Join(all, ","), slug)
}

// why says why the change waits.
func (c *OriginChange) why() string {
	if len(c.New) == 0 {
		return "calls would go to another address: " + c.String()
	}
	return whyWaits([]OriginChange{*c})
}

// moved says how another version of a connector sends requests elsewhere; nil: it does
// not.
func moved(name, baseURL string, old, next *toolset.Generated) *OriginChange {
	from, to := callsOf(name, baseURL, old), callsOf(name, baseURL, next)
	if from.all().Missing(to.all()) == nil {
		return nil
	}
	return &OriginChange{Connector: name, From: nonNil(from.all()), To: nonNil(to.all())}
}
