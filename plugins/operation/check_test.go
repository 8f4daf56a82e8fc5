package operation

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
)

// checkPlan has one JSON body argument "v" of the schema, and two parameters.
func checkPlan(s *Schema) *Plan {
	return &Plan{
		Version: 1, Method: "POST", Path: "/{id}",
		Params: []Param{
			{Arg: "id", Name: "id", In: InPath, Required: true, Schema: &Schema{Type: TypeInteger}},
			{Arg: "per_page", Name: "per_page", In: InQuery, Schema: &Schema{Type: TypeInteger, Min: "1", Max: "100"}},
		},
		Body: &Body{MediaType: "application/json", Arg: "v", Schema: s},
	}
}

//go:fix inline
func TestCheck(t *testing.T) {
	str, integer, number := &Schema{Type: TypeString}, &Schema{Type: TypeInteger}, &Schema{Type: TypeNumber}
	list := func(s *Schema) *Schema { return &Schema{Type: TypeArray, Items: s} }
	object := &Schema{
		Type: TypeObject, Required: []string{"a/b"}, Closed: true,
		Properties: []Property{{"a/b", integer}, {"title", str}, {"labels", list(str)}},
	}
	// want "" accepts; otherwise "pointer: part of the message".
	f := func(s *Schema, value, want string) {
		t.Helper()
		err := compile(t, checkPlan(s)).Check(parse(t, `{"id":1,"v":`+value+`}`))
		if want == "" {
			if err != nil {
				t.Fatalf("%s: %v", value, err)
			}
			return
		}
		pointer, text, _ := strings.Cut(want, ": ")
		p := problem.As(err)
		if p == nil || p.Kind != problem.InvalidArguments || len(p.Parts) != 1 || p.Place.Pointer != pointer || !strings.Contains(p.Detail, text) || p.Remedy == "" {
			t.Fatalf("%s: got %v, want %s", value, err, want)
		}
	}
	f(nil, `{"anything":[null]}`, "")
	f(str, `"x"`, "")
	f(str, `5`, "") // healed
	f(str, `true`, "")
	f(str, `{}`, `/v: expected string, got object {}`)
	f(str, `[1]`, `/v: expected string, got array [1]`)
	f(integer, `5`, "")
	f(integer, `5.0`, "")
	f(integer, `5e1`, "")
	f(integer, `"5"`, "")
	f(integer, `" 5 "`, "")
	f(integer, `"9223372036854775808"`, "")
	f(integer, `5.5`, `/v: expected integer, got 5.5`)
	f(integer, `"5.5"`, `/v: expected integer, got string "5.5"`)
	f(integer, `"x"`, `/v: expected integer, got string "x"`)
	f(integer, `"05"`, `/v: expected integer`)
	f(integer, `true`, `/v: expected integer, got true`)
	f(number, `"1e5"`, "")
	f(&Schema{Type: TypeBoolean}, `"true"`, "")
	f(&Schema{Type: TypeBoolean}, `1`, `/v: expected boolean, got 1`)
	f(&Schema{Type: TypeInteger | TypeNull}, `null`, "")
	f(list(integer), `"[1,2]"`, "")
	f(list(integer), `[1,"2",3.5]`, `/v/2: expected integer, got 3.5`)
	f(list(integer), `"1,2"`, `/v: expected array of integer, got string "1,2"`)
	f(&Schema{Prefix: []*Schema{str, integer}, Items: str}, `["a","b"]`, `/v/1: expected integer`)
	f(object, `"{\"a/b\":1}"`, "")
	f(object, `{"a/b":"1","title":null}`, "")
	f(object, `{"a/b":null}`, `/v/a~1b: expected integer, got null`)
	f(object, `{}`, `/v/a~1b: required but missing, expected integer`)
	f(object, `{"a/b":1,"Title_":"x"}`, `/v/Title_: did you mean "title"?`)
	f(object, `{"a/b":1,"zzzzzz":"x"}`, `/v/zzzzzz: unknown member, known are a/b, title, labels`)
	f(object, `{"a/b":1,"labels":["x",{}]}`, `/v/labels/1: expected string, got object {}`)
	f(&Schema{Type: TypeObject, Additional: integer}, `{"k":"x"}`, `/v/k: expected integer`)

	enum := &Schema{Type: TypeString, Enum: []string{`"open"`, `"closed"`}}
	f(enum, `"open"`, "")
	f(enum, `"\u006fpen"`, "")
	f(enum, `"opened"`, `/v: expected one of "open", "closed", got string "opened"; did you mean "open"?`)
	f(enum, `"x"`, `/v: expected one of "open", "closed", got string "x"`)
	f(&Schema{Enum: []string{`1`, `null`, `{"a":[1],"b":2}`}}, `1.0`, "")
	f(&Schema{Enum: []string{`1`, `null`, `{"a":[1],"b":2}`}}, `{"b":2,"a":[1e0]}`, "")
	f(&Schema{Enum: []string{`1`}}, `2`, `/v: expected 1, got 2`)
	f(&Schema{Type: TypeInteger, Enum: []string{`1`, `2`}}, `"2"`, "")
	f(&Schema{Type: TypeString, Enum: []string{`"1"`, `"2"`}}, `2`, "")

	big := "9007199254740992" // 2^53: as float64 equal to 2^53+1
	f(&Schema{Type: TypeInteger, Max: big}, big, "")
	f(&Schema{Type: TypeInteger, Max: big}, "9007199254740993", "/v: expected at most "+big)
	f(&Schema{Type: TypeInteger, Min: "-" + big}, "-9007199254740993", "/v: expected at least")
	f(&Schema{Type: TypeNumber, XMin: "0"}, "0.0", "/v: expected more than 0")
	f(&Schema{Type: TypeNumber, XMin: "0"}, "1e-400", "")
	f(&Schema{Type: TypeNumber, XMax: "1"}, "1.0e0", "/v: expected less than 1")
	f(&Schema{Type: TypeNumber, Max: "1e2"}, "100.0", "")
	f(&Schema{Type: TypeNumber, Max: "5"}, "1e999999999999999999999", "/v: expected at most 5")
	f(&Schema{Type: TypeNumber, Multiple: "0.01"}, "19.99", "")
	f(&Schema{Type: TypeNumber, Multiple: "0.01"}, "19.999", "/v: expected a multiple of 0.01")

	f(&Schema{Type: TypeString, MinLen: 2, MaxLen: new(2)}, `"é😀"`, "")
	f(&Schema{Type: TypeString, MaxLen: new(1)}, `"é\u0061"`, "/v: expected at most 1 characters, got 2")
	f(&Schema{Type: TypeString, MinLen: 1}, `""`, "/v: expected at least 1 characters, got 0")
	f(&Schema{Type: TypeString, Pattern: "^[a-z]+$"}, `"ab"`, "")
	f(&Schema{Type: TypeString, Pattern: "^[a-z]+$"}, `"a\n"`, "/v: expected text that matches ^[a-z]+$")
	f(&Schema{Type: TypeArray, MinLen: 1, MaxLen: new(2)}, `[]`, "/v: expected at least 1 items, got 0")
	f(&Schema{Type: TypeArray, MinLen: 1, MaxLen: new(2)}, `[1,2,3]`, "/v: expected at most 2 items, got 3")
	f(&Schema{Type: TypeArray, Unique: true}, `[1,{"a":1,"b":2},{"b":2,"a":1.0}]`, "/v: items that all differ")
	f(&Schema{Type: TypeArray, Unique: true}, `[1,"1",true,[1]]`, "")
	f(&Schema{Type: TypeObject, MaxLen: new(1)}, `{"a":1,"b":2}`, "/v: expected at most 1 members, got 2")

	any1 := &Schema{AnyOf: []*Schema{integer, {Type: TypeObject, Required: []string{"x"}, Properties: []Property{{"x", str}}}}}
	f(any1, `7`, "")
	f(any1, `"7"`, "")
	f(any1, `{"x":"y"}`, "")
	f(any1, `{"x":[]}`, "/v/x: expected string, got array []")
	f(any1, `true`, "/v: expected integer or object, got true")

	file := &Schema{Type: TypeString, Media: "application/octet-stream"}
	f(file, `"text"`, "")
	f(file, `{"data":"aGk=","filename":"x","url":null}`, "")
	f(file, `{"data":"aGk=","text":"x"}`, "/v: exactly one of")
	f(file, `{"data":1,"text":"x"}`, "/v/data: expected string, got 1")
	f(file, `[]`, "/v: expected a file")
	f(file, `{"text":"x","name":"y"}`, "/v/name: unknown member")
}

