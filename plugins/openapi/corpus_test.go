package openapi

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/plugins/operation"
)

// corpusDir is the folder of real specifications (see CONTRIBUTING.md).
func corpusDir(t testing.TB) string {
	dir := os.Getenv("SLUICE_CORPUS")
	if dir == "" {
		t.Skip("SLUICE_CORPUS is not set: no corpus of real specifications")
	}
	return dir
}

type corpusSpec struct {
	id, file   string
	operations string
}

func corpusSpecs(t testing.TB, dir string) []corpusSpec {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "specs.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	var out []corpusSpec
	sc := bufio.NewScanner(bytes.NewReader(data))
	for n := 0; sc.Scan(); n++ {
		f := strings.Split(sc.Text(), "\t")
		if n == 0 {
			continue
		}
		out = append(out, corpusSpec{id: f[0], file: filepath.Join(dir, "specs", f[2]), operations: f[9]})
	}
	return out
}

// corpusSource reads a specification with the files around it.
func corpusSource(t testing.TB, dir string, s corpusSpec) Source {
	t.Helper()
	data, err := os.ReadFile(s.file)
	if err != nil {
		t.Fatal(err)
	}
	src := Source{Name: filepath.Base(s.file), Data: data, Files: map[string][]byte{}}
	root := filepath.Join(dir, "specs", s.id)
	src.Path, _ = filepath.Rel(root, s.file)
	err = filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		if err == nil {
			rel, _ := filepath.Rel(root, p)
			src.Files[filepath.ToSlash(rel)] = b
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// TestCorpus imports every real specification: each operation is a tool or is
// listed with a reason, and at least 99.5 % are tools.
func TestCorpus(t *testing.T) {
	dir := corpusDir(t)
	operations, tools := 0, 0
	for _, s := range corpusSpecs(t, dir) {
		t.Run(s.id, func(t *testing.T) {
			src := corpusSource(t, dir, s)
			check := newClientRules(t)
			start := time.Now()
			res, err := Compile(t.Context(), src, Options{Each: func(op *operation.Operation) error {
				check.tool(op)
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			if res.Operations != res.Tools+len(res.Unsupported) || res.Tools != check.tools {
				t.Errorf("%d operations, %d tools, %d given, %d listed", res.Operations, res.Tools, check.tools, len(res.Unsupported))
			}
			for _, u := range res.Unsupported {
				if u.Code == "" || u.Reason == "" || u.Line == 0 || u.Pointer == "" {
					t.Errorf("listed without code, reason or place: %+v", u)
				}
				t.Logf("not a tool: %s %s: %s: %s", u.Method, u.Path, u.Code, u.Reason)
			}
			operations += res.Operations
			tools += res.Tools
			t.Logf("%s %s ops %d (said %s) tools %d warnings %d in %v", res.Format, res.SpecVersion, res.Operations, s.operations, res.Tools, len(res.Warnings), time.Since(start).Round(time.Millisecond))
			if os.Getenv("SLUICE_SHOW") != "" {
				n := map[string]int{}
				for _, w := range res.Warnings {
					if n[w.Code]++; n[w.Code] <= 3 {
						t.Logf("%s:%d:%d %s %s: %s", w.File, w.Line, w.Column, w.Pointer, w.Code, w.Detail)
					}
				}
				t.Log(n)
			}
		})
	}
	t.Logf("%d operations, %d tools", operations, tools)
	if tools*1000 < operations*995 {
		t.Errorf("%d of %d operations are tools, want 99.5 %%", tools, operations)
	}
}

// TestNoToolOfCorpusIsAnyObject: whatever the room, a tool keeps its parameters and
// required members, and its body is not any object where the specification says
// more.
func TestNoToolOfCorpusIsAnyObject(t *testing.T) {
	dir := corpusDir(t)
	tools, cut := 0, 0
	for _, limit := range []int{DefaultMaxTool, 6 << 10} {
		for _, s := range corpusSpecs(t, dir) {
			res, ops := compileAll(t, corpusSource(t, dir, s), Options{Limits: Limits{MaxTool: limit}})
			for _, w := range res.Warnings {
				if w.Code == codeToolCut {
					cut++
				}
			}
			for _, op := range ops {
				tools++
				var root struct {
					Properties map[string]map[string]any
					Required   []string
				}
				if err := strict(op.InputSchema, &root); err != nil {
					t.Fatal(err)
				}
				for _, p := range op.Plan.Params {
					if p.Arg != "" && p.Required && root.Properties[p.Arg] == nil {
						t.Errorf("%s %s %s: %s is not published", s.id, op.Method, op.Path, p.Arg)
					}
				}
				b := op.Plan.Body
				if b == nil || b.Arg == "" || b.Schema == nil || b.Schema.Type != operation.TypeObject || len(b.Schema.Properties) == 0 {
					continue
				}
				if p := root.Properties[b.Arg]; p["properties"] == nil && p["anyOf"] == nil {
					t.Errorf("%s %s %s: the body is any object: %v", s.id, op.Method, op.Path, p)
				}
			}
		}
	}
	t.Logf("%d tools, %d simplified", tools, cut)
	if tools < 30_000 || cut == 0 {
		t.Errorf("%d tools, %d simplified", tools, cut)
	}
}
