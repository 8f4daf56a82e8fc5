package main

import (
	_ "embed"
	"fmt"
	"io/fs"
	"net/url"
	"regexp"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// sluicePackage is the program that has the files of embedded.tsv, and the console.
const sluicePackage = "github.com/sluicegate/sluice/cmd/sluice"

//go:embed embedded.tsv
var embeddedText string

// embeddedFile has what others made and no module of Go brings.
type embeddedFile struct {
	URL, Licence, Sum string
	Files             []string // that have it
}

func embeddedFiles(text string) (list []embeddedFile, err error) {
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if f[0] == "" || strings.HasPrefix(f[0], "#") {
			continue
		}
		if len(f) != 4 {
			return nil, fmt.Errorf("embedded.tsv: %q has %d columns, want 4", f[0], len(f))
		}
		list = append(list, embeddedFile{f[0], f[1], strings.TrimPrefix(f[2], "-"), strings.Fields(f[3])})
	}
	return list, nil
}

// npmPackage matches the head of a package in the licences of the console.
var npmPackage = regexp.MustCompile(`(?m)^-{80}\n\n(\S+) (\S+)\nLicence: (.+)$`)

// npmPackages are those that the console was bundled from.
func npmPackages(licences string) (list []embeddedFile) {
	for _, m := range npmPackage.FindAllStringSubmatch(licences, -1) {
		list = append(list, embeddedFile{URL: "pkg:npm/" + strings.Replace(m[1], "@", "%40", 1) + "@" + m[2], Licence: m[3], Files: []string{"admin/console/dist"}})
	}
	return list
}

// embeddedIn are the components that a program has embedded; the console is nil where the build has none.
func embeddedIn(program string, console fs.FS) ([]cdx.Component, error) {
	if program != sluicePackage {
		return nil, nil
	}
	list, err := embeddedFiles(embeddedText)
	if err != nil {
		return nil, err
	}
	if console != nil {
		licences, err := fs.ReadFile(console, "licences.txt")
		if err != nil {
			return nil, err
		}
		packages := npmPackages(string(licences))
		if len(packages) == 0 {
			return nil, fmt.Errorf("the licences of the console name no package")
		}
		list = append(list, packages...)
	}
	p, err := parsePolicy(policyText)
	if err != nil {
		return nil, err
	}
	out := make([]cdx.Component, len(list))
	for i, e := range list {
		if err := p.check(e.Licence); err != nil {
			return nil, fmt.Errorf("%s: %w", e.URL, err)
		}
		name, version, ok := splitURL(e.URL)
		if !ok {
			return nil, fmt.Errorf("%q is no package URL with a version", e.URL)
		}
		c := component(name, version, e.Licence, cdx.ComponentTypeLibrary)
		c.BOMRef, c.PackageURL = e.URL, e.URL
		c.Properties = &[]cdx.Property{{Name: "sluice:embedded-in", Value: strings.Join(e.Files, " ")}}
		if e.Sum != "" {
			c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: e.Sum}}
		}
		out[i] = c
	}
	return out, nil
}

// splitURL parts a package URL: pkg:TYPE/NAME@VERSION, with qualifiers or a path behind it.
func splitURL(purl string) (name, version string, ok bool) {
	rest, found := strings.CutPrefix(purl, "pkg:")
	_, rest, typed := strings.Cut(rest, "/")
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest = rest[:i]
	}
	i := strings.LastIndexByte(rest, '@')
	if !found || !typed || i <= 0 || i == len(rest)-1 {
		return "", "", false
	}
	name, err := url.PathUnescape(rest[:i])
	return name, rest[i+1:], err == nil
}
