package openapi

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/operation"
)

// argumentsFor makes random arguments that the published schema allows.
type argumentsFor struct{ r *rand.Rand }

func (g *argumentsFor) object(s map[string]any, depth int) map[string]any {
	out := map[string]any{}
	props, _ := s["properties"].(map[string]any)
	required := map[string]bool{}
	list, _ := s["required"].([]any)
	for _, n := range list {
		required[n.(string)] = true
	}
	file := props["data"] != nil && props["filename"] != nil
	for _, name := range slices.Sorted(maps.Keys(props)) { // the same arguments in every run
		p := props[name]
		if required[name] || !file && g.r.IntN(2) == 0 || file && name == "data" {
			out[name] = g.value(p.(map[string]any), depth+1)
		}
	}
	if file {
		out["data"] = "aGVsbG8="
	}
	return out
}

func (g *argumentsFor) value(s map[string]any, depth int) any {
	if branches, ok := s["anyOf"].([]any); ok {
		return g.value(branches[g.r.IntN(len(branches))].(map[string]any), depth)
	}
	if e, ok := s["enum"].([]any); ok {
		return e[g.r.IntN(len(e))]
	}
	bound := func(name string, def int) int {
		if n, ok := s[name].(json.Number); ok {
			if i, err := n.Int64(); err == nil {
				return int(i)
			}
		}
		return def
	}
	switch s["type"] {
	case "object":
		return g.object(s, depth)
	case "array":
		n := bound("minItems", 0)
		if depth < 6 && n < bound("maxItems", 3) {
			n += g.r.IntN(2)
		}
		out := []any{}
		for range min(n, 50) {
			out = append(out, g.value(s["items"].(map[string]any), depth+1))
		}
		return out
	case "integer", "number":
		lo := bound("minimum", 1)
		return lo + g.r.IntN(max(1, min(3, bound("maximum", lo+3)-lo+1)))
	case "boolean":
		return g.r.IntN(2) == 0
	case "string":
		if s["format"] == "date-time" {
			return "2026-01-02T03:04:05Z"
		}
		return strings.Repeat("a", min(max(1, bound("minLength", 1)), 5000))
	default:
		return "anything"
	}
}

// agreement counts what became of random arguments.
type agreement struct {
	accepted, refused, built int
	example                  string
}

// try compiles the plan, checks random arguments of the published schema and
// builds the request. Published and private schema agree when the arguments are
// accepted, or refused with a pointer to what only the private one says (formats,
// patterns, multiples).
func (a *agreement) try(t *testing.T, g *argumentsFor, op *operation.Operation) {
	t.Helper()
	c, err := op.Plan.Compile()
	if err != nil {
		t.Errorf("%s %s: the plan does not compile: %v", op.Method, op.Path, err)
		return
	}
	decoded, err := operation.DecodePlan(op.Plan.Append(nil))
	if err != nil {
		t.Errorf("%s %s: the plan does not survive encoding: %v", op.Method, op.Path, err)
		return
	}
	_ = decoded
	var root map[string]any
	if err := strict(op.InputSchema, &root); err != nil {
		t.Fatal(err)
	}
	args, err := json.Marshal(g.object(root, 0))
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonscan.Parse(args, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Check(v); err != nil {
		p := problem.As(err)
		if p == nil || p.Kind != problem.InvalidArguments || len(p.Parts) == 0 || p.Parts[0].Place.Pointer == "" {
			t.Errorf("%s %s: %s: %v", op.Method, op.Path, args, err)
		}
		for _, part := range p.Parts {
			missing := strings.Contains(part.Detail, "missing")
			if op.Plan.Body != nil && len(op.Plan.Body.Variants) > 0 || strings.Contains(part.Detail, "one of these must be given") {
				continue // said in words: a list of members, the other form of a body
			}
			if missing && (strings.Contains(op.Description, "With a body, required") || strings.Count(part.Place.Pointer, "/") > 1) {
				// Optional bodies are described in words, and merged alternatives
				// require only what all of them do.
				continue
			}
			if strings.Contains(part.Detail, "unknown") || strings.Contains(part.Detail, "no argument") || missing {
				t.Errorf("%s %s: %s: published and plan disagree: %v", op.Method, op.Path, args, part)
			}
		}
		a.refused++
		a.example = op.Method + " " + op.Path + ": " + err.Error()
		return
	}
	a.accepted++
	var req operation.Request
	if err := c.Build(&req, v); err != nil {
		if !problem.Is(err, problem.InvalidArguments) {
			t.Errorf("%s %s: %s: %v", op.Method, op.Path, args, err)
		}
		return
	}
	a.built++
	if req.Method != op.Method || len(req.Target) == 0 || req.Target[0] != '/' {
		t.Errorf("%s %s: request %s %s", op.Method, op.Path, req.Method, req.Target)
	}
}

func TestPublishedAndPlanAgree(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.*")
	if err != nil {
		t.Fatal(err)
	}
	var a agreement
	g := &argumentsFor{rand.New(rand.NewPCG(7, 7))}
	for _, file := range files {
		if strings.HasSuffix(file, ".golden") {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, ops := compileAll(t, Source{Name: file, Data: data}, Options{})
		for _, op := range ops {
			for range 40 {
				a.try(t, g, op)
			}
		}
	}
	if a.accepted < 1000 || a.built < 1000 {
		t.Errorf("%+v: too few arguments were accepted", a)
	}
}

func TestPublishedAndPlanAgreeOnCorpus(t *testing.T) {
	dir := corpusDir(t)
	var a agreement
	for i, s := range corpusSpecs(t, dir) {
		g := &argumentsFor{rand.New(rand.NewPCG(uint64(i), 1))}
		before := a
		_, ops := compileAll(t, corpusSource(t, dir, s), Options{})
		for _, op := range ops {
			a.try(t, g, op)
		}
		if refused, all := a.refused-before.refused, len(ops); refused*10 > all && all > 20 {
			t.Logf("%s: %d of %d refused, for example %s", s.id, refused, all, a.example)
		}
	}
	t.Logf("%+v", a)
	if a.accepted < 1000 || a.built < 1000 {
		t.Errorf("%+v: too few arguments were accepted", a)
	}
	if a.refused*10 > a.accepted {
		t.Errorf("%+v: more than a tenth of what the published schemas allow is refused", a)
	}
}
