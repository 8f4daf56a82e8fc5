package jsonscan

import (
	"slices"
	"testing"
)

func TestLongestList(t *testing.T) {
	for doc, want := range map[string]string{
		`{}`:                                    "",
		`[]`:                                    "[]",
		` [1, "a]" ,{"b":[1,2,3]}] `:            `[1, "a]" ,{"b":[1,2,3]}]`,
		`{"a":[1],"b":[1,2],"c":[3,4]}`:         `[1,2]`,
		`{"a":{"b":{"c":[1]}},"d":1}`:           `[1]`,
		`{"a":{"b":{"c":{"d":[1]}}}}`:           "",
		`{"a":{"b":[1,2]},"c":[1]}`:             `[1,2]`,
		`{"a":[{"b":[1,2,3,4]}],"c":[12345,6]}`: `[{"b":[1,2,3,4]}]`,
		`"[1,2]"`:                               "",
		`12`:                                    "",
	} {
		l := LongestList([]byte(doc), 2, nil, 100)
		if got := doc[l.From:l.To]; got != want {
			t.Errorf("%s: %q, want %q", doc, got, want)
		}
	}
}

// TestLongestListIndex: no more elements are indexed than asked for, all are counted.
func TestLongestListIndex(t *testing.T) {
	if it := ElementsFrom([]byte("[10, 20]"), 3); !it.Next() || it.Span() != (Span{5, 7}) || it.Next() {
		t.Errorf("the second element is at %v", it.Span())
	}
	doc := []byte(`{"short":[1,2,3],"long":[10 , {"a":[1]},"x"],"last":[7]}`)
	for most, want := range [][]string{{}, {"10"}, {"10", `{"a":[1]}`}, {"10", `{"a":[1]}`, `"x"`}, {"10", `{"a":[1]}`, `"x"`}} {
		l := LongestList(doc, 0, make([]Span, 3), most)
		var got []string
		for _, s := range l.Indexed {
			got = append(got, string(doc[s.From:s.To]))
		}
		if l.Count != 3 || !slices.Equal(got, want) {
			t.Errorf("%d: %q of %d, want %q of 3", most, got, l.Count, want)
		}
	}
}

// FuzzLongestList compares with the iterators, and tries what is not JSON.
func FuzzLongestList(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":[]}],"c":{"d":[1,2,"\"]"]}}`))
	f.Add([]byte(`{"a" :[ 1 , 2 ],"b":[[[`))
	f.Fuzz(compareList)
}

// compareList finds the longest list with the iterators too.
func compareList(t *testing.T, doc []byte) {
	t.Helper()
	l := LongestList(doc, 2, nil, 3)
	if l.From < 0 || l.To > len(doc) || l.From > l.To || len(l.Indexed) > 3 || len(l.Indexed) > l.Count {
		t.Fatalf("%+v of %d bytes", l, len(doc))
	}
	v, err := Parse(doc, 0)
	if err != nil {
		return
	}
	var longest Value
	var look func(v Value, deep int)
	look = func(v Value, deep int) {
		if v.Kind() == Array && len(v.Raw()) > len(longest.Raw()) {
			longest = v
		}
		for it := v.Members(); it.Next() && deep > 0; {
			if it.Value().Kind() != String {
				look(it.Value(), deep-1)
			}
		}
	}
	look(v, 3)
	if got := doc[l.From:l.To]; string(got) != string(longest.Raw()) || l.Count != longest.Len() {
		t.Fatalf("%q of %d, want %q of %d", got, l.Count, longest.Raw(), longest.Len())
	}
	it := longest.Elements()
	for _, s := range l.Indexed {
		if it.Next(); string(doc[s.From:s.To]) != string(it.Value().Raw()) {
			t.Fatalf("%q, want %q", doc[s.From:s.To], it.Value().Raw())
		}
	}
}