func TestCheckArguments(t *testing.T) {
	c := compile(t, checkPlan(nil))
	f := func(args string, want ...string) {
		t.Helper()
		err := c.Check(parse(t, args))
		p := problem.As(err)
		if len(want) == 0 {
			if err != nil {
				t.Fatalf("%s: %v", args, err)
			}
			return
		}
		if p == nil || len(p.Parts) != len(want) {
			t.Fatalf("%s: got %v, want %q", args, err, want)
		}
		for i, w := range want {
			if got := p.Parts[i].Error(); !strings.Contains(got, w) || !strings.Contains(p.Error(), got) {
				t.Fatalf("%s: got %v, want %q", args, p, w)
			}
		}
	}
	f(`{"id":1}`)
	f(`{"id":1,"per_page":null,"v":null}`)
	f(`{"id":1,"\u0070er_page":5}`)
	f(`{}`, "/id: required but missing, expected integer")
	f(`{"id":null}`, "/id: required but missing")
	f(`{"id":1,"id":null}`, "/id: required but missing") // the last of two counts
	f(`{"id":1,"perPage":5}`, `/perPage: unknown argument, did you mean "per_page"?`)
	f(`{"id":1,"frobnicate":5}`, `/frobnicate: unknown argument, known are id, per_page, v`)
	f(`{"per_page":101,"x~y":1}`, "/per_page: expected at most 100, got 101", "/x~0y: unknown", "/id: required")
	f(`[]`, "expected an object with the tool's arguments, got array")

	many := `{"id":1`
	for i := range 2 * maxFaults {
		many += fmt.Sprintf(`,"unknown%d":1`, i)
	}
	p := problem.As(c.Check(parse(t, many+"}")))
	if p == nil || len(p.Parts) != maxFaults || !strings.Contains(p.Detail, fmt.Sprint(2*maxFaults)) {
		t.Errorf("%d faults: %v", 2*maxFaults, p)
	}
	long := problem.As(c.Check(parse(t, `{"id":"`+strings.Repeat("é", 10_000)+`"}`)))
	if long == nil || len(long.Error()) > 300 {
		t.Errorf("a long value makes a message of %d bytes", len(long.Error()))
	}
}

