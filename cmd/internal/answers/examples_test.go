package answers

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/sluicegate/sluice/plugins/enginepool"
	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/registry"
)

// asked are questions about answers that are examples in specifications with which no
// rule was made: where the example is, and what users would ask of it. They were written
// from the examples before a shortened form was seen; the specifications are not ours to
// publish.
//
//go:embed testdata/examples.jsonl
var asked []byte

// TestExamples asks them where SLUICE_EXAMPLES names a directory that has these
// specifications as NAME.json, .yaml or .yml.
func TestExamples(t *testing.T) {
	dir := os.Getenv("SLUICE_EXAMPLES")
	if dir == "" {
		t.Skip("SLUICE_EXAMPLES names no directory of specifications")
	}
	h, err := enginepool.New(context.Background(), enginepool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.Close(context.Background()) }()
	type spec struct {
		api *API
		doc any
	}
	specs := map[string]*spec{}
	m, scores, answers := &Measurer{Host: h}, map[string]Score{}, 0
	lines := bufio.NewScanner(bytes.NewReader(asked))
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var c struct {
			Spec, Operation, At string
			Status              int
			Ask                 []Question
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		s, known := specs[c.Spec]
		if !known {
			name, data := specification(dir, c.Spec)
			if data != nil {
				s = new(spec)
				if s.api, err = Compile(context.Background(), openapi.Source{Name: name, Data: data}); err != nil {
					t.Fatal(name, err)
				}
				if json.Unmarshal(data, &s.doc) != nil {
					if err := yaml.Unmarshal(data, &s.doc); err != nil {
						t.Fatal(name, err)
					}
				}
				s.doc = asJSON(s.doc)
			}
			specs[c.Spec] = s
		}
		if s == nil {
			continue // it is not there
		}
		example, is := inDocument(s.doc, c.At)
		if text, isText := example.(string); isText {
			is = json.Unmarshal([]byte(text), &example) == nil
		}
		if !is {
			t.Errorf("%s has no %s", c.Spec, c.At)
			continue
		}
		body, err := json.Marshal(example)
		if err != nil {
			t.Fatal(err)
		}
		op, err := s.api.Find(c.Operation)
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.Measure(s.api, op, body, Wish{Profile: registry.ProfileConcise, Status: c.Status})
		if err != nil {
			t.Fatalf("%s %s: %v", c.Spec, c.Operation, err)
		}
		text, _, err := Decode(got.Concise)
		if err != nil {
			t.Fatalf("%s %s: %v", c.Spec, c.Operation, err)
		}
		before, after := anyOf(body), anyOf(text)
		answers++
		for _, q := range c.Ask {
			sum := scores[q.Class]
			sum.All++
			if slices.ContainsFunc(q.Pointers, func(p string) bool { return !sameAt(before, after, p) }) {
				t.Logf("%s, %s: %s: %s is lost", c.Spec, c.Operation, q.Question, strings.Join(q.Pointers, " "))
			} else {
				sum.Answered++
			}
			scores[q.Class] = sum
		}
	}
	if answers == 0 {
		t.Fatalf("none of the specifications is in %s", dir)
	}
	for _, class := range slices.Sorted(maps.Keys(scores)) {
		s := scores[class]
		t.Logf("%s: %d of %d, %.1f %%", class, s.Answered, s.All, s.Share())
		if allowed := max(1, s.All/50); s.All-s.Answered > allowed {
			t.Errorf("%s: %d of %d are lost, at most %d may be", class, s.All-s.Answered, s.All, allowed)
		}
	}
	t.Logf("%d answers", answers)
}

// specification reads a specification, nil when it is not there.
func specification(dir, name string) (string, []byte) {
	for _, ending := range []string{".json", ".yaml", ".yml"} {
		if data, err := os.ReadFile(filepath.Join(dir, name+ending)); err == nil {
			return name + ending, data
		}
	}
	return "", nil
}

// asJSON gives objects names that are texts and times that are written as JSON has them.
func asJSON(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = asJSON(e)
		}
	case map[any]any:
		out := map[string]any{}
		for k, e := range v {
			name, _ := json.Marshal(k)
			if text, is := k.(string); is {
				out[text] = asJSON(e)
			} else {
				out[string(name)] = asJSON(e)
			}
		}
		return out
	case []any:
		for i, e := range v {
			v[i] = asJSON(e)
		}
	case time.Time:
		return v.Format(time.RFC3339)
	}
	return v
}

// inDocument is what a pointer leads to, through references.
func inDocument(doc any, pointer string) (any, bool) {
	v := doc
	for _, token := range strings.Split(pointer, "/")[1:] {
		next, ok := valueAt(v, "/"+token)
		for range 10 { // references to references
			o, _ := next.(map[string]any)
			ref, is := o["$ref"].(string)
			if !is || !strings.HasPrefix(ref, "#/") {
				break
			}
			next, ok = inDocument(doc, ref[1:])
		}
		if !ok {
			return nil, false
		}
		v = next
	}
	return v, true
}
