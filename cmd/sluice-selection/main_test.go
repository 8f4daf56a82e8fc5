package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/selection"
)

func TestReadNeeds(t *testing.T) {
	needs, err := readNeeds("testdata/needs.tsv", specOf, 4)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, n := range needs {
		count[n.api]++
		if n.user == "" || n.agent == "" || len(n.operations) == 0 {
			t.Errorf("%+v", n)
		}
	}
	if len(needs) != 60 || len(count) != 4 {
		t.Errorf("%d needs of %v, want 60 of four APIs", len(needs), count)
	}
	bad := filepath.Join(t.TempDir(), "needs.tsv")
	if err := os.WriteFile(bad, []byte("# comment\ngithub\tGET /x\tonly the user\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readNeeds(bad, specOf, 4); err == nil || !strings.Contains(err.Error(), "needs.tsv:2") {
		t.Errorf("three columns: %v", err)
	}
}

// set writes a folder with one set of a group.
func set(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"tools.jsonl":   `{"id":"a","name":"list_orders"}` + "\n" + `{"id":"b","name":"cancel_order"}`,
		"queries.jsonl": `{"id":"1","text":"cancel","relevant":["b"]}`,
	} {
		for _, s := range []string{"metatool_single", "metatool_multi", "shop"} {
			if err := os.MkdirAll(filepath.Join(dir, s), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, s, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

func TestRun(t *testing.T) {
	dir := set(t)
	f := func(want string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		err := run(t.Context(), args, &out, &out)
		if got := out.String(); err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %q", args, err, want)
			}
		} else if got != want {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
	f("metatool metatool_multi,metatool_single\nshop shop\n", "groups", "-sets", dir)
	f("say one of")
	f("say one of", "else")
	f("-github names no", "measure")
	f("make selection-tables", "fit", "-sets", dir, "-held-out", t.TempDir())
	doc := filepath.Join(t.TempDir(), "doc.md")
	if err := os.WriteFile(doc, []byte("no marks"), 0o600); err != nil {
		t.Fatal(err)
	}
	f("has no lines", "report", "-sets", dir, "-to", doc)
}

// TestNeedsBlock: the table of needs is written between its own marks, the rest stays.
func TestNeedsBlock(t *testing.T) {
	doc := filepath.Join(t.TempDir(), "doc.md")
	if err := os.WriteFile(doc, []byte("a\n"+reportBegin+"old\n"+reportEnd+"b\n"+needsBegin+"old\n"+reportEnd+"c\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var r report
	r.needs([]needScore{{api: "shop", tools: 1200, needs: 4, user: 3, agent: 4, missed: []string{"money back"}}})
	var out bytes.Buffer
	if err := r.write(doc, needsBegin, &out); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"a\n" + reportBegin + "old\n" + reportEnd + "b\n" + needsBegin + "| what |", "| 4 needs over four APIs, found among the first 8: in a user's words | ≥ 80 % | 75 % (3 of 4) | **no** |",
		"| shop | 1,200 | 4 | 3 | 4 |", "* shop: “money back”\n" + reportEnd + "c\n",
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("not written: %s\nthere is: %s", want, got)
		}
	}
	if !strings.HasPrefix(out.String(), "missed: 4 needs") {
		t.Error(out.String())
	}
}

// TestCopies: copies are tools of other services, and requests are whole.
func TestCopies(t *testing.T) {
	tools := []selection.Tool{{Name: "a", Server: "s", Description: "Does a thing. And more."}, {Name: "b", Server: "s"}}
	c := copies(tools, 5)
	if c[0].Name != "a" || c[2].Name != "service1_a" || c[4].Server != "service2" {
		t.Errorf("%+v", c)
	}
	if q := requests(tools); len(q) != 1 || q[0] != "Does a thing" {
		t.Errorf("%q", q)
	}
	s := selection.Build(c, nil).NewSearcher()
	if ms := p95(s, requests(tools)); ms <= 0 || ms > 1000 {
		t.Errorf("%g ms", ms)
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{7: "7", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := thousands(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
