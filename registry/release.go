package registry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
)

// Bounds of a release.
const (
	// MaxReleaseBytes is the size of a release document: 20,000 toolsets of
	// about 800 bytes each.
	MaxReleaseBytes = 16 << 20
	// MaxReleaseToolsets of one group of edges: twice the largest that is tested.
	MaxReleaseToolsets = 20_000
	// MaxTrustedKeys of one release; keys change a few times a year.
	MaxTrustedKeys = 64
	// MaxReleasePlugins of one release.
	MaxReleasePlugins = 4096
)

// Release is the list of everything that is live for one group of edges. It is
// only ever obeyed as the verified payload of a DSSE envelope (package sign).
//
// Releases of a group are ordered by (Epoch, Revision); an edge refuses a lower
// pair and the same pair with other content.
type Release struct {
	FormatVersion int              `json:"formatVersion"` // ReleaseFormat
	Group         string           `json:"group"`         // group of edges, a slug
	Epoch         uint64           `json:"epoch"`         // ≥ 1; raised by a restore from backup
	Revision      uint64           `json:"revision"`      // ≥ 1, grows by one with every release
	Issued        time.Time        `json:"issued"`        // UTC, whole seconds
	Expires       time.Time        `json:"expires"`       // past it edges serve on and warn
	Trusted       []TrustedKey     `json:"trusted"`       // keys that may sign the next release and artifacts; at least one for releases
	Toolsets      []ReleaseToolset `json:"toolsets"`      // sorted by ID; may be empty
	Plugins       []ReleasePlugin  `json:"plugins"`       // sorted by repository and manifest; may be empty
	// Domains of these toolsets and their workspaces, sorted by host. None: the member is
	// absent, so that gateways of a version before domains read the release.
	Domains []ReleaseDomain `json:"domains,omitempty"`
}

// ReleaseFormat is the version of the release document this package reads and writes.
const ReleaseFormat = 1

// Uses of a trusted key.
const (
	UseRelease   = "release"   // signs releases and access documents
	UseWorkspace = "workspace" // signs connectors the control plane generated
	UsePublisher = "publisher" // signs third-party plugins of one workspace
)

// TrustedKey is a public key and what it may sign.
type TrustedKey struct {
	KeyID     string `json:"keyid"`               // lower-case hex SHA-256 of PublicKey's DER
	Use       string `json:"use"`                 // UseRelease, UseWorkspace or UsePublisher
	Workspace string `json:"workspace,omitempty"` // UseWorkspace and UsePublisher: whose artifacts; "": every workspace
	PublicKey []byte `json:"publicKey"`           // PKIX (SubjectPublicKeyInfo) DER, base64 in JSON
}

// ReleaseToolset is one live toolset.
type ReleaseToolset struct {
	ID         string `json:"id"`         // Toolset.ID
	Workspace  string `json:"workspace"`  // Toolset.Workspace
	Slug       string `json:"slug"`       // Toolset.Slug, unique in the release
	Revision   uint64 `json:"revision"`   // published revision of this toolset, ≥ 1
	Repository string `json:"repository"` // <workspace>/toolsets/<slug>
	Bundle     Digest `json:"bundle"`     // OCI manifest digest of the bundle: the toolset's digest
	// Access is the OCI manifest digest of the access document, in the same
	// repository. "": the bundle alone says who may enter.
	Access Digest `json:"access,omitempty"`
	// Trial is a candidate beside the bundle. None: the member is absent, so that gateways
	// of a version before trials read the release; with one they refuse it, and serve on.
	Trial ReleaseTrial `json:"trial,omitzero"`
}

// ReleasePlugin is one third-party plugin that live toolsets use.
type ReleasePlugin struct {
	Workspace  string `json:"workspace"`
	Repository string `json:"repository"`
	Manifest   Digest `json:"manifest"`
}

