package listing

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC)

type record struct {
	id, name, state string
	size            int
	at              time.Time
	labels          map[string]string
}

var records = &Memory[record]{
	Spec: Spec{Fields: []Field{
		{Name: "name", Kind: Text, Search: true},
		{Name: "state", Values: []string{"open", "closed"}},
		{Name: "id"},
		{Name: "size", Kind: Number},
		{Name: "at", Kind: Time},
		{Name: "big", Kind: Bool},
		{Name: "label", Kind: Label, NoSort: true},
	}},
	Key: func(r *record) string { return r.id },
	Get: func(r *record, field string) any {
		switch field {
		case "name":
			return r.name
		case "state":
			return r.state
		case "id":
			return r.id
		case "size":
			return r.size
		case "at":
			return r.at
		case "big":
			return r.size > 10
		}
		return r.labels
	},
}

var all = []record{
	{"a1", "Red apple", "open", 5, now.Add(-time.Hour), map[string]string{"team": "core"}},
	{"a2", "green Apple", "closed", 50, now.Add(-48 * time.Hour), map[string]string{"team": "core-two"}},
	{"b1", "Pear", "open", 20, time.Time{}, nil},
}

func TestFilters(t *testing.T) {
	f := func(q, filter, orderBy, want string) {
		t.Helper()
		asked, err := Parse(&records.Spec, q, filter, orderBy, now)
		if err != nil {
			t.Errorf("%q %q %q: %v", q, filter, orderBy, err)
			return
		}
		page, next, err := records.Page(all, asked, "", 10)
		var got []string
		for _, r := range page {
			got = append(got, r.id)
		}
		if strings.Join(got, " ") != want || next != "" || err != nil {
			t.Errorf("%q %q %q: %q, next %q, %v; want %q", q, filter, orderBy, got, next, err, want)
		}
	}
	f("", "", "", "a1 a2 b1")
	f("apple", "", "", "a1 a2")
	f("APPLE -red", "", "", "a2")
	f(`"red apple"`, "", "", "a1")
	f("name:apple", "", "", "") // q has no fields
	f("", "apple state:open", "", "a1")
	f("", "-state:open", "", "a2")
	f("", "STATE:Open,closed", "", "a1 a2 b1")
	f("", "id:a*", "", "a1 a2")
	f("", "id:a", "", "")
	f("", "size:5", "", "a1")
	f("", "size:>5 size:<=20", "", "b1")
	f("", "size:6..50", "", "a2 b1")
	f("", "size:5,50", "", "a1 a2")
	f("", "big:true", "", "a2 b1")
	f("", "big:no", "", "a1")
	f("", "at:>=24h", "", "a1")
	f("", "at:2026-11-01", "", "a2")
	f("", "at:<=2026-11-01 -at:never", "", "a2")
	f("", "at:>2026-11-01", "", "a1")
	f("", "at:none", "", "b1")
	f("", "at:>=2026-11-03T11:00:00Z", "", "a1")
	f("", "label:team", "", "a1 a2")
	f("", "label:team=core", "", "a1")
	f("", "", "name", "a2 b1 a1")
	f("", "", "-size", "a2 b1 a1")
	f("", "", "state,-size", "a2 b1 a1")
}

func TestFilterFaults(t *testing.T) {
	f := func(q, filter, orderBy, want string) {
		t.Helper()
		_, err := Parse(&records.Spec, q, filter, orderBy, now)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q %.60q %q: %v; want %s", q, filter, orderBy, err, want)
		}
	}
	f("", "sise:5", "", "did you mean size?")
	f("", "state:opened", "", "did you mean open?")
	f("", "size:big", "", "size is a number")
	f("", "size:inf", "", "size is a number")
	f("", "at:yesterday", "", "at is a time")
	f("", "at:-5h", "", "at is a time")
	f("", "at:99999999h", "", "at is a time")
	f("", "big:maybe", "", "true or false")
	f("", `name:"apple`, "", "quote is not closed")
	f("", "size:", "", "has no value")
	f("", "", "label", "orderBy takes: ")
	f("", "", "name,", "orderBy takes: ")
	bare := Spec{Fields: []Field{{Name: "n", Kind: Number}}}
	if _, err := Parse(&bare, "x", "", "", now); err == nil || !strings.Contains(err.Error(), "cannot be searched") {
		t.Errorf("q of a list without texts: %v", err)
	}
}

func TestBounds(t *testing.T) {
	f := func(name string, limit int, text func(n int) (q, filter, orderBy string)) {
		t.Helper()
		for n := limit; n <= limit+1; n++ {
			q, filter, orderBy := text(n)
			if _, err := Parse(&records.Spec, q, filter, orderBy, now); (err != nil) != (n > limit) {
				t.Errorf("%s: %d: %v", name, n, err)
			}
		}
	}
	f("bytes of q", MaxTextBytes, func(n int) (string, string, string) { return strings.Repeat("x", n), "", "" })
	f("bytes of filter", MaxTextBytes, func(n int) (string, string, string) { return "", strings.Repeat("x", n), "" })
	f("terms", maxTerms, func(n int) (string, string, string) { return "x y", strings.Repeat("big:true ", n-2), "" })
	f("values", maxValues, func(n int) (string, string, string) { return "", "id:" + strings.Repeat("x,", n-1) + "x", "" })
	f("orderBy", maxOrder, func(n int) (string, string, string) { return "", "", strings.Repeat("size,", n-1) + "size" })
	hours := int(maxAge.Hours())
	f("age", hours-1, func(n int) (string, string, string) { return "", fmt.Sprintf("at:%dh", n), "" })
}

// Pages go on after their last record, wherever it stands now.
func TestPages(t *testing.T) {
	if _, err := Parse(&records.Spec, "", "-state:gone", "name", now); err == nil {
		t.Fatal("a state that there is not")
	}
	asked, err := Parse(&records.Spec, "", "size:>0", "name", now)
	if err != nil {
		t.Fatal(err)
	}
	page, next, err := records.Page(all, asked, "", 1)
	if err != nil || page[0].id != "a2" || next != "a2" {
		t.Fatalf("%v, next %q, %v", page, next, err)
	}
	changed := slices.Clone(all)
	changed[1].size = 0 // does not match any more
	if page, next, err = records.Page(changed, asked, next, 5); err != nil || len(page) != 2 || page[0].id != "b1" || next != "" {
		t.Errorf("%v, next %q, %v", page, next, err)
	}
	if _, _, err = records.Page(all[:1], asked, "a2", 5); err == nil {
		t.Error("the record of the cursor is gone, and nobody says so")
	}
}

func FuzzParse(f *testing.F) {
	f.Add("apple", `state:open -label:team=core size:1..5 "x y"`, "name,-size")
	f.Fuzz(func(t *testing.T, q, filter, orderBy string) {
		asked, err := Parse(&records.Spec, q, filter, orderBy, now)
		if err != nil {
			return
		}
		if len(asked.Terms) > maxTerms {
			t.Fatalf("%d terms", len(asked.Terms))
		}
		if page, _, err := records.Page(all, asked, "", 10); err != nil || len(page) > len(all) {
			t.Fatalf("%v, %v", page, err)
		}
	})
}
