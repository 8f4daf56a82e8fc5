package main

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// ownBinary is a Go binary with modules: this test's.
func ownBinary(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "supply")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", name, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return name
}

func runOK(t *testing.T, args ...string) string {
	t.Helper()
	var out strings.Builder
	if err := run(t.Context(), args, &out, io.Discard); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return out.String()
}

// The document is one by the schema of CycloneDX 1.6, and names each module of the
// binary, with its licence and digest, and the standard library.
func TestSBOM(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	binary := ownBinary(t)
	runOK(t, "sbom", "-version", "v1.2.3", binary)
	first, err := os.ReadFile(binary + ".cdx.json")
	if err != nil {
		t.Fatal(err)
	}
	runOK(t, "sbom", "-version", "v1.2.3", binary)
	if again, err := os.ReadFile(binary + ".cdx.json"); err != nil || string(again) != string(first) {
		t.Errorf("another run writes another document, %v", err)
	}

	dir, err := goCommand(t.Context(), nil, "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go")
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	for url, file := range map[string]string{"bom-1.6.schema.json": "bom-1.6.schema.json", "spdx.schema.json": "spdx.schema.json", "jsf-0.82.schema.json": "jsf-0.82.schemax.json"} {
		f, err := os.Open(filepath.Join(strings.TrimSpace(string(dir)), "schema", file))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(f)
		_ = f.Close()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource("http://cyclonedx.org/schema/"+url, doc); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := c.Compile("http://cyclonedx.org/schema/bom-1.6.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(first)))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(doc); err != nil {
		t.Error(err)
	}
	doc.(map[string]any)["components"].([]any)[0].(map[string]any)["type"] = "module"
	if schema.Validate(doc) == nil {
		t.Error("the schema refuses nothing")
	}

	var bom struct {
		SpecVersion string
		Metadata    struct {
			Timestamp string
			Component struct{ Version string }
		}
		Components []struct {
			Name, Version, Purl string
			Hashes              []struct{ Alg, Content string }
			Licenses            []struct {
				License    struct{ ID string }
				Expression string
			}
		}
		Dependencies []struct{ DependsOn []string }
	}
	if err := json.Unmarshal(first, &bom); err != nil {
		t.Fatal(err)
	}
	if bom.SpecVersion != "1.6" || bom.Metadata.Component.Version != "v1.2.3" || bom.Metadata.Timestamp != "2023-11-14T22:13:20Z" ||
		len(bom.Dependencies) != 1 || len(bom.Dependencies[0].DependsOn) != len(bom.Components) {
		t.Errorf("%.500s", first)
	}
	licences := map[string]string{}
	for _, x := range bom.Components {
		if len(x.Licenses) != 1 || x.Version == "" || x.Name != "std" && (len(x.Hashes) != 1 || len(x.Hashes[0].Content) != 64) {
			t.Errorf("%+v", x)
			continue
		}
		licences[x.Name] = x.Licenses[0].License.ID + x.Licenses[0].Expression
	}
	for name, want := range map[string]string{"std": "BSD-3-Clause", "github.com/CycloneDX/cyclonedx-go": "Apache-2.0", "github.com/google/licensecheck": "BSD-3-Clause"} {
		if licences[name] != want {
			t.Errorf("%s: %q, want %s", name, licences[name], want)
		}
	}
}

// TestEmbedded: the document of sluice names what others made of the files that it embeds, at the
// versions that these were made with; each file that is no text of this repository is known.
func TestEmbedded(t *testing.T) {
	list, err := embeddedIn(sluicePackage, fstest.MapFS{"licences.txt": {Data: []byte("x\n\n" + strings.Repeat("-", 80) + "\n\n@a/b 1.2.3\nLicence: MIT\n\ntext\n\n" + strings.Repeat("-", 80) + "\n\nreact 19.0.0\nLicence: ISC\n")}})
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, c := range list {
		have[c.PackageURL] = true
		if c.Name == "" || c.Version == "" || c.Licenses == nil {
			t.Errorf("%+v", c)
		}
	}
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	version := func(file, pattern string) string {
		m := regexp.MustCompile(pattern).FindStringSubmatch(read(file))
		if m == nil {
			t.Fatalf("%s names no version", file)
		}
		return m[1]
	}
	for _, url := range []string{
		"pkg:npm/%40a/b@1.2.3", "pkg:npm/react@19.0.0",
		"pkg:cargo/rquickjs-sys@" + version("plugins/script/module/Cargo.lock", `name = "rquickjs-sys"\nversion = "(.+)"`),
		"pkg:golang/github.com/tiktoken-go/tokenizer@" + version("go.mod", `tiktoken-go/tokenizer (\S+)`) + "#codec",
	} {
		if !have[url] {
			t.Errorf("%s is missing: update embedded.tsv", url)
		}
	}
	if sum := version("plugins/script/module/Cargo.lock", `name = "rquickjs-sys"\n.*\n.*\nchecksum = "(.+)"`); !strings.Contains(embeddedText, sum) {
		t.Errorf("embedded.tsv lacks the checksum %s of rquickjs-sys", sum)
	}
	if none, err := embeddedIn("github.com/sluicegate/sluice/cmd/sluice-supply", nil); err != nil || none != nil {
		t.Errorf("another program: %v, %v", none, err)
	}
	if _, err := embeddedIn(sluicePackage, fstest.MapFS{"licences.txt": {Data: []byte(strings.Repeat("-", 80) + "\n\na 1\nLicence: AGPL-3.0-only\n")}}); err == nil {
		t.Error("a licence that is not allowed passes")
	}
	for _, bad := range []string{"react@19", "pkg:npm", "pkg:npm/react", "pkg:npm/@1", "pkg:npm/a@"} {
		if _, _, ok := splitURL(bad); ok {
			t.Errorf("%q has a name and a version", bad)
		}
	}
	// Ours.
	known := map[string]bool{"plugins/engine/engine.wasm": true, "plugins/extism/kernel.wasm": true, "internal/selection/embedding/table.bin": true}
	files, err := embeddedFiles(embeddedText)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		for _, name := range f.Files {
			known[name] = true
			read(name)
		}
	}
	out, err := goCommand(t.Context(), nil, "list", "-deps", "-f", `{{if not .Standard}}{{range .EmbedFiles}}{{$.ImportPath}}/{{.}}{{"\n"}}{{end}}{{end}}`, sluicePackage)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for name := range strings.Lines(string(out)) {
		name, own := strings.CutPrefix(strings.TrimSpace(name), "github.com/sluicegate/sluice/")
		switch ext := filepath.Ext(name); {
		case !own, ext != ".wasm" && ext != ".bin" && ext != ".vocabulary" && ext != ".gz", strings.HasPrefix(name, "plugins/engine/earlier/"):
		case !known[name]:
			t.Errorf("%s: who made it? Put it into embedded.tsv, or here if we did", name)
		default:
			seen++
		}
	}
	if seen != len(known) {
		t.Errorf("%d of %d files are embedded", seen, len(known))
	}
}