// Validate reports every fault as one *problem.Error of kind
// [problem.InvalidRelease]; nil when there is none.
func (r *Release) Validate() error {
	f := &faults{kind: problem.InvalidRelease}
	f.check(r.FormatVersion == ReleaseFormat, "/formatVersion", "format version %d is not known", r.FormatVersion)
	f.check(ValidSlug(r.Group), "/group", "group %.80q is not a slug", r.Group)
	f.check(r.Epoch >= 1, "/epoch", "epoch must be at least 1")
	f.check(r.Revision >= 1, "/revision", "revision must be at least 1")
	f.check(!r.Issued.IsZero(), "/issued", "the time of issue is missing")
	f.check(r.Expires.After(r.Issued), "/expires", "the release expires before it is issued")
	f.check(len(r.Trusted) <= MaxTrustedKeys, "/trusted", "%d keys are more than %d", len(r.Trusted), MaxTrustedKeys)
	f.check(len(r.Toolsets) <= MaxReleaseToolsets, "/toolsets", "%d toolsets are more than %d", len(r.Toolsets), MaxReleaseToolsets)
	f.check(len(r.Plugins) <= MaxReleasePlugins, "/plugins", "%d plugins are more than %d", len(r.Plugins), MaxReleasePlugins)

	canRelease := false
	for i, k := range r.Trusted {
		at := fmt.Sprintf("/trusted/%d", i)
		f.check(isHex64(k.KeyID), at+"/keyid", "key id %.80q is not a SHA-256 in hex", k.KeyID)
		f.check(len(k.PublicKey) > 0 && len(k.PublicKey) <= 1024, at+"/publicKey", "the public key has %d bytes", len(k.PublicKey))
		f.check(k.Use == UseRelease || k.Use == UseWorkspace || k.Use == UsePublisher, at+"/use", "use %.80q is not known", k.Use)
		f.check(k.Workspace == "" || ValidSlug(k.Workspace), at+"/workspace", "workspace %.80q is not a slug", k.Workspace)
		canRelease = canRelease || k.Use == UseRelease
	}
	f.check(canRelease, "/trusted", "no key may sign the next release")

	ids, slugs := make(map[string]bool, len(r.Toolsets)), make(map[string]bool, len(r.Toolsets))
	for i := range r.Toolsets {
		if f.full() {
			break
		}
		t := &r.Toolsets[i]
		if t.plain() && !ids[t.ID] && !slugs[t.Slug] {
			ids[t.ID], slugs[t.Slug] = true, true
			continue // places of faults are made for faults only
		}
		at := fmt.Sprintf("/toolsets/%d", i)
		f.check(validID(t.ID), at+"/id", "id %.80q is not an identifier", t.ID)
		f.check(!ids[t.ID], at+"/id", "toolset %.80q is listed twice", t.ID)
		f.check(ValidSlug(t.Workspace), at+"/workspace", "workspace %.80q is not a slug", t.Workspace)
		f.check(ValidSlug(t.Slug), at+"/slug", "slug %.80q is not a slug", t.Slug)
		f.check(!slugs[t.Slug], at+"/slug", "slug %.80q is used by two toolsets", t.Slug)
		f.check(t.Revision >= 1, at+"/revision", "revision must be at least 1")
		f.check(ValidRepository(t.Repository), at+"/repository", "%.80q is not a repository name", t.Repository)
		f.check(t.Bundle.Valid(), at+"/bundle", "%.80q is not a sha256 digest", string(t.Bundle))
		f.check(t.Access == "" || t.Access.Valid(), at+"/access", "%.80q is not a sha256 digest", string(t.Access))
		t.Trial.validate(f, at+"/trial")
		ids[t.ID], slugs[t.Slug] = true, true
	}
	for i := range r.Plugins {
		p, at := &r.Plugins[i], fmt.Sprintf("/plugins/%d", i)
		f.check(ValidSlug(p.Workspace), at+"/workspace", "workspace %.80q is not a slug", p.Workspace)
		f.check(ValidRepository(p.Repository), at+"/repository", "%.80q is not a repository name", p.Repository)
		f.check(p.Manifest.Valid(), at+"/manifest", "%.80q is not a sha256 digest", string(p.Manifest))
	}
	r.validateDomains(f)
	return f.err("release %d of group %.80q is not valid", r.Revision, r.Group)
}

