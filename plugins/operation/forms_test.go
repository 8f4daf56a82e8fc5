package operation

import (
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
)

// TestForms: alternatives are checked by their discriminator, else each of them as
// a whole, and every group of them.
func TestForms(t *testing.T) {
	str, integer := &Schema{Type: TypeString}, &Schema{Type: TypeInteger}
	list := func(s *Schema) *Schema { return &Schema{Type: TypeArray, Items: s} }
	kind := func(name string, member Property) *Schema {
		return &Schema{Type: TypeObject, Required: []string{"kind", member.Name}, Properties: []Property{{"kind", &Schema{Type: TypeString, Enum: []string{`"` + name + `"`}}}, member}}
	}
	pet := &Schema{Type: TypeObject, Disc: "kind", AnyOf: []*Schema{kind("cat", Property{"lives", integer}), kind("dog", Property{"lives", str})}}
	nested := &Schema{AnyOf: []*Schema{str, list(str), list(integer), list(list(integer))}}
	needs := func(names ...string) *Schema { return &Schema{Required: names} }
	two := &Schema{
		Type: TypeObject, AnyOf: []*Schema{needs("a"), needs("b", "c")},
		All: []*Schema{{Type: TypeObject, AnyOf: []*Schema{needs("d"), needs("e")}}},
	}
	// want is the JSON that is sent, or "!pointer: part of the message".
	f := func(s *Schema, value, want string) {
		t.Helper()
		c := compile(t, checkPlan(s))
		args := parse(t, `{"id":1,"v":`+value+`}`)
		err := c.Check(args)
		if refused, ok := strings.CutPrefix(want, "!"); ok {
			pointer, text, _ := strings.Cut(refused, ": ")
			p := problem.As(err)
			if p == nil || p.Place.Pointer != pointer || !strings.Contains(p.Detail, text) {
				t.Errorf("%s: got %v, want %s", value, err, want)
			}
			return
		}
		var r Request
		if err != nil {
			t.Errorf("%s: %v", value, err)
		} else if err := c.Build(&r, args); err != nil || string(r.Body) != want {
			t.Errorf("%s: %v, sent %s, want %s", value, err, r.Body, want)
		}
	}
	f(pet, `{"kind":"cat","lives":9}`, `{"kind":"cat","lives":9}`)
	f(pet, `{"kind":"cat","lives":"9"}`, `{"kind":"cat","lives":9}`)
	f(pet, `{"kind":"dog","lives":9}`, `{"kind":"dog","lives":"9"}`)
	f(pet, `{"kind":"cat"}`, `!/v/lives: required but missing, expected integer (kind is "cat")`)
	f(pet, `{"kind":"bird"}`, `!/v/kind: expected one of "cat", "dog", got string "bird"`)
	f(pet, `{"kind":5}`, `!/v/kind: expected one of "cat", "dog", got 5`)
	f(pet, `{"lives":9}`, `!/v/kind: required but missing, expected one of "cat", "dog"`)
	f(list(pet), `[{"kind":"cat","lives":1},{"kind":"dog"}]`, `!/v/1/lives: required but missing, expected string (kind is "dog")`)
	// null stays where one of the forms has it: it is the one that is meant.
	zip := func(t Type) *Schema {
		return &Schema{Type: TypeObject, Required: []string{"city"}, Properties: []Property{{"city", str}, {"zip", &Schema{Type: t}}}}
	}
	address := &Schema{AnyOf: []*Schema{str, zip(TypeString), zip(TypeString | TypeNull)}}
	f(address, `{"city":"a","zip":null}`, `{"city":"a","zip":null}`)
	f(&Schema{AnyOf: []*Schema{integer, address}}, `{"city":"a","zip":null}`, `{"city":"a","zip":null}`)
	f(address, `{"city":"a","zip":1}`, `{"city":"a","zip":"1"}`)
	f(&Schema{AnyOf: []*Schema{str, zip(TypeString)}}, `{"city":"a","zip":null}`, `{"city":"a"}`)
	f(nested, `[3]`, `[3]`)
	f(nested, `["3"]`, `["3"]`)
	f(nested, `[[3]]`, `[[3]]`)
	f(nested, `[[3],["4"]]`, `[[3],[4]]`)
	f(two, `{"a":1,"d":1}`, `{"a":1,"d":1}`)
	f(two, `{"b":1,"c":1,"e":1}`, `{"b":1,"c":1,"e":1}`)
	f(two, `{"b":1,"e":1}`, `!/v: one of these must be given: a, or b and c`)
	f(two, `{"a":1}`, `!/v: one of these must be given: d, or e`)
	f(&Schema{Enum: []string{"1", `"auto"`}, Type: TypeInteger | TypeString}, `"1"`, `1`)
	f(&Schema{Enum: []string{"1", `"1"`}, Type: TypeInteger | TypeString}, `"1"`, `"1"`)
	f(&Schema{Enum: []string{"1", `"auto"`}, Type: TypeInteger | TypeString}, `"2"`, `!/v: expected one of 1, "auto", got string "2"`)
}

// TestBodyPlans: plans whose bodies contradict themselves are refused.
func TestBodyPlans(t *testing.T) {
	f := func(want string, b *Body) {
		t.Helper()
		p := &Plan{Version: 1, Method: "PUT", Path: "/{id}", Params: []Param{{Arg: "id", Name: "id", In: InPath, Required: true}}, Body: b}
		if _, err := p.Compile(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	f(`"b", which is not one of its members`, &Body{MediaType: "application/json", Fields: []Field{{Arg: "a", Name: "a"}}, Needs: [][][]string{{{"a"}, {"b"}}}})
	f("needs 2 members, and has 1", &Body{MediaType: "application/json", Fields: []Field{{Arg: "a", Name: "a"}}, Least: 2})
	f(`no argument "x" to stand in`, &Body{MediaType: "application/json", Fields: []Field{{Arg: "a", Else: "x", Name: "a"}}})
	f("has variants", &Body{MediaType: "application/json", Arg: "a", Variants: []Body{{MediaType: "image/png", Arg: "b", Variants: []Body{{MediaType: "image/gif", Arg: "c"}}}}})
	f("needs one argument", &Body{MediaType: "application/json", Arg: "a", Variants: []Body{{MediaType: "image/png"}}})
}
