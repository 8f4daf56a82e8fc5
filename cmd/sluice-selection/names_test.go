package main

import (
	"bufio"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var updateReviewed = flag.Bool("update-reviewed", false, "write the list of proposals that a person reviews")

// reviewedNames is how many proposals a person read.
const reviewedNames = 300

// TestReviewedNames: the proposals that a person read, and found to have the right verb,
// are still what the rules propose. The sample is by the digest of specification, method
// and path, so it follows no rule.
func TestReviewedNames(t *testing.T) {
	corpus := os.Getenv("SLUICE_CORPUS")
	if corpus == "" {
		t.Skip("SLUICE_CORPUS is not set: no real specifications")
	}
	const file = "testdata/reviewed-names.tsv"
	got := proposals(t, corpus)
	got = got[:min(reviewedNames, len(got))]
	text := "# METHOD<tab>path<tab>name as generated<tab>name as proposed. Each was read: its verb is what the operation does.\n" + strings.Join(got, "\n") + "\n"
	if *updateReviewed {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	reviewed := strings.Split(string(want), "\n")
	for _, line := range got {
		if !slices.Contains(reviewed, line) {
			t.Errorf("nobody has read: %s\nread it, then: go test ./cmd/sluice-selection -run TestReviewedNames -update-reviewed", line)
		}
	}
}

// proposals are the names that the rules propose for every specification of the corpus.
func proposals(t *testing.T, corpus string) []string {
	t.Helper()
	list, err := os.Open(filepath.Join(corpus, "specs.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer list.Close()
	type proposal struct{ key, line string }
	var all []proposal
	for sc, n := bufio.NewScanner(list), 0; sc.Scan(); n++ {
		f := strings.Split(sc.Text(), "\t")
		if n == 0 || len(f) < 3 {
			continue
		}
		c, err := readCatalogue(t.Context(), f[0], filepath.Join(corpus, "specs", filepath.FromSlash(f[2])))
		if err != nil {
			t.Fatal(err)
		}
		tools, r, err := c.suggested()
		if err != nil {
			t.Fatal(err)
		}
		at := map[string]int{}
		for i := range tools {
			at[tools[i].Name] = i
		}
		for i := range r.Suggestions {
			if s := &r.Suggestions[i]; s.Name != "" {
				x := &tools[at[s.Tool]]
				sum := sha256.Sum256([]byte(f[0] + " " + x.Method + " " + x.Path))
				all = append(all, proposal{fmt.Sprintf("%x", sum), strings.Join([]string{x.Method, x.Path, s.Tool, s.Name}, "\t")})
			}
		}
	}
	slices.SortFunc(all, func(a, b proposal) int { return strings.Compare(a.key, b.key) })
	out := make([]string, len(all))
	for i := range all {
		out[i] = all[i].line
	}
	return out
}

// TestReviewedList: the list is whole, and no name in it contradicts its method.
func TestReviewedList(t *testing.T) {
	text, err := os.ReadFile("testdata/reviewed-names.tsv")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		n++
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 4 {
			t.Fatalf("want method, path, old and new name: %q", line)
		}
		verb, _, _ := strings.Cut(f[3], "_")
		if !strings.Contains(f[1], "#") && (f[0] == "GET" && slices.Contains([]string{"create", "update", "delete", "replace"}, verb) || f[0] == "DELETE" && slices.Contains([]string{"get", "list", "create", "update"}, verb)) {
			t.Errorf("%s cannot %s: %s", f[0], verb, line)
		}
	}
	if n != reviewedNames {
		t.Errorf("%d names, want %d", n, reviewedNames)
	}
}
