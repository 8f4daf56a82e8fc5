package arazzo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/sluicegate/sluice/plugins/arazzo"
)

// mock is an answer that a runner's own test gives.
type mock struct {
	Path, URL, Method string
	Status            int `yaml:"status_code"`
	Response          any
	Query             map[string]any `yaml:"query_params"`
	Params            map[string]any `yaml:"request_params"`
}

// suite is the test of a runner about its own documents.
type suite struct {
	Mocks     map[string][]mock `yaml:"custom_mocks"`
	Workflows []struct {
		ID      string
		Inputs  map[string]any
		Params  map[string]any
		Success bool           `yaml:"expect_success"`
		Outputs map[string]any `yaml:"expected_outputs"`
		Calls   int            `yaml:"expected_api_calls"`
		Mocks   []mock         `yaml:"custom_mocks"`
	}
}

// mocked answers calls as the mocks say: the most exact one counts.
type mocked struct {
	t          *testing.T
	operations map[string][2]string // method, path
	mocks      []mock

	mu    sync.Mutex
	calls []string
}

func (m *mocked) Call(_ context.Context, c *arazzo.Call) (*arazzo.Response, error) {
	op, ok := operationOf(m.operations, c.Operation)
	if !ok {
		return nil, fmt.Errorf("no operation %q", c.Operation)
	}
	path, query := op[1], map[string]any{}
	for _, p := range c.Parameters {
		switch p.In {
		case "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", fmt.Sprint(p.Value))
		case "query":
			query[p.Name] = p.Value
		}
	}
	m.mu.Lock()
	m.calls = append(m.calls, op[0]+" "+path)
	m.mu.Unlock()
	best, found := -1, -1
	for i := range m.mocks {
		x := &m.mocks[i]
		at := x.Path + x.URL
		if u, err := url.Parse(at); err == nil && u.Host != "" {
			at = u.Path
		}
		weight := len(x.Query) + len(x.Params)
		exact := strings.HasSuffix(at, path)
		if !strings.EqualFold(x.Method, op[0]) || !exact && !strings.HasSuffix(at, op[1]) {
			continue
		}
		for name, v := range x.Query {
			if fmt.Sprint(query[name]) != fmt.Sprint(v) {
				weight = -100
			}
		}
		for name, v := range x.Params {
			if fmt.Sprint(query[name]) != fmt.Sprint(v) {
				weight = -100
			}
		}
		if exact {
			weight += 10
		}
		if weight >= 0 && weight > best {
			best, found = weight, i
		}
	}
	r := &arazzo.Response{URL: "https://mock.test" + path, Method: op[0], Status: 404, Error: "HTTP 404: there is no mock", Header: func(string) string { return "" }}
	if found >= 0 {
		x := &m.mocks[found]
		text, err := json.Marshal(x.Response)
		if err != nil {
			return nil, err
		}
		r.Status, r.Error = x.Status, ""
		if x.Status > 299 {
			r.Error = fmt.Sprintf("HTTP %d", x.Status)
		}
		r.Body, err = arazzo.Decode(text)
		return r, err
	}
	return r, nil
}

// operationOf finds an operation by its id, or by its path: xkcdApi#/paths/~1info/get.
func operationOf(all map[string][2]string, name string) ([2]string, bool) {
	_, pointer, byPath := strings.Cut(name, "#/paths/")
	if i := strings.LastIndexByte(pointer, '/'); byPath && i > 0 {
		return [2]string{strings.ToUpper(pointer[i+1:]), strings.NewReplacer("~1", "/", "~0", "~").Replace(pointer[:i])}, true
	}
	op, ok := all[name]
	return op, ok
}

// readOperations adds the operations of an OpenAPI document, by operationId.
func readOperations(t *testing.T, name string, to map[string][2]string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]any
	}
	if yaml.Unmarshal(data, &doc) != nil {
		return
	}
	for path, item := range doc.Paths {
		for method, op := range item {
			if o, ok := op.(map[string]any); ok && o["operationId"] != nil {
				to[fmt.Sprint(o["operationId"])] = [2]string{strings.ToUpper(method), path}
			}
		}
	}
}

