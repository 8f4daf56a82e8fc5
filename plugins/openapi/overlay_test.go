package openapi

import (
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
)

const overlaidSpec = `{"openapi":"3.1.0","info":{"title":"Shop","version":"1"},"servers":[{"url":"https://a.example.test"}],
"tags":["x"],"paths":{
"/pets":{"get":{"operationId":"listPets","summary":"Old","tags":["x"],"parameters":[{"name":"q","in":"query","schema":{"type":"string"}}],"responses":{}},
 "post":{"operationId":"createPet","x-internal":true,"responses":{}}},
"/owners":{"get":{"operationId":"listOwners","x-internal":true,"responses":{}}},
"/big":{"get":{"operationId":"big","parameters":[{"name":"n","in":"query","schema":{"type":"integer","maximum":9007199254740991,"default":9007199254740991}}],"responses":{}}}}}`

func overlaid(t *testing.T, overlays ...string) (*Result, string, error) {
	t.Helper()
	src := Source{Name: "shop.json", Data: []byte(overlaidSpec)}
	for _, o := range overlays {
		src.Overlays = append(src.Overlays, Overlay{Name: "change.yaml", Data: []byte(o)})
	}
	var b strings.Builder
	var c compiler
	c.ctx, c.src, c.file, c.limits = t.Context(), src, src.Name, Limits{}.withDefaults()
	d, _, err := read(t.Context(), src.Data, c.limits)
	if err != nil {
		t.Fatal(err)
	}
	if d, err = c.overlaid(d); err != nil {
		_, again := Compile(t.Context(), src, Options{})
		if again == nil {
			t.Errorf("Compile accepts what is refused with %v", err)
		}
		return nil, "", err
	}
	writeValue(&b, d.root())
	res, _ := compileAll(t, src, Options{})
	return res, b.String(), nil
}

// writeValue prints a document as JSON, numbers digit for digit.
func writeValue(b *strings.Builder, v value) {
	switch v.kind() {
	case kindObject:
		b.WriteString("{")
		first := true
		for k, m := range v.members() {
			if !first {
				b.WriteString(",")
			}
			first = false
			b.WriteString(`"` + k.text() + `":`)
			writeValue(b, m)
		}
		b.WriteString("}")
	case kindArray:
		b.WriteString("[")
		for i, m := range v.elements() {
			if i > 0 {
				b.WriteString(",")
			}
			writeValue(b, m)
		}
		b.WriteString("]")
	case kindString:
		b.WriteString(`"` + v.text() + `"`)
	default:
		b.WriteString(v.text())
	}
}

func TestOverlay(t *testing.T) {
	f := func(actions string, wants ...string) {
		t.Helper()
		_, got, err := overlaid(t, "overlay: 1.1.0\ninfo: {title: o, version: '1'}\nactions:\n"+actions)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if absent, not := strings.CutPrefix(want, "!"); not {
				if strings.Contains(got, absent) {
					t.Errorf("%s\n%s\nhas %s", actions, got, absent)
				}
			} else if !strings.Contains(got, want) {
				t.Errorf("%s\n%s\nwant %s", actions, got, want)
			}
		}
	}
	f("- {target: $.info, update: {title: New, x: 1}}", `"info":{"title":"New","version":"1","x":1}`)
	f("- {target: '$.paths.*[?@[\"x-internal\"]==true]', remove: true}", `!createPet`, `!listOwners`, `listPets`, `"/owners":{}`)
	f("- {target: \"$.paths['/pets'].get.summary\", update: Newer}", `"summary":"Newer"`)
	f("- {target: $.tags, update: y}", `"tags":["x","y"]`)
	f("- {target: $.tags, update: [y, z]}", `"tags":["x","y","z"]`)
	f("- {target: \"$.paths['/pets'].get\", update: {tags: [y]}}", `"tags":["x","y"]`)
	f("- {target: '$.tags[0]', remove: true}", `"tags":[]`)
	f("- {target: $..operationId, remove: true}", `!operationId`)
	f("- {target: \"$.paths['/owners']\", copy: \"$.paths['/big']\"}", `"/owners":{"get":{"operationId":"big"`)
	f("- {target: $.info, update: {a: 1}, copy: $.tags, remove: false}", `"a":1`)
	f("- {target: $.info, update: {a: 1}, remove: true}", `!"info"`)
	// Nothing but what is targeted changes, order and digits included.
	f("- {target: $.info, update: {version: '2'}}", `"maximum":9007199254740991,"default":9007199254740991`)
	f("- {target: $.info.title, update: {a: 1}}", `"title":"Shop"`)
	f("- {target: $.nothing, update: 1}", `"title":"Shop"`)
	f("- {target: $.info, update: {x: {}}}\n- {target: $.info.x, update: {y: 1}}", `"x":{"y":1}`)
}