func TestSBOMOfNoBinary(t *testing.T) {
	name := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(name, []byte("no binary"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := run(t.Context(), []string{"sbom", name}, &out, io.Discard); err == nil {
		t.Error("a text has an SBOM")
	}
	if _, err := os.Stat(name + ".cdx.json"); err == nil {
		t.Error("something was written")
	}
}

func TestProvenance(t *testing.T) {
	binary := ownBinary(t)
	text := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(text, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "p.json")
	commit := strings.Repeat("0a", 20)
	args := func(commit string, files ...string) []string {
		return append([]string{"provenance", "-o", to, "-version", "v1", "-source", "git+https://example.com/x", "-commit", commit, "-dirty", "-builder", "https://example.com/ci", "-command", "go build"}, files...)
	}
	if out := runOK(t, args(commit, binary, text)...); !strings.Contains(out, "not signed") {
		t.Errorf("%s", out)
	}
	b, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	var s statement
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	d := s.Predicate.BuildDefinition
	if s.Type != "https://in-toto.io/Statement/v1" || s.PredicateType != "https://slsa.dev/provenance/v1" || len(s.Subject) != 2 ||
		s.Subject[1].Name != "notes.txt" || s.Subject[1].Digest["sha256"] != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" ||
		d.ResolvedDependencies[0].Digest["gitCommit"] != commit || d.ResolvedDependencies[0].Annotations["dirty"] != "true" ||
		!strings.HasPrefix(d.InternalParameters["go"].(string), "go1.") || d.ExternalParameters["command"] != "go build" || s.Predicate.RunDetails.Builder.ID != "https://example.com/ci" {
		t.Errorf("%s", b)
	}
	// Whoever builds the commit again gets the same bytes, so nothing in it is of the moment.
	if words := regexp.MustCompile(`(?i)"(finished|started)on"`).FindAllString(string(b), -1); words != nil {
		t.Errorf("times of the build: %q", words)
	}
	var out strings.Builder
	for _, bad := range [][]string{args("main", binary), args(commit), args(commit, text), args(commit, to+".absent"), {"provenance", "-commit", commit, binary}} {
		if err := run(t.Context(), bad, &out, io.Discard); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestLicences(t *testing.T) {
	p, err := parsePolicy(policyText)
	if err != nil {
		t.Fatal(err)
	}
	mit, err := os.ReadFile(filepath.Join(moduleDir(t, "github.com/spf13/pflag"), "LICENSE"))
	if err != nil {
		t.Fatal(err)
	}
	gpl := "GNU GENERAL PUBLIC LICENSE\nVersion 3, 29 June 2007\n"
	f := func(files map[string]string, want string) {
		t.Helper()
		dir := t.TempDir()
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := p.licenceOf("example.com/m", dir); err != nil || got != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
	f(nil, noLicence)
	f(map[string]string{"README.md": string(mit), "license.go": gpl}, noLicence)
	f(map[string]string{"LICENSE": string(mit)}, "BSD-3-Clause")
	f(map[string]string{"License.txt": string(mit), "COPYING": "Do what I say.\n"}, noLicence)
	f(map[string]string{"LICENCE": "All rights reserved.\n"}, noLicence)
	f(map[string]string{"LICENSE": string(mit) + strings.Repeat("You must not use this on Mondays. ", 100)}, noLicence)

	for expression, ok := range map[string]bool{
		"MIT": true, "BSD-3-Clause AND MIT": true, "MPL-2.0": true, noLicence: false, "GPL-3.0": false, "GPL-2.0-or-later": false, "LGPL-2.1-only": false,
		"MIT AND AGPL-3.0": false, "WTFPL": false, "": false,
	} {
		if err := p.check(expression); (err == nil) != ok {
			t.Errorf("%q: %v", expression, err)
		}
	}
	for _, bad := range []string{"permit MIT", "allow", "allow MIT\nforbid MIT", "file example.com/m abc"} {
		if _, err := parsePolicy(bad); err == nil {
			t.Errorf("%q is a policy", bad)
		}
	}
}

func moduleDir(t *testing.T, path string) string {
	t.Helper()
	out, err := goCommand(t.Context(), nil, "list", "-m", "-f", "{{.Dir}}", path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// The report fails when a module of the package has a licence that is not known.
func TestReport(t *testing.T) {
	out := runOK(t, "licences", "-package", ".")
	if !strings.Contains(out, "github.com/CycloneDX/cyclonedx-go") || !strings.Contains(out, "Apache-2.0") {
		t.Errorf("%s", out)
	}
	old := policyText
	defer func() { policyText = old }()
	policyText = strings.ReplaceAll(old, "allow Apache-2.0\n", "forbid Apache-2.0\n")
	var b strings.Builder
	if err := run(t.Context(), []string{"licences", "-package", "."}, &b, io.Discard); err == nil || !strings.Contains(err.Error(), "cyclonedx-go") || !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("%v", err)
	}
}
