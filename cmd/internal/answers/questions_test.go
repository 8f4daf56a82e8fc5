package answers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestQuestions: of the set of questions beside the corpus, or that SLUICE_QUESTIONS
// names, 99 of 100 can be answered from what agents read, and 98 of each class.
func TestQuestions(t *testing.T) {
	all := measuredCorpus(t)
	file := os.Getenv("SLUICE_QUESTIONS")
	if file == "" {
		file = filepath.Join(os.Getenv("SLUICE_CORPUS"), "answers-qa", "questions.jsonl")
		if _, err := os.Stat(file); err != nil {
			t.Skip("SLUICE_QUESTIONS is not set, and the corpus has no answers-qa/questions.jsonl")
		}
	}
	questions, err := ReadQuestions(file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Ask(questions, all)
	if err != nil {
		t.Fatal(err)
	}
	if got.Total.Share() < 99 {
		t.Errorf("%.1f %% can be answered, at least 99 should", got.Total.Share())
	}
	for class, s := range got.Classes {
		if s.Share() < 98 {
			t.Errorf("%s: %.1f %% can be answered, at least 98 should", class, s.Share())
		}
	}
	for _, q := range got.Lost {
		t.Logf("lost: %s %s", q.ID, q.Pointers[0])
	}
}

func TestSameAt(t *testing.T) {
	before := anyOf([]byte(`{"a":{"x/y":[1,{"b~c":"v"}]},"n":null,"e":[],"o":{},"s":"","f":false,"z":0,"big":1.0}`))
	after := anyOf([]byte(`{"a":{"x/y":[1,{"b~c":"v"}]},"big":1.00}`))
	for pointer, want := range map[string]bool{
		"/a/x~1y/1/b~0c": true, "/a/x~1y/0": true, "/a/x~1y/2": false, "/a/x~1y/-1": false, "/a": true, "/n": true, "/e": true, "/o": true, "/s": true,
		"/f": false, "/z": false, "/big": false, "/big/x": false, "/none": false, "": false,
	} {
		if got := sameAt(before, after, pointer); got != want {
			t.Errorf("%q: %t", pointer, got)
		}
	}
}

func TestReadQuestions(t *testing.T) {
	f := func(text, want string, n int) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "q.jsonl")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := ReadQuestions(file)
		if len(all) != n || (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Fatalf("%d questions, %v", len(all), err)
		}
	}
	f(`{"id":"a#1","answer":"a","class":"keep","pointers":["/x"]}`+"\n\n", "", 1)
	f(`{"id":"a#1","answer":"a","class":"keep"}`, "this is not a question", 0)
	f(`nothing`, "this is not a question", 0)
	const one, end = `{"answer":"a","pointers":["/x"],"question":"`, `"}` + "\n"
	fill := maxLine - len(one) - len(end)
	f(one+strings.Repeat("x", fill)+end, "", 1)
	f(one+strings.Repeat("x", fill+1)+end, "token too long", 0)
	if _, err := ReadQuestions(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Fatal("a file that is not there")
	}
}
