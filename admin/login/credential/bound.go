package credential

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// Bound is where a credential may be sent, as its record has it
// (docs/adr/0010-credentials-are-bound-to-origins.md).
type Bound struct {
	// Call are the origins of requests that carry it.
	Call registry.Origins `json:"call"`
	// Token are the origins that the secret of an OAuth client and its tokens are sent
	// to; none: nothing was sent yet. The first request decides.
	Token registry.Origins `json:"token,omitempty"`
}

// Text is what is stored.
func (b *Bound) Text() string {
	if b.Call == nil {
		b.Call = registry.Origins{}
	}
	return store.JSON(b)
}

// ParseBound reads the origins of a record; known is false for one from before they
// were kept.
func ParseBound(row *store.Credential) (b Bound, known bool, err error) {
	if row.Origins == "" {
		return b, false, nil
	}
	if err := json.Unmarshal([]byte(row.Origins), &b); err != nil {
		return b, false, fmt.Errorf("reading the origins of credential %s: %w", row.ID, err)
	}
	return b, true, nil
}

// Calls is where the requests of one connector of a bundle go.
type Calls struct {
	Connector   string
	Base        string           // origin of the base URL; "": nobody says
	keyed       registry.Origins // of operations with servers of their own that want a credential
	elsewhere   registry.Origins // and of all such operations
	Credentials []string
}

// Uses reports whether requests carry a credential.
func (c *Calls) Uses(credential string) bool { return slices.Contains(c.Credentials, credential) }

// Wanted are the origins that get a credential.
func (c *Calls) Wanted() registry.Origins {
	if c.Base == "" {
		return c.keyed
	}
	return c.keyed.With(c.Base)
}

// all are the origins that requests go to.
func (c *Calls) all() registry.Origins {
	if c.Base == "" {
		return c.elsewhere
	}
	return c.elsewhere.With(c.Base)
}

// CallsOf says where requests of a connector go; baseURL is what the toolset sets in the
// place of the specification's servers.
func CallsOf(name, baseURL string, g *toolset.Generated) Calls {
	c := Calls{Connector: name}
	if baseURL != "" {
		c.Base, _ = registry.OriginOf(baseURL) // one that is none is called nowhere
		return c
	}
	c.Base, c.keyed, c.elsewhere = g.Base, g.Keyed, g.Elsewhere
	return c
}

// OriginsOf are the origins of addresses; those that have none are left out.
func OriginsOf(addresses ...string) registry.Origins {
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

// NonNil is an empty list in the place of none, for answers.
func NonNil(o registry.Origins) registry.Origins {
	if o == nil {
		return registry.Origins{}
	}
	return o
}

// WhyWaits says for people that addresses must be confirmed.
func WhyWaits(changes []OriginChange) string {
	texts := make([]string, len(changes))
	for i := range changes {
		c := &changes[i]
		from, to := registry.Origins(c.From), registry.Origins(c.New)
		texts[i] = fmt.Sprintf("the credential of %s is for %s, and calls would take it to %s", c.Connector, from, to)
	}
	return strings.Join(texts, "; ")
}

// Refused is the error of sending a credential to a new address.
func Refused(slug string, changes []OriginChange) error {
	var all registry.Origins
	for i := range changes {
		all = all.With(changes[i].New...)
	}
	return problem.New(problem.Conflict, "%s", WhyWaits(changes)).
		Fix("an administrator confirms the new address: sluice toolset origins %s --confirm %s   or somebody who has the secret sets it again: sluice toolset auth %s",
			slug, strings.Join(all, ","), slug)
}

// Why says why the change waits.
func (c *OriginChange) Why() string {
	if len(c.New) == 0 {
		return "calls would go to another address: " + c.String()
	}
	return WhyWaits([]OriginChange{*c})
}

// Moved says how another version of a connector sends requests elsewhere; nil: it does
// not.
func Moved(name, baseURL string, old, next *toolset.Generated) *OriginChange {
	from, to := CallsOf(name, baseURL, old), CallsOf(name, baseURL, next)
	return Movement(&from, &to)
}

// Movement says how requests of a connector go elsewhere than before; nil: they do not.
func Movement(from, to *Calls) *OriginChange {
	if from.all().Missing(to.all()) == nil {
		return nil
	}
	return &OriginChange{Connector: to.Connector, From: NonNil(from.all()), To: NonNil(to.all())}
}

// Host is the host of an address with its port.
func Host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Host
}

// Hostname is the host of an address without its port.
func Hostname(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Hostname()
}
