//go:build !race

package openapi

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Under the race detector neither time nor memory says anything.

// compileInChild compiles a file in a process of its own.
func compileInChild(t testing.TB, file string) childReport {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), "SLUICE_OPENAPI_TEST_FILE="+file)
	out, err := cmd.Output()
	if err != nil {
		var stderr string
		if ee, ok := err.(*exec.ExitError); ok {
			stderr = string(ee.Stderr[:min(len(ee.Stderr), 2000)])
		}
		t.Fatalf("%s ends the process: %v\n%s", file, err, stderr)
	}
	var r childReport
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%s: %v: %s", file, err, out)
	}
	// Processor time: by the clock, a busy machine would fail the test.
	r.Seconds = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	return r
}

// maxHostileKB is what one hostile document may cost (with a Go runtime in it).
const maxHostileKB = 512 << 10

func checkCost(t testing.TB, name string, r childReport) {
	t.Helper()
	if r.PeakKB > maxHostileKB {
		t.Errorf("%s: peak of %d KB", name, r.PeakKB)
	}
	if r.Seconds > DefaultTimeout.Seconds()+1 {
		t.Errorf("%s: %.1f s", name, r.Seconds)
	}
}

func TestPeakMemoryOfGitHubSpec(t *testing.T) {
	file := filepath.Join(t.TempDir(), "github.json")
	if err := os.WriteFile(file, githubSpec(t), 0o600); err != nil {
		t.Fatal(err)
	}
	r := compileInChild(t, file)
	for range 2 { // how late garbage is collected depends on what else runs
		if r.PeakKB > 150<<10 {
			r = compileInChild(t, file)
		}
	}
	t.Logf("%d tools, %.2f s, peak %d KB", r.Tools, r.Seconds, r.PeakKB)
	if r.Error != "" || r.Tools < 1100 || r.PeakKB > 150<<10 {
		t.Errorf("%s: %d tools, peak of %d KB, want at most 150 MB", r.Error, r.Tools, r.PeakKB)
	}
	if r.PeakKB == 0 {
		t.Log("this system does not tell the peak of a process")
	}
}

// TestSubtypesAreBounded: subtypes that multiply, and circles of them, end.
func TestSubtypesAreBounded(t *testing.T) {
	schemas := map[string]any{}
	ref := func(n string) map[string]any { return map[string]any{"$ref": "#/components/schemas/" + n} }
	name := func(i int) string { return "S" + string(rune('a'+i/26)) + string(rune('a'+i%26)) }
	const many = 300 // more than maxSubtypes
	for i := range many {
		part := map[string]any{"type": "object", "properties": map[string]any{"again": ref("Base"), "next": ref(name((i + 1) % many))}}
		schemas[name(i)] = map[string]any{"discriminator": map[string]any{"propertyName": "kind" + name(i)}, "allOf": []any{ref("Base"), ref(name((i + 7) % many)), part}}
	}
	schemas["Base"] = map[string]any{"type": "object", "discriminator": map[string]any{"propertyName": "kind"}, "properties": map[string]any{"kind": map[string]any{"type": "string"}, "self": ref("Base")}}
	spec := map[string]any{
		"openapi": "3.0.3", "info": map[string]any{"title": "Circles", "version": "1"}, "servers": []any{map[string]any{"url": "https://api.example.com"}},
		"paths": map[string]any{"/things": map[string]any{"post": map[string]any{
			"requestBody": map[string]any{"content": map[string]any{"application/json": map[string]any{"schema": ref("Base")}}},
			"responses":   map[string]any{"204": map[string]any{"description": "done"}},
		}}},
		"components": map[string]any{"schemas": schemas},
	}
	data, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "circles.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	r := compileInChild(t, file)
	t.Logf("%.2f s, %d KB", r.Seconds, r.PeakKB)
	// A slow machine may reach the deadline, which is a bound as well.
	if r.Error == "" && r.Tools != 1 || r.Error != "" && !strings.Contains(r.Error, "was not compiled within") {
		t.Errorf("%+v", r)
	}
	checkCost(t, file, r)
}