// TestConstants: what the specification gives one value is sent unasked, and who gives
// that value says nothing wrong.
func TestConstants(t *testing.T) {
	p := checkPlan(nil)
	p.Params = append(p.Params, Param{Name: "type", In: InQuery, Const: `"artist"`})
	p.Body = &Body{MediaType: "application/json", Fields: []Field{{Name: "window", Const: "24"}, {Arg: "v", Name: "v", Schema: &Schema{Type: TypeString}}}}
	c := compile(t, p)
	for args, want := range map[string]string{
		`{"id":1,"type":"artist"}`:       "",
		`{"id":1,"type":null}`:           "",
		`{"id":1,"window":24.0}`:         "",
		`{"id":1,"type":"album"}`:        `expected "artist", which is sent unasked, got string "album"`,
		`{"id":1,"window":25,"typ":"x"}`: "2 arguments or members are wrong: /window: expected 24",
	} {
		err := c.Check(parse(t, args))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
			continue
		}
		if err != nil {
			continue
		}
		var r Request
		if err := c.Build(&r, parse(t, args)); err != nil || string(r.Target) != "/1?type=artist" {
			t.Errorf("%s: sent to %s, %v", args, r.Target, err)
		}
	}
}

// TestOptionalBody: members are required only once the body is sent.
func TestOptionalBody(t *testing.T) {
	b := &Body{MediaType: "application/json", Fields: []Field{
		{Arg: "a", Name: "a", Required: true}, {Arg: "b", Name: "b"},
	}}
	c := compile(t, &Plan{Version: 1, Method: "POST", Path: "/", Body: b})
	if err := c.Check(parse(t, `{}`)); err != nil {
		t.Error(err)
	}
	if err := c.Check(parse(t, `{"b":1}`)); err == nil || !strings.Contains(err.Error(), "/a: required") {
		t.Errorf("got %v", err)
	}
	b.Required = true
	c = compile(t, &Plan{Version: 1, Method: "POST", Path: "/", Body: b})
	if err := c.Check(parse(t, `{}`)); err == nil {
		t.Error("a required member of a required body may be missing")
	}
}

