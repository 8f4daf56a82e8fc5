package declare

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/registry"
)

// View is a toolset as a plan compares it: documents by their digest, and no secrets.
func (t *DeclaredToolset) View() any {
	c := t.Normal()
	if c.Source != nil {
		c.Source = c.Source.View()
		c.Authentication = viewAuth(c.Authentication)
	}
	c.Connectors = slices.Clone(c.Connectors)
	for i := range c.Connectors {
		p := &c.Connectors[i]
		p.Source, p.Authentication = *p.Source.View(), viewAuth(p.Authentication)
	}
	if c.Access != nil && c.Access.Mode == registry.AccessNone && c.Access.Limits == nil {
		c.Access = nil
	}
	if c.Selection != nil && c.Selection.Mode == registry.SelectAll && c.Selection.UseCase == "" && len(c.Selection.Examples) == 0 && !c.Selection.Learn && !c.Selection.Batch {
		c.Selection = nil
	}
	return Plain(c)
}

// Plain is a value as JSON has it, for [Differences].
func Plain(v any) any {
	var out any
	d := json.NewDecoder(strings.NewReader(store.JSON(v)))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		panic("BUG: a declaration cannot be read: " + err.Error())
	}
	return out
}

// View is a source with digests in the place of documents.
func (in *DeclaredSource) View() *DeclaredSource {
	c := *in
	digest := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "sha256:" + hex.EncodeToString(sum[:])
	}
	c.Digest = ""
	if c.Document != "" {
		c.Document = digest(c.Document)
	}
	c.Files = maps.Clone(c.Files)
	for name, text := range c.Files {
		c.Files[name] = digest(text)
	}
	c.Overlays = slices.Clone(c.Overlays)
	for i := range c.Overlays {
		c.Overlays[i].Document = digest(c.Overlays[i].Document)
	}
	return &c
}

func viewAuth(list []DeclaredAuth) []DeclaredAuth {
	out := make([]DeclaredAuth, len(list))
	for i := range list {
		out[i] = DeclaredAuth{AuthItem: list[i].Public()}
	}
	return out
}
