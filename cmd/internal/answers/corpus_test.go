package answers

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/itchyny/gojq"

	"github.com/sluicegate/sluice/plugins/enginepool"
	"github.com/sluicegate/sluice/registry"
)

//go:embed testdata/questions.tsv
var questions string

// corpus measures all answers once for the tests of this file.
var corpus = sync.OnceValues(func() ([]Answer, error) {
	h, err := enginepool.New(context.Background(), enginepool.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = h.Close(context.Background()) }()
	return (&Measurer{Host: h}).Corpus(context.Background(), Options{Dir: os.Getenv("SLUICE_CORPUS"), Profile: registry.ProfileConcise})
})

func measuredCorpus(t *testing.T) []Answer {
	t.Helper()
	if os.Getenv("SLUICE_CORPUS") == "" {
		t.Skip("SLUICE_CORPUS is not set")
	}
	all, err := corpus()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestCorpusAnswers holds the promises about the size of answers and about what
// survives in them.
func TestCorpusAnswers(t *testing.T) {
	all := measuredCorpus(t)
	for i := range all {
		r := &all[i]
		switch {
		case r.Error != "":
			t.Errorf("%s: %s", r.ID, r.Error)
		case !r.RoundTrip:
			t.Errorf("%s: the lossless text stands for another answer", r.ID)
		case r.Tokens.Lossless > r.Tokens.Minified:
			t.Errorf("%s: %d tokens lossless, %d minified", r.ID, r.Tokens.Lossless, r.Tokens.Minified)
		case r.m.LostIdentifiers > 0:
			t.Errorf("%s: identifiers are lost: %v", r.ID, r.Lost)
		case r.Drift != "" && r.m.LostEssential > 0:
			t.Errorf("%s: not what its specification declares, and lost %v", r.ID, r.Lost)
		}
	}
	sums := SumUp(all)
	mean, n := 0.0, 0.0
	for _, v := range sums {
		if v.Tokens.Concise > v.Tokens.Minified {
			t.Errorf("%s: concise is larger than minified JSON", v.Vendor)
		}
		if v.Answers >= vendorAnswers && !strings.HasPrefix(v.Vendor, "all") {
			mean += saved(v.Tokens.Concise, v.Tokens.Pretty)
			n++
		}
	}
	recorded, total := sums[len(sums)-2], sums[len(sums)-1]
	f := func(what string, got, goal float64) {
		t.Helper()
		if math.IsNaN(got) || got < goal {
			t.Errorf("%s: %.2f %%, goal %.0f %%", what, got, goal)
		}
		t.Logf("%s: %.2f %%", what, got)
	}
	f("lossless against pretty, recorded", saved(recorded.Tokens.Lossless, recorded.Tokens.Pretty), 45)
	f("concise against pretty, recorded", saved(recorded.Tokens.Concise, recorded.Tokens.Pretty), 76)
	f("concise against minified, recorded", saved(recorded.Tokens.Concise, recorded.Tokens.Minified), 69)
	f("concise against pretty, mean of vendors", mean/n, 58)
	f("essential leaves kept", 100-100*float64(total.Lost)/float64(total.Essential), 98)
}

// TestCorpusDrift: answers that their specification does not describe are told.
func TestCorpusDrift(t *testing.T) {
	all := measuredCorpus(t)
	told := 0
	for i := range all {
		if all[i].Drift != "" {
			told++
		}
	}
	if told == 0 || told > len(all)/10 {
		t.Errorf("%d of %d answers are told to be something else", told, len(all))
	}
}

// TestCorpusQuestions: what people ask of answers, they get from the concise text.
func TestCorpusQuestions(t *testing.T) {
	all := measuredCorpus(t)
	byID := map[string]*Answer{}
	for i := range all {
		byID[all[i].ID] = &all[i]
	}
	lines := strings.Split(strings.TrimSpace(questions), "\n")[1:]
	if len(lines) < 60 {
		t.Fatalf("%d questions", len(lines))
	}
	for _, line := range lines {
		cells := strings.Split(line, "\t")
		if len(cells) != 4 {
			t.Fatalf("%q is not a question", line)
		}
		id, question, query, expected := cells[0], cells[1], cells[2], cells[3]
		r := byID[id]
		if r == nil || r.m == nil {
			t.Errorf("%s: no such answer", id)
			continue
		}
		original, err := os.ReadFile(filepath.Join(os.Getenv("SLUICE_CORPUS"), "responses", id+".json"))
		if err != nil {
			t.Fatal(err)
		}
		concise, _, err := Decode(r.m.Concise)
		if err != nil {
			t.Fatal(err)
		}
		var want any
		if err := json.Unmarshal([]byte(expected), &want); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		if got := ask(t, query, original); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s\n%s\nof the original %v\nwant            %v", id, question, query, got, want)
		}
		if got := ask(t, query, concise); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s\n%s\ngot  %v\nwant %v", id, question, query, got, want)
		}
	}
}

// ask runs a query and returns its only result as encoding/json reads it.
func ask(t *testing.T, query string, doc []byte) any {
	t.Helper()
	q, err := gojq.Parse(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	var in any
	if err := json.Unmarshal(doc, &in); err != nil {
		t.Fatal(err)
	}
	it := q.RunWithContext(t.Context(), in)
	v, ok := it.Next()
	if !ok {
		return nil
	}
	if err, is := v.(error); is {
		return err.Error()
	}
	b, err := gojq.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}
