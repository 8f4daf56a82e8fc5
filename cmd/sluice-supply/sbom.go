package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"github.com/sluicegate/sluice/admin/console"
	"github.com/sluicegate/sluice/internal/atomicfile"
)

const (
	// projectLicence is what Sluice itself is under, see LICENSE.
	projectLicence = "Apache-2.0"
	// goLicence is that of the Go standard library and runtime.
	goLicence = "BSD-3-Clause"
)

// writeSBOM writes what a binary is made of, and returns the number of its modules.
func writeSBOM(ctx context.Context, binary, version, to string, now time.Time) (int, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return 0, err
	}
	sum, err := digest(binary)
	if err != nil {
		return 0, err
	}
	list := modulesIn(info)
	if len(list) == 0 {
		return 0, errors.New("it names no modules")
	}
	if err := locate(ctx, list); err != nil {
		return 0, err
	}
	bom, err := newSBOM(info, version, sum, list, now)
	if err != nil {
		return 0, err
	}
	var b bytes.Buffer
	if err := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return 0, err
	}
	return len(list), atomicfile.Write(to, b.Bytes(), 0o644)
}

// modulesIn are the modules of a binary, those that replace others in their place.
func modulesIn(info *debug.BuildInfo) []module {
	var list []module
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		list = append(list, module{Path: d.Path, Version: d.Version, Sum: d.Sum})
	}
	return list
}

func newSBOM(info *debug.BuildInfo, version, sum string, list []module, now time.Time) (*cdx.BOM, error) {
	root := component(info.Main.Path, version, projectLicence, cdx.ComponentTypeApplication)
	root.Name = info.Path[strings.LastIndexByte(info.Path, '/')+1:]
	root.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: sum}}
	properties := []cdx.Property{{Name: "go:version", Value: info.GoVersion}}
	for _, s := range info.Settings {
		properties = append(properties, cdx.Property{Name: "go:build:" + s.Key, Value: s.Value})
	}
	root.Properties = &properties

	components := []cdx.Component{component("std", strings.TrimPrefix(info.GoVersion, "go"), goLicence, cdx.ComponentTypeLibrary)}
	for _, m := range list {
		c := component(m.Path, m.Version, m.Licence, cdx.ComponentTypeLibrary)
		if m.Sum != "" {
			h, err := moduleHash(m.Sum)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.Path, err)
			}
			c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: h}}
		}
		components = append(components, c)
	}
	others, err := embeddedIn(info.Path, console.Files())
	if err != nil {
		return nil, err
	}
	components = append(components, others...)
	refs := make([]string, len(components))
	dependencies := []cdx.Dependency{{Ref: root.BOMRef, Dependencies: &refs}}
	for i := range components {
		refs[i] = components[i].BOMRef
	}
	bom := cdx.NewBOM()
	bom.SerialNumber = serial(sum)
	bom.Metadata = &cdx.Metadata{
		Timestamp: now.Format(time.RFC3339), Component: &root,
		Lifecycles: &[]cdx.Lifecycle{{Phase: cdx.LifecyclePhasePostBuild}},
		Tools:      &cdx.ToolsChoice{Components: &[]cdx.Component{{Type: cdx.ComponentTypeApplication, Name: "sluice-supply", Version: version}}},
	}
	bom.Components, bom.Dependencies = &components, &dependencies
	return bom, nil
}

func component(path, version, licence string, kind cdx.ComponentType) cdx.Component {
	purl := packageURL(path, version)
	c := cdx.Component{BOMRef: purl, Type: kind, Name: path, Version: version, PackageURL: purl}
	switch {
	case licence == noLicence:
	case strings.Contains(licence, " "):
		c.Licenses = &cdx.Licenses{{Expression: licence}}
	default:
		c.Licenses = &cdx.Licenses{{License: &cdx.License{ID: licence}}}
	}
	return c
}

// packageURL is the purl of a Go module; a version's "+" is escaped.
func packageURL(path, version string) string {
	return "pkg:golang/" + strings.ToLower(path) + "@" + strings.ReplaceAll(version, "+", "%2B")
}

// moduleHash is the SHA-256 of go.sum in hexadecimal digits: that of the list of the
// module's files with their digests (golang.org/x/mod/sumdb/dirhash, Hash1).
func moduleHash(sum string) (string, error) {
	text, ok := strings.CutPrefix(sum, "h1:")
	if !ok {
		return "", fmt.Errorf("the checksum %q is of no known kind", sum)
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(b) != sha256.Size {
		return "", fmt.Errorf("the checksum %q is not SHA-256", sum)
	}
	return hex.EncodeToString(b), nil
}

// serial makes the serial number of the digest of the binary (RFC 9562 §5.8, a UUID of
// version 8), so that the same binary has the same one.
func serial(sum string) string {
	return "urn:uuid:" + sum[:8] + "-" + sum[8:12] + "-8" + sum[13:16] + "-8" + sum[17:20] + "-" + sum[20:32]
}

// digest is the SHA-256 of a file in hexadecimal digits.
func digest(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