// TestHostile compiles each hostile document in a process of its own, because a
// stack overflow cannot be recovered and memory can only be judged from outside.
func TestHostile(t *testing.T) {
	dir := t.TempDir()
	for _, in := range hostileInputs() {
		t.Run(in.name, func(t *testing.T) {
			file := filepath.Join(dir, strings.ReplaceAll(in.name, " ", "_"))
			if err := os.WriteFile(file, []byte(in.data), 0o600); err != nil {
				t.Fatal(err)
			}
			r := compileInChild(t, file)
			checkCost(t, in.name, r)
			if r.Code != in.code || (r.Error == "") != (in.code == "") {
				t.Errorf("code %q (%s), want %q", r.Code, r.Error, in.code)
			}
			t.Logf("%.2f s, peak %d MB, %d tools, %v %.200s", r.Seconds, r.PeakKB>>10, r.Tools, r.Warnings[:min(len(r.Warnings), 3)], r.Error)
		})
	}
}

// TestHostileCorpus does the same with the adversarial inputs of the corpus.
func TestHostileCorpus(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(corpusDir(t), "adversarial", "*"))
	if err != nil || len(files) == 0 {
		t.Fatal("no adversarial inputs", err)
	}
	// What must be refused, by code; everything else must load.
	refused := map[string]string{
		"array.json": codeNotOpenAPI, "asyncapi.yaml": codeNotOpenAPI, "html-page.html": codeNotOpenAPI, "json-schema.json": codeNotOpenAPI, "null.yaml": codeNotOpenAPI,
		"empty.yaml": codeEmpty, "only-whitespace.yaml": codeEmpty, "invalid-utf8.json": codeEncoding, "nul-bytes.yaml": codeEncoding, "utf16be.yaml": codeEncoding,
		"deep-nesting-10k.yaml": codeTooDeep, "json-comments.json": codeJSONSyntax, "json-trailing-comma.json": codeJSONSyntax, "yaml-tabs.yaml": codeYAMLSyntax,
		"openapi-2.9.yaml": codeVersion, "swagger-1.2.json": codeVersion, "ops-100k.json": codeTooManyOps, "yaml-multi-document.yaml": codeMultiDocument,
		"yaml-recursive-alias.yaml": codeRecursiveAlias,
	}
	tools := map[string]int{
		"bom.json": 1, "bom.yaml": 1, "crlf-lines.yaml": 1, "duplicate-operation-ids.yaml": 5, "weird-operation-ids.json": 7, "body-kinds.yaml": 6, "feature-32.yaml": 3,
		"path-param-problems.yaml": 6, "yaml-merge-keys.yaml": 2, "self-ref.yaml": 1, "param-ref-cycle.yaml": 1, "wrong-types.json": 1, "path-traversal-ref.yaml": 2,
		"yaml11-norway.yaml": 1, "swagger2-traps.yaml": 1, "json-duplicate-keys.json": 1, "version-number-not-string.yaml": 1, "missing-paths-31-webhooks.yaml": 0,
	}
	for _, file := range files {
		name := filepath.Base(file)
		if strings.HasSuffix(name, ".gz") {
			file = gunzip(t, file)
			name = strings.TrimSuffix(name, ".gz")
		}
		t.Run(name, func(t *testing.T) {
			r := compileInChild(t, file)
			checkCost(t, name, r)
			if r.Code != refused[name] {
				t.Errorf("code %q (%s), want %q", r.Code, r.Error, refused[name])
			}
			if want, ok := tools[name]; ok && r.Tools != want {
				t.Errorf("%d tools, want %d", r.Tools, want)
			}
		})
	}
}

func gunzip(t *testing.T, file string) string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(file), ".gz"))
	w, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(w, io.LimitReader(z, 64<<20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}
