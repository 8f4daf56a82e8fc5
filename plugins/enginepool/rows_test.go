package enginepool

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/engine"
)

// randomRows is a list of like objects, as APIs answer: the engine writes a row
// before its condition is known when the rows before it were kept. Some rows are
// broken, or hold what ends elsewhere when the row is skipped as a whole.
func randomRows(seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 3))
	keys := make([]string, 1+r.IntN(8))
	for i := range keys {
		keys[i] = names[r.IntN(len(names)-1)]
		if r.IntN(8) == 0 {
			keys[i] = strings.ReplaceAll(keys[i], "a", `\u0061`)
		}
		keys[i] = strings.ReplaceAll(keys[i], `na"me`, `na\"me`)
	}
	scalars := []string{`"a"`, `"open"`, `"\u006fpen"`, `""`, "0", "1", "25", "1.0", "-2.5e1", "null", "true", "false", `"https://x"`, `"é"`, "123456789", `[1,2,3]`, `[]`, `{}`}
	loose := []string{`1"`, `1"}"`, `t{`, `1[`, `n\"`, `-\`, "nul", "01", `"\x"`, "\"\x01\"", "{\"a\":1]", "[1}", "[1,]", "{,}", ""}
	var b strings.Builder
	var object func(depth int)
	value := func(depth int) {
		switch k := r.IntN(60); {
		case k < 2:
			b.WriteString(loose[r.IntN(len(loose))])
		case k < 10 && depth > 0:
			object(depth - 1)
		case k < 18 && depth > 0:
			b.WriteByte('[')
			for i := range r.IntN(6) {
				if i > 0 {
					b.WriteByte(',')
				}
				object(depth - 1)
			}
			b.WriteByte(']')
		default:
			b.WriteString(scalars[r.IntN(len(scalars))])
		}
	}
	object = func(depth int) {
		b.WriteByte('{')
		for i, k := range keys {
			if r.IntN(10) == 0 {
				continue
			}
			if i > 0 && r.IntN(100) > 0 {
				b.WriteByte(',')
			}
			b.WriteString(`"` + k + `":`)
			value(depth)
		}
		b.WriteByte('}')
	}
	b.WriteByte('[')
	for i := range r.IntN(14) {
		if i > 0 {
			b.WriteByte(',')
		}
		object(2)
	}
	b.WriteByte(']')
	return []byte(strings.ReplaceAll(b.String(), "{,", "{"))
}

// TestAgreeRows compares the implementations on lists under conditions, with
// enough fuel and with each amount that is too little.
func TestAgreeRows(t *testing.T) {
	h := newPool(t, Options{})
	for seed := range uint64(4000 / rounds) {
		p := randomProgram(seed)
		if p.Root != nil && seed%4 > 0 { // most conditions are to hold for most rows
			p.Root.Where = &engine.Predicate{Or: []*engine.Predicate{randomPredicate(rand.New(rand.NewPCG(seed, 4)), 2), {Not: randomPredicate(rand.New(rand.NewPCG(seed, 5)), 2)}}}
		}
		in := randomRows(seed)
		agree(t, h, p, in, engine.Limits{})
		if seed%100 == 0 {
			for fuel := uint64(1); fuel < 500; fuel++ {
				agree(t, h, p, in, engine.Limits{Fuel: fuel})
			}
			for depth := 1; depth < 6; depth++ {
				agree(t, h, p, in, engine.Limits{MaxDepth: depth})
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestAgreeRowCases holds what chance seldom finds.
func TestAgreeRowCases(t *testing.T) {
	h := newPool(t, Options{})
	kept := &engine.Node{DropRest: true, Fields: []engine.Field{{Name: "id"}, {Name: "text"}, {Name: "user", Node: &engine.Node{DropRest: true, Fields: []engine.Field{{Name: "login"}, {Name: "name"}}}}}}
	const good = `{"id":1,"user":{"login":"a","no":1},"text":"xx"},`
	long := strings.Repeat(`\u0078`, 3000)
	for _, where := range []string{"id == 5", "not id == 5", `text contains "x"`, `text == "none"`, "user.no == 1", "user.no exists and text matches 'x*'", "last == 3"} {
		cond, err := engine.ParseWhere(where)
		if err != nil {
			t.Fatal(err)
		}
		for _, offset := range []uint32{0, 1, 5} {
			for _, limit := range []uint32{0, 1, 5} {
				root := *kept
				root.Where, root.Offset, root.Limit = &engine.Predicate{Or: []*engine.Predicate{cond, {Not: cond}}}, offset, limit
				always := &engine.Program{Root: &root}
				only := *kept
				only.Where, only.Offset, only.Limit = cond, offset, limit
				for _, row := range []string{
					`{"id":5,"text":"a"}`,
					`{"user":{"no":1","z":2},"id":5}`, // in user, the number ends elsewhere when user is skipped as a whole
					`{"user":{"no":1" ,"z":2},"id":5,"a":""}`,
					`{"user":{"no":t{,"login":"}"},"id":5}`,
					`{"user":{"no":1\" ,"z":"\"}"},"id":5}`,
					`{"id":5,"text":"` + long + `"}`, // decoded to compare
					`{"text":"` + long + `","id":5}`,
					`{"id":5,"text":"a","user":{"login":"a","name":nul}}`,
					`{"id":5,"text":"a","user":{"login":"a"},"last":3}`,
					`{"x":[[[[[1]]]]],"id":5,"text":"\u0078"}`,
				} {
					for _, in := range []string{"[" + strings.Repeat(good, 4) + row + "]", "[" + strings.Repeat(good, 9) + row + "," + good + row + "]", "[" + strings.Repeat(row+",", 7) + good + good + "1]"} {
						agree(t, h, always, []byte(in), engine.Limits{})
						agree(t, h, &engine.Program{Root: &only}, []byte(in), engine.Limits{})
					}
				}
			}
		}
	}
}
