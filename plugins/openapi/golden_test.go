package openapi

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/operation"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// describeOp writes an operation so that a person can review it.
func describeOp(w *bytes.Buffer, op *operation.Operation) {
	a := op.Annotations
	flags := ""
	for _, f := range []struct {
		on   bool
		name string
	}{{a.ReadOnly, "read-only"}, {a.Destructive, "destructive"}, {a.Idempotent, "idempotent"}, {a.OpenWorld, "open-world"}, {op.Deprecated, "deprecated"}} {
		if f.on {
			flags += " " + f.name
		}
	}
	plan, _ := json.Marshal(op.Plan)
	fmt.Fprintf(w, "== %s  [%s %s]%s\n%d %s\ntitle: %s\ntext:  %s\ninput: %s\n", op.Name, op.Method, op.Path, flags, op.Line, op.Pointer, op.Title, op.Description, op.InputSchema)
	if op.OutputSchema != nil {
		fmt.Fprintf(w, "output: %s\n", op.OutputSchema)
	}
	if op.Response != nil {
		fmt.Fprintf(w, "response: %s\n", responseShape(op.Response, 0))
	}
	fmt.Fprintf(w, "plan: %s\n", plan)
	if op.Security != nil {
		fmt.Fprintf(w, "security: %v\n", op.Security)
	}
	if op.Servers != nil {
		fmt.Fprintf(w, "servers: %+v\n", op.Servers)
	}
	w.WriteByte('\n')
}

func responseShape(s *operation.Schema, depth int) string {
	if s == nil {
		return "any"
	}
	if depth > 3 {
		return "…"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d", s.Type)
	if s.Name != "" {
		b.WriteString(":" + s.Name)
	}
	if len(s.Properties) > 0 {
		b.WriteByte('{')
		for i, p := range s.Properties {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(p.Name + "=" + responseShape(p.Schema, depth+1))
		}
		b.WriteByte('}')
	}
	if s.Items != nil {
		b.WriteString("[" + responseShape(s.Items, depth+1) + "]")
	}
	for _, a := range s.AnyOf {
		b.WriteString("|" + responseShape(a, depth+1))
	}
	return b.String()
}

// TestGolden compiles the small specifications of testdata/golden, one for each
// group of rules, and compares everything that comes out. It is also the proof
// that the same bytes in give the same bytes out.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.*")
	if err != nil || len(files) == 0 {
		t.Fatal(err, "no fixtures")
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".golden") {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := compileToText(t, filepath.Base(file), data)
			if again := compileToText(t, filepath.Base(file), data); again != got {
				t.Error("two compilations differ")
			}
			golden := file + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if string(want) != got {
				t.Errorf("differs from %s (rewrite with -update and review):\n%s", golden, firstDifference(string(want), got))
			}
		})
	}
}

func compileToText(t *testing.T, name string, data []byte) string {
	t.Helper()
	var w bytes.Buffer
	rules := newClientRules(t)
	res, err := Compile(t.Context(), Source{Name: name, Data: data}, Options{Each: func(op *operation.Operation) error {
		rules.tool(op)
		describeOp(&w, op)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	var head bytes.Buffer
	fmt.Fprintf(&head, "%s %s: %s (%s) %s, %d operations, %d tools\n%s\n", res.Format, res.SpecVersion, res.API.Title, res.API.Name, res.API.Version, res.Operations, res.Tools, res.API.Description)
	for _, s := range res.API.Servers {
		fmt.Fprintf(&head, "server %+v\n", s)
	}
	for _, s := range res.API.Schemes {
		fmt.Fprintf(&head, "scheme %+v\n", s)
	}
	fmt.Fprintf(&head, "security %v\n\n", res.API.Security)
	head.Write(w.Bytes())
	for _, u := range res.Unsupported {
		fmt.Fprintf(&head, "unsupported %d %s %s %s: %s: %s\n", u.Line, u.Pointer, u.Method, u.Path, u.Code, u.Reason)
	}
	for _, d := range res.Warnings {
		fmt.Fprintf(&head, "%s %d:%d %s %s: %s (%s)\n", d.Severity, d.Line, d.Column, d.Pointer, d.Code, d.Detail, d.Remedy)
	}
	return head.String()
}

func firstDifference(a, b string) string {
	al, bl := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range al {
		if i >= len(bl) || al[i] != bl[i] {
			got := "(end)"
			if i < len(bl) {
				got = bl[i]
			}
			return fmt.Sprintf("line %d\nwant %s\ngot  %s", i+1, al[i], got)
		}
	}
	return "got has more lines"
}