// TestNullRemoves: in a merge patch null removes a member that is never null itself.
func TestNullRemoves(t *testing.T) {
	title := &Schema{Type: TypeString}
	plan := &Plan{
		Version: 1, Method: "PATCH", Path: "/{id}", Params: []Param{{Arg: "id", Name: "id", In: InPath, Required: true, Schema: title}},
		Body: &Body{MediaType: "application/merge-patch+json", Fields: []Field{{Arg: "title", Name: "title", Schema: title}, {Arg: "id", Name: "id"}}},
	}
	if err := compile(t, plan).Check(parse(t, `{"id":"1","title":null}`)); err != nil {
		t.Error(err)
	}
	if err := compile(t, plan).Check(parse(t, `{"id":null,"title":"x"}`)); err == nil {
		t.Error("a path parameter may be null")
	}
	if err := compile(t, plan).Check(parse(t, `{"id":"1","title":[]}`)); err == nil {
		t.Error("a list may be a title")
	}
}

// TestHealed counts what Build read as another type.
func TestHealed(t *testing.T) {
	s := &Schema{Type: TypeObject, Properties: []Property{
		{"n", &Schema{Type: TypeInteger}}, {"b", &Schema{Type: TypeBoolean}}, {"s", &Schema{Type: TypeString}}, {"l", &Schema{Type: TypeArray, Items: &Schema{Type: TypeInteger}}},
	}}
	c := compile(t, checkPlan(s))
	var r Request
	args := parse(t, `{"id":"12","per_page":"5","v":"{\"n\":\"1\",\"b\":\"false\",\"s\":2,\"l\":\"[\\\"3\\\"]\"}"}`)
	if err := c.Check(args); err != nil {
		t.Fatal(err)
	}
	if err := c.Build(&r, args); err != nil {
		t.Fatal(err)
	}
	if string(r.Target) != "/12?per_page=5" || string(r.Body) != `{"n":1,"b":false,"s":"2","l":[3]}` || r.Healed != 8 {
		t.Errorf("%s %s, %d healed", r.Target, r.Body, r.Healed)
	}
	if err := c.Build(&r, parse(t, `{"id":12,"v":{"n":1}}`)); err != nil || r.Healed != 0 {
		t.Errorf("%d healed, %v", r.Healed, err)
	}
}

// TestDecimals compares with big.Rat on random literals.
func TestDecimals(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	literal := func() string {
		s := ""
		if rng.IntN(2) == 0 {
			s = "-"
		}
		s += []string{"0", "1", "10", "100", "9007199254740993", fmt.Sprint(rng.IntN(1000))}[rng.IntN(6)]
		if rng.IntN(2) == 0 {
			s += []string{".0", ".10", ".001", ".5", ".00"}[rng.IntN(5)]
		}
		if rng.IntN(2) == 0 {
			s += []string{"e0", "E2", "e+3", "e-3", "e1"}[rng.IntN(5)]
		}
		return s
	}
	rat := func(s string) *big.Rat {
		r, ok := new(big.Rat).SetString(s)
		if !ok {
			t.Fatal(s)
		}
		return r
	}
	for range 20_000 {
		a, b := literal(), literal()
		x, y := rat(a), rat(b)
		da, db := parseDecimal([]byte(a)), parseDecimal([]byte(b))
		if got := compareDecimals(da, db); got != x.Cmp(y) {
			t.Fatalf("compare %s with %s: %d, want %d", a, b, got, x.Cmp(y))
		}
		if da.integral() != x.IsInt() {
			t.Fatalf("%s: integral %v", a, da.integral())
		}
		if y.Sign() != 0 {
			if got, want := multipleOf(da, db), new(big.Rat).Quo(x, y).IsInt(); got != want {
				t.Fatalf("%s multiple of %s: %v, want %v", a, b, got, want)
			}
		}
		if x.IsInt() {
			if got := string(appendInteger(nil, []byte(a))); got != x.Num().String() {
				t.Fatalf("integer %s: %s, want %s", a, got, x.Num())
			}
		}
	}
	if got := string(appendInteger(nil, []byte("1e401"))); got != "1e401" {
		t.Errorf("1e401 became %d digits", len(got))
	}
	if got := appendInteger(nil, []byte("1e399")); len(got) != 400 {
		t.Errorf("1e399 became %d digits", len(got))
	}
}
