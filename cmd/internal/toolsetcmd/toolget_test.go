package toolsetcmd

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/publish/plugin"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/jsonscan"
)

// TestAppendArguments: each argument is a line with what it takes, and those of an object
// stand below it.
func TestAppendArguments(t *testing.T) {
	schema := `{"type":"object","required":["id","body"],"properties":{
		"id":{"type":"string","description":"The number. More of it."},
		"state":{"enum":["open","closed",null]},
		"kind":{"const":"a"},
		"at":{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"string"}]},
		"any":{},
		"body":{"type":"object","required":["lines"],"properties":{"lines":{"type":"array","items":{"type":"object","properties":{"sku":{"type":["string","null"]}}}}}},
		"bad\u001b":{"type":"string"}}}`
	var b bytes.Buffer
	appendArguments(&b, jsonscan.Trusted([]byte(schema)), "  ")
	want := []string{
		"  id*\tstring\tThe number.",
		"  state\t\"open\" | \"closed\" | null",
		"  kind\t\"a\"",
		"  at\tstring | integer",
		"  any\tany",
		"  body*\tobject",
		"    lines*\tlist of object",
		"      sku\tstring | null",
	}
	got := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	if len(got) != len(want)+1 || strings.Join(got[:len(want)], "\n") != strings.Join(want, "\n") || strings.ContainsRune(got[len(want)], '\x1b') {
		t.Errorf("got\n%s", b.String())
	}
}

// TestLimits: what is asked of a number or a text is said.
func TestLimits(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"integer","minimum":1,"maximum":100,"default":20}`:                    "integer 1 to 100, default 20",
		`{"type":"number","minimum":0.5}`:                                              "number at least 0.5",
		`{"type":"number","maximum":-1e3,"multipleOf":0.5}`:                            "number at most -1e3, multiple of 0.5",
		`{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}`:                  "number more than 0 less than 1",
		`{"type":"string","minLength":3,"maxLength":5}`:                                "string 3 to 5 characters",
		`{"type":"string","maxLength":5,"default":"a"}`:                                `string at most 5 characters, default "a"`,
		`{"type":"array","items":{"type":"integer","minimum":1}}`:                      "list of integer at least 1",
		`{"type":"integer","minimum":"1","default":` + "1" + `}`:                       "integer, default 1",
		`{"type":"string","default":"` + strings.Repeat("a", maxShownDefault-2) + `"}`: `string, default "` + strings.Repeat("a", maxShownDefault-2) + `"`,
		`{"type":"string","default":"` + strings.Repeat("a", maxShownDefault-1) + `"}`: "string",
	} {
		if got := typeText(jsonscan.Trusted([]byte(schema)), 0); got != want {
			t.Errorf("%s: %s, want %s", schema, got, want)
		}
	}
}

// TestShownBounds: what is deep and what has many values ends.
func TestShownBounds(t *testing.T) {
	deep := func(n int) string {
		return strings.Repeat(`{"properties":{"a":`, n) + `{}` + strings.Repeat(`}}`, n)
	}
	for _, n := range []int{maxShownDepth, maxShownDepth + 1, 30} {
		var b bytes.Buffer
		appendArguments(&b, jsonscan.Trusted([]byte(deep(n))), "  ")
		if got := strings.Count(b.String(), "\n"); got != min(n, maxShownDepth) {
			t.Errorf("%d deep: %d lines", n, got)
		}
	}
	for _, n := range []int{maxShownChoices, maxShownChoices + 1} {
		values := make([]string, n)
		for i := range values {
			values[i] = strings.Repeat("1", i+1)
		}
		text := typeText(jsonscan.Trusted([]byte(`{"enum":[`+strings.Join(values, ",")+`]}`)), 0)
		if more := strings.HasSuffix(text, " | 1 more"); more != (n > maxShownChoices) || strings.Count(text, " | ") != n-1 {
			t.Errorf("%d values: %s", n, text)
		}
	}
	lists := strings.Repeat(`{"type":"array","items":`, 30) + `{}` + strings.Repeat(`}`, 30)
	if text := typeText(jsonscan.Trusted([]byte(lists)), 0); text != strings.Repeat("list of ", maxShownDepth+1)+"…" {
		t.Errorf("lists of lists: %s", text)
	}
}

// TestHintsOf: the hints are the words that annotate takes, and those that say nothing of a
// tool that only reads are left out.
func TestHintsOf(t *testing.T) {
	for want, a := range map[string]plugin.Annotations{
		"":                       {},
		"read-only open-world":   {ReadOnly: true, Destructive: true, Idempotent: true, OpenWorld: true},
		"destructive idempotent": {Destructive: true, Idempotent: true},
	} {
		hints := hintsOf(&toolset.Tool{Annotations: a})
		if got := strings.Join(hints, " "); got != want {
			t.Errorf("%+v: %s, want %s", a, got, want)
		}
		if len(hints) > 0 {
			if _, err := annotationsOf(hints); err != nil {
				t.Error(err)
			}
		}
	}
}
