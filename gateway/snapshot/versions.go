package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// Versions names the lists of a toolset as they are now: tools, prompts, and resources with
// their templates. The same names on every node are the same lists.
type Versions string

// Versions are those of the lists. Tools have another version with every revision; prompts
// and resources only when their own list is another.
func (ts *Toolset) Versions() Versions {
	in := &ts.items
	if in.made.do(ts.makeItems) != nil {
		d := string(ts.Digest)
		return Versions(d + "\x00" + d + "\x00" + d)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.versions == "" {
		in.versions = Versions(string(ts.Digest) + "\x00" + in.version(manifest.Prompts) + "\x00" + in.version(manifest.Resources, manifest.Templates))
	}
	return in.versions
}

// version names what is listed of some kinds; "": nothing is.
func (in *items) version(kinds ...manifest.ItemKind) string {
	h, n := sha256.New(), 0
	for _, kind := range kinds {
		for _, t := range in.all[kind] {
			n++
			_, _ = h.Write(append(t.appendItem(nil), '\n')) // it never fails
		}
		_, _ = h.Write([]byte{0})
	}
	if n == 0 {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Changed are the lists that differ from those that were before; of none, if nothing is
// known of them.
func (v Versions) Changed(before Versions) mcp.Lists {
	if before == "" || v == before {
		return 0
	}
	var changed mcp.Lists
	now, then := v.parts(), before.parts()
	for i, list := range [...]mcp.Lists{mcp.ListTools, mcp.ListPrompts, mcp.ListResources} {
		if now[i] != then[i] {
			changed |= list
		}
	}
	return changed
}

func (v Versions) parts() (p [3]string) {
	rest := string(v)
	p[0], rest, _ = strings.Cut(rest, "\x00")
	p[1], p[2], _ = strings.Cut(rest, "\x00")
	return p
}