// departs are outputs that a runner's test names and its document does not give, with the
// reason: each was read and judged.
var departs = map[string]string{
	"xkcd/date": "the document says date: null, with a remark that it cannot join texts yet",
}

// TestRunners runs the documents that a runner brings for its own tests against their mocks:
// each ends as that runner says, with its outputs and its number of calls.
func TestRunners(t *testing.T) {
	root := os.Getenv("SLUICE_CORPUS")
	if root == "" {
		t.Skip("SLUICE_CORPUS is not set")
	}
	suites, err := filepath.Glob(filepath.Join(root, "arazzo", "jentic", "runner", "tests", "fixtures", "*", "test_config.yaml"))
	if err != nil || len(suites) == 0 {
		t.Skip("SLUICE_CORPUS has no runner's tests")
	}
	ran := 0
	for _, name := range suites {
		dir := filepath.Dir(name)
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var s suite
		if err := yaml.Unmarshal(data, &s); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		operations, documents := map[string][2]string{}, []*arazzo.Document{}
		files, _ := filepath.Glob(filepath.Join(dir, "*"))
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil || f == name {
				continue
			}
			if d, err := arazzo.Parse(f, text); err == nil {
				documents = append(documents, d)
			} else {
				readOperations(t, f, operations)
			}
		}
		var mocks []mock
		for _, list := range s.Mocks {
			mocks = append(mocks, list...)
		}
		for i, w := range s.Workflows {
			label := filepath.Base(dir) + "/" + w.ID + "/" + fmt.Sprint(i)
			at := slices.IndexFunc(documents, func(d *arazzo.Document) bool { return d.Workflow(w.ID) != nil })
			if at < 0 {
				continue // a suite of workflows that are not there
			}
			t.Run(label, func(t *testing.T) {
				d := documents[at]
				known := map[string]arazzo.Operation{}
				for _, st := range d.Operations() {
					op, _ := operationOf(operations, st.Operation)
					known[st.Operation] = arazzo.Operation{Tool: st.Operation, Method: op[0], Path: op[1], ReadOnly: op[0] == "GET"}
				}
				p, err := d.Plan(known)
				if err != nil {
					t.Fatal(err)
				}
				given := w.Inputs
				if given == nil {
					given = w.Params
				}
				text, _ := json.Marshal(given)
				in, _ := arazzo.Decode(text)
				inputs, _ := in.(map[string]any)
				m := &mocked{t: t, operations: operations, mocks: append(slices.Clone(w.Mocks), mocks...)}
				r, err := p.Run(t.Context(), w.ID, inputs, m)
				if err != nil {
					t.Fatal(err)
				}
				ran++
				if ok := r.Failure == nil; ok != w.Success {
					t.Fatalf("it succeeded: %t (%v), the runner says %t; calls %v", ok, r.Failure, w.Success, m.calls)
				}
				if w.Calls > 0 && len(m.calls) != w.Calls {
					t.Errorf("%d calls %v, the runner makes %d", len(m.calls), m.calls, w.Calls)
				}
				got := map[string]any{}
				for _, o := range r.Outputs {
					got[o.Name] = o.Value
				}
				for name, want := range w.Outputs {
					if departs[filepath.Base(dir)+"/"+name] != "" {
						continue
					}
					value, has := got[name]
					if !has && strings.Contains(name, ".") {
						continue // of a step: not part of what a workflow gives
					}
					a, _ := json.Marshal(value)
					b, _ := json.Marshal(want)
					var x, y any
					if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil || !reflect.DeepEqual(x, y) {
						t.Errorf("output %s: %s, the runner has %s", name, a, b)
					}
				}
			})
		}
	}
	t.Logf("%d runs of %d suites", ran, len(suites))
}
