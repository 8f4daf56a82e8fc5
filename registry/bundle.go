package registry

import (
	"bytes"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/engine"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// bundleVersion is the version in a bundle's manifest. A bundle is named by its
// digest; the number of its published revision is in the release.
const bundleVersion = "1"

// Encode validates t and returns its document: deterministic JSON. The caller
// owns the bytes.
func (t *Toolset) Encode() ([]byte, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	return encode(t, MaxToolsetBytes, problem.InvalidArgument, "toolset")
}

// parseToolset reads a toolset document. It refuses unknown fields, duplicate
// fields, trailing bytes, more than [MaxToolsetBytes] and whatever Validate
// refuses, as *problem.Error. It does not keep b.
func parseToolset(b []byte) (*Toolset, error) {
	t := new(Toolset)
	if err := decode(b, t, MaxToolsetBytes, problem.InvalidPlugin, "toolset"); err != nil {
		return nil, err
	}
	if err := t.Validate(); err != nil {
		return nil, err
	}
	return t, nil
}

// BuildBundle makes the module of a toolset: the current engine, the toolset's
// own response programs and a manifest of kind toolset. Equal arguments give
// equal bytes. Faults of t are those of Validate.
func BuildBundle(t *Toolset, programs [][]byte) ([]byte, error) {
	document, err := t.Encode()
	if err != nil {
		return nil, err
	}
	m := manifest.Manifest{
		FormatVersion: manifest.FormatVersion, Kind: manifest.Toolset,
		Name: t.Slug, Version: bundleVersion, Generator: "sluice", Toolset: document,
	}
	return engine.Link(programs, manifest.Section, m.Append(nil))
}

// OpenBundle takes a bundle apart. It requires that the module is exactly what
// [BuildBundle]'s linker makes with an engine of ours, that the document is
// valid, and that its settings compile to the programs they name; all refusals are *problem.Error. module is kept: the programs are
// views of it.
func OpenBundle(module []byte) (*Toolset, [][]byte, error) {
	linked, err := engine.Open(module, manifest.Section)
	if err != nil {
		return nil, nil, err
	}
	m, _, err := manifest.ParseHead(linked.Manifest)
	if err != nil {
		return nil, nil, err
	}
	if m.Kind != manifest.Toolset {
		return nil, nil, problem.New(problem.InvalidPlugin, "the plugin is a %s, not a toolset", m.Kind)
	}
	t, err := parseToolset(m.Toolset)
	if err != nil {
		return nil, nil, err
	}
	if m.Name != t.Slug {
		return nil, nil, problem.New(problem.InvalidPlugin, "the bundle is named %.80q and holds the toolset %.80q", m.Name, t.Slug)
	}
	if err := t.checkPrograms(linked.Programs); err != nil {
		return nil, nil, err
	}
	for i, p := range linked.Programs {
		linked.Programs[i] = bytes.Clone(p) // a view would keep the engine's code
	}
	return t, linked.Programs, nil
}