// plain reports whether nothing is wrong with t by itself.
func (t *ReleaseToolset) plain() bool {
	return validID(t.ID) && ValidSlug(t.Workspace) && ValidSlug(t.Slug) && t.Revision >= 1 && ValidRepository(t.Repository) && t.Bundle.Valid() &&
		(t.Access == "" || t.Access.Valid()) && t.Trial == (ReleaseTrial{})
}

// Sorted is r as [Release.Encode] writes it: lists sorted, times in UTC and whole seconds.
// r is not changed, and shares no list with it.
func (r *Release) Sorted() *Release {
	c := *r
	c.FormatVersion = ReleaseFormat
	c.Issued, c.Expires = c.Issued.UTC().Truncate(time.Second), c.Expires.UTC().Truncate(time.Second)
	c.Trusted = append([]TrustedKey{}, c.Trusted...)
	slices.SortFunc(c.Trusted, func(a, b TrustedKey) int {
		return strings.Compare(a.Use+"\x00"+a.Workspace+"\x00"+a.KeyID, b.Use+"\x00"+b.Workspace+"\x00"+b.KeyID)
	})
	c.Toolsets = append([]ReleaseToolset{}, c.Toolsets...)
	slices.SortFunc(c.Toolsets, func(a, b ReleaseToolset) int { return strings.Compare(a.ID, b.ID) })
	c.Plugins = append([]ReleasePlugin{}, c.Plugins...)
	slices.SortFunc(c.Plugins, func(a, b ReleasePlugin) int {
		return strings.Compare(a.Repository+"\x00"+string(a.Manifest), b.Repository+"\x00"+string(b.Manifest))
	})
	c.Domains = slices.Clone(c.Domains)
	slices.SortFunc(c.Domains, func(a, b ReleaseDomain) int { return strings.Compare(a.Host, b.Host) })
	return &c
}

// Encode validates r and returns its document: deterministic JSON of [Release.Sorted]. The
// caller owns the bytes; r is not changed.
func (r *Release) Encode() ([]byte, error) {
	c := r.Sorted()
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return encode(c, MaxReleaseBytes, problem.InvalidRelease, "release")
}

// ParseRelease reads a release document from verified bytes. It refuses unknown
// fields, duplicate fields, trailing bytes, more than [MaxReleaseBytes] and
// whatever Validate refuses, as *problem.Error of kind [problem.InvalidRelease].
// It does not keep b.
func ParseRelease(b []byte) (*Release, error) {
	r := new(Release)
	if err := decode(b, r, MaxReleaseBytes, problem.InvalidRelease, "release"); err != nil {
		return nil, err
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	return r, nil
}

// Compare orders two positions of a group: -1, 0 or 1.
func Compare(epochA, revisionA, epochB, revisionB uint64) int {
	switch {
	case epochA < epochB || epochA == epochB && revisionA < revisionB:
		return -1
	case epochA == epochB && revisionA == revisionB:
		return 0
	}
	return 1
}

// SameContent reports whether two releases list the same: everything but epoch,
// revision and times.
func (r *Release) SameContent(o *Release) bool {
	return r.Group == o.Group && slices.EqualFunc(r.Trusted, o.Trusted, func(a, b TrustedKey) bool {
		return a.KeyID == b.KeyID && a.Use == b.Use && a.Workspace == b.Workspace && bytes.Equal(a.PublicKey, b.PublicKey)
	}) && slices.Equal(r.Toolsets, o.Toolsets) && slices.Equal(r.Plugins, o.Plugins) && slices.Equal(r.Domains, o.Domains)
}

func isHex64(s string) bool { return len(s) == 64 && isDigest(digestPrefix+s) }

// encode writes v as compact JSON without HTML escaping and without a final newline.
func encode(v any, limit int, kind problem.Kind, what string) ([]byte, error) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode %s: %w", what, err)
	}
	b := bytes.TrimSuffix(buf.Bytes(), []byte{'\n'})
	if len(b) > limit {
		return nil, problem.New(kind, "the %s has %d bytes, the limit is %d", what, len(b), limit)
	}
	return b, nil
}
