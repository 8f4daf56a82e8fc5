package enginepool

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/engine"
)

func newPool(t testing.TB, o Options) *Pool {
	t.Helper()
	h, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return h
}

// TestAgreeRandom compares the three implementations on generated programs and inputs.
func TestAgreeRandom(t *testing.T) {
	h := newPool(t, Options{})
	if h.runtime == nil {
		t.Fatal("the engine does not run in WebAssembly here")
	}
	for i := range uint64(20000 / rounds) {
		agree(t, h, randomProgram(i), randomJSON(i), engine.Limits{})
		if t.Failed() {
			t.Fatalf("seed %d", i)
		}
	}
	if c := h.Counters(); c.Wasm != 20000/rounds || c.Reference != 0 {
		t.Fatalf("not all ran in WebAssembly: %+v", c)
	}
}

// TestAgreeLimits compares errors at each amount of fuel and depth.
func TestAgreeLimits(t *testing.T) {
	h := newPool(t, Options{})
	for seed := range uint64(60) {
		p, in := randomProgram(seed), randomJSON(seed*7+1)
		for fuel := uint64(1); fuel < 40; fuel++ {
			agree(t, h, p, in, engine.Limits{Fuel: fuel})
		}
		for depth := 1; depth < 8; depth++ {
			agree(t, h, p, in, engine.Limits{MaxDepth: depth})
		}
	}
	nest := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	all := &engine.Program{}
	self := &engine.Node{}
	self.Rest = self
	for _, p := range []*engine.Program{all, {Root: self}, {Root: &engine.Node{Where: &engine.Predicate{Cmp: engine.CmpEq, Value: "1"}}}} {
		for _, n := range []int{engine.DefaultMaxDepth - 1, engine.DefaultMaxDepth, engine.DefaultMaxDepth + 1, 1000, 100000} {
			agree(t, h, p, []byte(nest(n)), engine.Limits{})
			agree(t, h, p, []byte(strings.Repeat(`{"a":`, n)+"1"+strings.Repeat("}", n)), engine.Limits{})
		}
		for _, n := range []int{engine.HardMaxDepth, engine.HardMaxDepth + 1} {
			agree(t, h, p, []byte(nest(n)), engine.Limits{MaxDepth: 100000})
		}
	}
}

