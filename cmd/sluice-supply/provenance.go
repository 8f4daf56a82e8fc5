package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/sluicegate/sluice/internal/atomicfile"
)

const (
	statementType = "https://in-toto.io/Statement/v1"
	predicateType = "https://slsa.dev/provenance/v1"
	// buildType says what the parameters mean: they are those of the Makefile's release
	// target. docs/supply-chain.md describes them.
	buildType = "https://github.com/sluicegate/sluice/blob/main/docs/supply-chain.md#build-type"
)

// build is how files were made.
type build struct {
	Version, Source, Commit, Command, Builder, Invocation string

	Dirty bool
}

// statement is an in-toto Statement v1.
type statement struct {
	Type          string     `json:"_type"`
	Subject       []resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     provenance `json:"predicate"`
}

// resource is a ResourceDescriptor of in-toto v1.
type resource struct {
	Name        string            `json:"name,omitempty"`
	URI         string            `json:"uri,omitempty"`
	Digest      map[string]string `json:"digest,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// provenance is the predicate of SLSA v1.
type provenance struct {
	BuildDefinition struct {
		BuildType            string         `json:"buildType"`
		ExternalParameters   map[string]any `json:"externalParameters"`
		InternalParameters   map[string]any `json:"internalParameters,omitempty"`
		ResolvedDependencies []resource     `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder struct {
			ID string `json:"id"`
		} `json:"builder"`
		Metadata struct {
			InvocationID string `json:"invocationId,omitempty"`
		} `json:"metadata,omitzero"`
	} `json:"runDetails"`
}

var commitID = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

// writeProvenance writes a statement about files. Their Go version and build settings
// are read from those that are Go binaries, one of which must be there. It has no time of
// the build, so that the same commit gives the same bytes.
func writeProvenance(b *build, files []string, to string) error {
	switch {
	case len(files) == 0:
		return errors.New("provenance needs files")
	case !commitID.MatchString(b.Commit):
		return fmt.Errorf("%q is not a commit", b.Commit)
	}
	for _, uri := range []string{b.Source, b.Builder} {
		if u, err := url.Parse(uri); err != nil || u.Scheme == "" {
			return fmt.Errorf("%q is not a URI", uri)
		}
	}
	s := statement{Type: statementType, PredicateType: predicateType}
	settings := map[string]any{}
	compiler := ""
	for _, name := range files {
		sum, err := digest(name)
		if err != nil {
			return err
		}
		s.Subject = append(s.Subject, resource{Name: filepath.Base(name), Digest: map[string]string{"sha256": sum}})
		info, err := buildinfo.ReadFile(name)
		if err != nil {
			continue // no Go binary
		}
		if compiler == "" {
			compiler = info.GoVersion
		} else if compiler != info.GoVersion {
			return fmt.Errorf("%s was built with %s, others with %s", name, info.GoVersion, compiler)
		}
		of := map[string]string{}
		for _, x := range info.Settings {
			of[x.Key] = x.Value
		}
		if of["vcs.revision"] != "" && of["vcs.revision"] != b.Commit {
			return fmt.Errorf("%s was built from %s, not from %s", name, of["vcs.revision"], b.Commit)
		}
		settings[filepath.Base(name)] = of
	}
	if compiler == "" {
		return errors.New("none of the files is a Go binary")
	}
	d := &s.Predicate.BuildDefinition
	d.BuildType = buildType
	d.ExternalParameters = map[string]any{"source": b.Source, "version": b.Version, "command": b.Command}
	d.InternalParameters = map[string]any{"go": compiler, "settings": settings}
	source := resource{URI: b.Source + "@" + b.Commit, Digest: map[string]string{"gitCommit": b.Commit}}
	if b.Dirty {
		source.Annotations = map[string]string{"dirty": "true"}
	}
	d.ResolvedDependencies = []resource{source, {Name: "go", URI: packageURL("std", strings.TrimPrefix(compiler, "go"))}}
	r := &s.Predicate.RunDetails
	r.Builder.ID, r.Metadata.InvocationID = b.Builder, b.Invocation
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(s); err != nil {
		return err
	}
	return atomicfile.Write(to, out.Bytes(), 0o644)
}