func TestOverlayDiagnostics(t *testing.T) {
	const head = "overlay: 1.0.0\ninfo: {title: o, version: '1'}\nactions:\n"
	codes := func(o string) map[string]string {
		res, _, err := overlaid(t, o)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for _, w := range res.Warnings {
			out[w.Code] = w.File + w.Pointer
		}
		return out
	}
	if at := codes(head + "- {target: $.nothing, update: 1}")[codeOverlayNoMatch]; at != "change.yaml/actions/0/target" {
		t.Errorf("no match is reported at %q", at)
	}
	if at := codes(head + "- {target: $.info, update: 1}")[codeOverlayConflict]; at != "change.yaml/actions/0/target" {
		t.Errorf("a conflict is reported at %q", at)
	}
	if at := codes(head + "- {target: $.info, copy: $.tags}")[codeOverlayNoMatch]; at != "change.yaml/actions/0" {
		t.Errorf("copy of 1.1 in a 1.0 overlay is reported at %q", at)
	}
	f := func(o, words string) {
		t.Helper()
		_, _, err := overlaid(t, o)
		if !problem.Is(err, problem.InvalidSpec) || !strings.Contains(err.Error(), words) || problem.As(err).Place.File != "change.yaml" {
			t.Errorf("%s: %v, want %s", o, err, words)
		}
	}
	f("overlay: 2.0.0\nactions: [{target: $, update: {}}]", "2.0.0")
	f("openapi: 3.0.0", "version")
	f("overlay: 1.0.0\nactions: []", "no actions")
	f(head+"- {update: 1}", "no target")
	f(head+"- {target: '$[', remove: true}", "not a JSONPath")
	f(head+"- {target: $..a..b..c, remove: true}", "costs too much")
	f(head+"- {target: '$.a[?@..b]', remove: true}", "costs too much")
	f(head+"- {target: '$."+strings.Repeat("a", maxTarget)+"', remove: true}", "costs too much")
	f(head+strings.Repeat("- {target: $.info, update: {}}\n", maxActions+1), "more than 1000 actions")
	f(": :", "")
	var many []string
	for range MaxOverlays + 1 {
		many = append(many, head+"- {target: $.info, update: {}}")
	}
	if _, _, err := overlaid(t, many...); err == nil || !strings.Contains(err.Error(), "overlays") {
		t.Errorf("%d overlays: %v", len(many), err)
	}
	if _, _, err := overlaid(t, many[:MaxOverlays]...); err != nil {
		t.Errorf("%d overlays: %v", MaxOverlays, err)
	}
	if _, _, err := overlaid(t, head+strings.Repeat("- {target: $.info, update: {}}\n", maxActions)); err != nil {
		t.Errorf("%d actions: %v", maxActions, err)
	}
}

// TestOverlayPlaces: findings name the place in the text that the author knows,
// and the overlay is part of what the digest names.
func TestOverlayPlaces(t *testing.T) {
	doc := []byte("openapi: 3.0.3\ninfo: {title: t, version: '1'}\npaths:\n  /a:\n    get:\n      parameters:\n        - {name: q, in: qeury}\n      responses: {}\n")
	src := Source{Name: "x", Data: doc}
	plain, _ := compileAll(t, src, Options{})
	src.Overlays = []Overlay{{Name: "o", Data: []byte("overlay: 1.0.0\nactions: [{target: $.info, update: {title: New}}]")}}
	changed, _ := compileAll(t, src, Options{})
	if changed.API.Title != "New" || changed.Digest == plain.Digest || changed.Format != "yaml" {
		t.Errorf("%+v", changed)
	}
	if len(plain.Warnings) == 0 || len(changed.Warnings) != len(plain.Warnings) || changed.Warnings[0] != plain.Warnings[0] {
		t.Errorf("findings\n%v\n%v", plain.Warnings, changed.Warnings)
	}
}

func FuzzOverlay(f *testing.F) {
	f.Add(overlaidSpec, "overlay: 1.1.0\nactions: [{target: '$..get', update: {a: 1}}, {target: $.info, copy: $.tags}]")
	f.Add("openapi: 3.0.0\npaths: &a {x: *a}", "overlay: 1.0.0\nactions: [{target: '$.paths[?@.x]', remove: true}]")
	f.Fuzz(func(t *testing.T, spec, overlay string) {
		src := Source{Name: "s", Data: []byte(spec), Overlays: []Overlay{{Name: "o", Data: []byte(overlay)}}}
		one, err := Compile(t.Context(), src, Options{})
		if err != nil {
			if problem.As(err) == nil {
				t.Fatalf("not a problem: %v", err)
			}
			return
		}
		two, err := Compile(t.Context(), src, Options{})
		if err != nil || one.Digest != two.Digest || one.Tools != two.Tools || len(one.Warnings) != len(two.Warnings) {
			t.Fatalf("differs: %v %v", one, two)
		}
	})
}