// TestAgreeEdges puts each short piece of syntax at the end of inputs of each
// length around the vector sizes.
func TestAgreeEdges(t *testing.T) {
	h := newPool(t, Options{})
	programs := []*engine.Program{
		{},
		{Root: &engine.Node{Fields: []engine.Field{{Name: "k"}}, DropRest: true}},
		{Root: &engine.Node{Rules: engine.DropNull | engine.DropEmpty | engine.DropURL | engine.DropFalse, DropSuffixes: []string{"z"}}},
		{Root: &engine.Node{Where: &engine.Predicate{Cmp: engine.CmpContains, Path: []string{"k"}, Value: `"x"`}, MaxString: 9}},
		{Root: &engine.Node{Limit: 1}, Documents: engine.DocumentStream},
	}
	tails := []string{
		"", `"`, `\`, `\"`, `\u`, `\u00`, `\u0041"`, `\ud83d\ude00"`, "}", "]", "}]", `"}`, `"]`, `":1}`, `\":1}`, `{`, "[", "[{", `{"`, `{\"`, "t", "nul", "null", "fals", "1e", "-", "1.", "\x00", "\x1e", "\xef\xbb\xbf",
	}
	for _, head := range []string{"", "[", `{"a":`, `{"k":`, `{"k":"`, `{"z":{"q":"`, `[{"k":["`, `"`, `[[`, `{"k":1,"b":[`, `{"u":"https://`, "\xef\xbb\xbf"} {
		for n := range 70 / rounds {
			n *= rounds
			for _, tail := range tails {
				in := []byte(head + strings.Repeat("x", n) + tail)
				for _, p := range programs {
					agree(t, h, p, in, engine.Limits{})
				}
			}
		}
	}
}

// TestAgreeCases holds what chance does not find: each of these inputs told a
// broken engine from the right one.
func TestAgreeCases(t *testing.T) {
	h := newPool(t, Options{})
	wide := &engine.Node{DropRest: true}
	var all strings.Builder
	for i := range 300 {
		wide.Fields = append(wide.Fields, engine.Field{Name: fmt.Sprint("f", i)})
		fmt.Fprintf(&all, `"f%d":%d,"g%d":0,"f%d":"again",`, i, i, i, i)
	}
	rules := &engine.Node{Rules: engine.DropNull | engine.DropEmpty | engine.DropURL | engine.DropFalse}
	lone := &engine.Node{Rules: engine.DropNull | engine.DropEmpty | engine.DropURL | engine.KeepLone, DropSuffixes: []string{"_url"}}
	lone.Rest = lone
	number := func(c engine.Cmp, v string) *engine.Node {
		return &engine.Node{Where: &engine.Predicate{Cmp: c, Value: v}}
	}
	for _, c := range []struct {
		n  *engine.Node
		in string
	}{
		{wide, `{` + all.String() + `"z":0}`},
		{rules, `{"a":fals,"b":1}`},
		{rules, `{"a":falsey}`},
		{rules, `{"a":nul}`},
		{rules, `{"a":nullx}`},
		{rules, `{"a":"https://x` + strings.Repeat("y", 40) + `\u0020"}`},
		{rules, `{"a":"https:\/\/x\/y","b":"https:/\/","c":"https:/","d":"http","e":"https://\n"}`},
		{&engine.Node{MaxString: 8}, `["aa\udc00\udc00\udc00\udc00\udc00"]`},
		{&engine.Node{MaxString: 13}, `["a\ud800\udc00\ud800\udc00\ud800\udc00\ud800\ud800"]`},
		{&engine.Node{MaxString: 4}, "[\"\xf0\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\"]"},
		{&engine.Node{MaxNumbers: 2}, `[1 , 2e0 ,3000000,4000000,-5.5000]`},
		{&engine.Node{MaxNumbers: 2}, `[[1.25,2,3333333333,4444],[1,2,3],[1,2,"x",3333333333333]]`},
		{&engine.Node{MaxNumbers: 1}, `[1,2222222222,33333333333`},
		{&engine.Node{MaxNumbers: 1}, `[1,2222222222,33333333333}`},
		{&engine.Node{MaxNumbers: 1}, `[1,2222222222,033333333333]`},
		{&engine.Node{MaxNumbers: 1, Limit: 2}, `[1,2222222222,33333333333]`},
		{lone, `{"a":null,"u":"https://a/b" , "x_url" : "https:\/\/c","y_url":5,"v":"http://1","w":"http://2","z":"http://3"}`},
		{lone, `{"u":"https://a","in":{"u":"https://b"},"k":""}`},
		{lone, `{"u":"https://a","k":{"q":null}}`},
		{number(engine.CmpGt, "1e99999999999999999999999"), `[1e99999999999999999999998,-1,2e99999999999999999999999,1e18446744073709551617]`},
		{number(engine.CmpLt, "1e-99999999999999999999999"), `[1e-99999999999999999999998,0,-1,1e-18446744073709551617]`},
		{number(engine.CmpGt, "5"), `[1e18446744073709551616,1e-18446744073709551616]`},
		{number(engine.CmpEq, "100"), `[100,1e2,1E+2,100.0,0.1e3,10000e-2,100.00000000000000000001,-100,"100"]`},
		{number(engine.CmpEq, "0"), `[0,-0,0.0,0e5,-0.0e-5,0.01]`},
	} {
		agree(t, h, &engine.Program{Root: c.n}, []byte(c.in), engine.Limits{})
	}
	// Text comparisons pay for what matches in vain.
	in := []byte(`["` + strings.Repeat("a", 20000) + `"]`)
	for _, p := range []engine.Predicate{
		{Cmp: engine.CmpContains, Value: `"` + strings.Repeat("a", 900) + `b"`},
		{Cmp: engine.CmpGlob, Value: `"*` + strings.Repeat("a", 900) + `b*"`},
	} {
		n := &engine.Node{Where: &p}
		agree(t, h, &engine.Program{Root: n}, in, engine.Limits{Fuel: 1 << 40})
		agree(t, h, &engine.Program{Root: n}, in, engine.Limits{})
		table, err := engine.Compile(&engine.Program{Root: n})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := h.Transform(nil, table, in); err != engine.ErrFuel {
			t.Errorf("comparison %d: got %v, want ErrFuel", p.Cmp, err)
		}
	}
}

// TestAgreeRemembered holds what an engine gets wrong that remembers names and hosts from
// one object to the next.
func TestAgreeRemembered(t *testing.T) {
	h := newPool(t, Options{})
	self := &engine.Node{
		Fields: []engine.Field{{Name: "drop", Drop: true}, {Name: "keep", Exempt: true}}, DropSuffixes: []string{"_url"},
		Rules: engine.DropNull | engine.DropEmpty | engine.DropURL | engine.KeepLone | engine.KeepPages,
	}
	self.Rest = self
	other := &engine.Node{Fields: []engine.Field{{Name: "drop"}, {Name: "keep", Drop: true}, {Name: "in", Node: self}}}
	var wide, wider, places strings.Builder
	for i := range 200 {
		fmt.Fprintf(&wide, `"n%d":%d,`, i, i)
		fmt.Fprintf(&wider, `"n%d_url":%d,`, i, i)
	}
	for i := range 40 { // a name at each place of an object that has the same name in it
		var fill strings.Builder
		for k := range i {
			fmt.Fprintf(&fill, `"f%d":%d,`, k, k)
		}
		fmt.Fprintf(&places, `,{%[1]s"keep":1,"in":{"keep":2,"drop":3}},{"keep":1,"in":{%[1]s"keep":2,"drop":3}}`, fill.String())
	}
	long, longer := strings.Repeat("n", 520), strings.Repeat("n", 1<<15)
	for _, in := range []string{
		`[{"drop":1,"keep":"","a":1},{"drop":2,"keep":null,"a":2},{"keep":3,"drop":3}]`,
		`[{"dro":1,"a":1},{"drop":2,"a":1},{"drop":2,"ab":1},{"drop2":1}]`,
		`[{"drop":1},{"dr\u006fp":2},{"drop" :3},{"drop": 4},{ "drop":5},{"drop":6}]`,
		`[{"dr\u006fp":1},{"dr\u006fp":2},{"drop":3}]`,
		`[{"a_url":1,"b":2},{"a_url":"https://x","b":"https://y"},{"b_url":1,"a":2},{"a_url":null}]`,
		`[{"drop":{"drop":1,"a":{"drop":2}},"a":{"drop":3,"a":{"drop":4,"keep":[]}}},{"a":{"drop":{"drop":3}},"drop":4}]`,
		`[{"drop":1,"in":{"drop":1,"keep":1}},{"drop":2,"in":{"drop":2,"keep":2}},{"keep":1,"drop":2}]`,
		`[{"":1,"a":2},{"":3,"a":4},{"a":5,"":6}]`,
		`[{"a":1,"a":2,"drop":1,"drop":2},{"a":1,"a":2,"keep":1,"keep":2}]`,
		`[{"a":1},{"a"1}]`, `[{"a":1},{"a`, `[{"a":1},{"a"`, `[{"a":1},{"a":`, `[{"abcdefgh":1},{"abcdefgh`, "[{\"a\":1},{\"a\x00:1}]", `[{"a":1},{'a":1}]`,
		`[{` + wide.String() + `"drop":1},{` + wide.String() + `"drop":1},{` + wider.String() + `"drop":1}]`,
		`[{"` + long + `":1,"drop":2},{"` + long + `":1,"drop":2},{"` + long[:512] + `":1}]`,
		`[{"` + longer[1:] + `":1,"drop":2},{"` + longer[1:] + `":1,"drop":2},{"` + longer + `":1,"drop":2},{"` + longer + `":1},{"` + longer + `_url":"https://x"}]`,
		`[{"u":"https://api.x.com/a"},{"u":"https://apx.x.com/a"},{"u":"https://api.x.com"},{"u":"https://api.x.co"},{"u":"https://api.x.com/b"}]`,
		`[{"u":"https://{host}/a"},{"u":"https://{host}/{a}"},{"u":"https://{host}"},{"u":"https://{host}/v1/a"},{"u":"https://x{/a}"},{"u":"https://x{?a}"},{"u":"https:\/\/{h}\/a"}]`,
		`[0` + places.String() + `]`,
		`[{"u":"https://ab.apix/q","v":1},{"u":"https://ab.api/q","v":1},{"u":"https://ab.apix/q","v":1}]`,
		`[{"u":"https://docs.x/api/1","v":1},{"u":"https://doct.x/api/1","v":1},{"u":"https://x/v1/y","v":1},{"u":"https://x?{a}","v":1}]`,
		`{"u":"https://"}`, `{"v":1,"u":"http://a"}`, `{"v":1,"u":"https:\/\/api.x.com\/y","w":"https://api.x.com/y","x":"https://aaaaaaaaaaaaaaaaaaaaaaa.api/{"}`,
	} {
		for _, n := range []*engine.Node{self, other} {
			agree(t, h, &engine.Program{Root: n}, []byte(in), engine.Limits{})
		}
	}
	// Of one answer, nothing is remembered for the next, which lies where it was.
	for range 2 {
		for _, suffix := range []string{"_url", "_uri"} {
			agree(t, h, &engine.Program{Root: &engine.Node{DropSuffixes: []string{suffix}}}, []byte(`[{"a_url":1,"a_uri":2},{"a_url":3,"a_uri":4}]`), engine.Limits{})
		}
		for _, host := range []string{"api", "abi"} {
			agree(t, h, &engine.Program{Root: self}, []byte(`{"u":"https://`+host+`.x.com/y","v":1}`), engine.Limits{})
		}
	}
}

// TestForgottenAfterManyRuns holds that the names of an answer are forgotten when the runs of an
// instance are counted from one again.
func TestForgottenAfterManyRuns(t *testing.T) {
	h := newPool(t, Options{Instances: 1})
	in := []byte(`{"a":1,"b":2}`)
	short, err := engine.Compile(&engine.Program{Root: &engine.Node{}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, dropped := range []string{"a", "b"} {
			n := &engine.Node{Fields: []engine.Field{{Name: dropped, Drop: true}}}
			agree(t, h, &engine.Program{Root: n}, in, engine.Limits{})
			var out []byte
			for range 1<<16 - 2 { // with the one before, the count begins again
				if out, _, err = h.Transform(out[:0], short, []byte("0")); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// FuzzTransform compares the implementations on any input, with a program made
// from a seed.
func FuzzTransform(f *testing.F) {
	h := newPool(f, Options{})
	for i := range uint64(200) {
		f.Add(randomJSON(i), i, uint64(0), uint8(0))
		f.Add(randomRows(i), i, uint64(0), uint8(0))
	}
	for i, s := range []string{"", " ", "null", "{\"na\\u006de\":1}", `{"a":1,"a":2}`, `["\ud800"]`, "[1]\x1e{}", "\xef\xbb\xbf{}", `{\"a":1}`, `<html>`, `{"a":1]`, `[1,]`, "NaN"} {
		f.Add([]byte(s), uint64(i), uint64(0), uint8(0))
	}
	f.Fuzz(func(t *testing.T, in []byte, seed, fuel uint64, depth uint8) {
		agree(t, h, randomProgram(seed), in, engine.Limits{Fuel: fuel, MaxDepth: int(depth)})
	})
}

// FuzzProgram runs any table that Check accepts.
func FuzzProgram(f *testing.F) {
	h := newPool(f, Options{})
	for i := range uint64(50) {
		p, err := engine.Compile(randomProgram(i))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(p, randomJSON(i))
		f.Add(p, randomRows(i))
	}
	f.Fuzz(func(t *testing.T, table, in []byte) {
		if engine.Check(table) != nil {
			return
		}
		want, ws, werr := engine.Reference(nil, table, in, engine.Limits{})
		got, gs, gerr := h.Transform(nil, table, in)
		if string(got) != string(want) || gs != ws || gerr != werr {
			t.Fatalf("input %q table %x\nwasm      %q %v %+v\nreference %q %v %+v", in, table, got, gerr, gs, want, werr, ws)
		}
	})
}

func ExamplePool_Transform() {
	program, err := engine.Compile(&engine.Program{Root: &engine.Node{
		Fields:   []engine.Field{{Name: "id"}, {Name: "user", Node: &engine.Node{Fields: []engine.Field{{Name: "login"}}, DropRest: true}}},
		DropRest: true,
	}})
	if err != nil {
		panic(err)
	}
	h, err := New(context.Background(), Options{ReferenceOnly: true})
	if err != nil {
		panic(err)
	}
	out, st, err := h.Transform(nil, program, []byte(`[{"id": 7, "user": {"login": "ann", "id": 1}, "url": "x"}]`))
	fmt.Println(string(out), st.In, st.Out, err)
	// Output: [{"id":7,"user":{"login":"ann"}}] 58 33 <nil>
}
