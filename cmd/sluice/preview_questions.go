package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicegate/sluice/internal/problem"
)

// A question is what a user would ask of an answer of a corpus. It can still be
// answered when every pointer (RFC 6901) leads to the same value in what the agent
// reads as in what came.
type question struct {
	ID       string   `json:"id"`
	Answer   string   `json:"answer"` // id of the answer
	Question string   `json:"question"`
	Class    string   `json:"class"`
	Pointers []string `json:"pointers"`
}

// score is how many questions there are, and how many can be answered.
type score struct{ all, answered int }

func (s score) share() float64 {
	if s.all == 0 {
		return 0
	}
	return 100 * float64(s.answered) / float64(s.all)
}

// asked is the result of a set of questions.
type asked struct {
	total   score
	classes map[string]score
	vendors map[string]score
	lost    []question
}

// maxQuestion is the longest line of a set of questions: 50 pointers and a text.
const maxQuestion = 1 << 20

// readQuestions reads a set of questions, a JSON object on each line.
func readQuestions(file string) ([]question, error) {
	f, err := os.Open(file) //nolint:gosec // the user names it
	if err != nil {
		return nil, problem.New(problem.NotFound, "there is no set of questions %s", file).Because(err)
	}
	defer f.Close()
	r := newLineReader(f, maxQuestion)
	var all []question
	for n := 1; ; n++ {
		line, err := r.next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		var q question
		if err := json.Unmarshal(line, &q); err != nil || q.Answer == "" || len(q.Pointers) == 0 {
			return nil, problem.New(problem.InvalidArgument, "this is no question: an object with answer, class and pointers is expected").At(file, n, 0, "").Because(err)
		}
		all = append(all, q)
	}
}

// askAll puts the questions to what the agent reads of the answers. Those of answers
// that are not there, or could not be measured, are lost.
func askAll(questions []question, answers []answered) (*asked, error) {
	by := make(map[string]*answered, len(answers))
	for i := range answers {
		by[answers[i].ID] = &answers[i]
	}
	type docs struct{ before, after any }
	read := map[string]*docs{}
	result := &asked{classes: map[string]score{}, vendors: map[string]score{}}
	for _, q := range questions {
		r, vendor := by[q.Answer], "unknown"
		if r != nil {
			vendor = r.Vendor
		}
		d := read[q.Answer]
		if d == nil && r != nil && r.m != nil {
			back, _, err := decodeAnswer(r.m.concise)
			if err != nil {
				return nil, fmt.Errorf("decoding what is read of %s: %w", q.Answer, err)
			}
			d = &docs{anyOf(r.m.minified), anyOf(back)}
			read[q.Answer] = d
		}
		n := 0
		if d != nil && !slices.ContainsFunc(q.Pointers, func(p string) bool { return !sameAt(d.before, d.after, p) }) {
			n = 1
		} else {
			result.lost = append(result.lost, q)
		}
		for _, s := range []struct {
			in  map[string]score
			key string
		}{{result.classes, q.Class}, {result.vendors, vendor}} {
			old := s.in[s.key]
			s.in[s.key] = score{old.all + 1, old.answered + n}
		}
		result.total = score{result.total.all + 1, result.total.answered + n}
	}
	return result, nil
}

// sameAt reports whether a pointer leads to the same value in both. A member that is
// missing stands for null, and for what is empty.
func sameAt(before, after any, pointer string) bool {
	b, ok := valueAt(before, pointer)
	if !ok {
		return false // the question is not about this answer
	}
	a, ok := valueAt(after, pointer)
	if !ok {
		switch v := b.(type) {
		case nil:
			return true
		case string:
			return v == ""
		case []any:
			return len(v) == 0
		case map[string]any:
			return len(v) == 0
		}
		return false
	}
	return reflect.DeepEqual(a, b)
}

func valueAt(v any, pointer string) (any, bool) {
	if pointer == "" {
		return v, true
	}
	for _, token := range strings.Split(pointer, "/")[1:] {
		switch in := v.(type) {
		case map[string]any:
			next, ok := in[strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(in) {
				return nil, false
			}
			v = in[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// markdown writes the result for the report: no question is repeated, a set is not
// ours to publish.
func (q *asked) markdown(b *bytes.Buffer) {
	b.WriteString("\n## Questions\n\nOf questions that users would ask of these answers, written from what came before any shortened form was seen, these can be answered from the concise text: every value\n" +
		"that the answer needs is in it, where it was. A member that is missing says null or empty.\n\n| | questions | answered | |\n| --- | ---: | ---: | ---: |\n")
	row := func(name string, s score) {
		fmt.Fprintf(b, "| %s | %d | %d | %.1f %% |\n", name, s.all, s.answered, s.share())
	}
	for _, c := range slices.Sorted(maps.Keys(q.classes)) {
		row(c, q.classes[c])
	}
	row("all", q.total)
	var missed []string
	for _, v := range slices.Sorted(maps.Keys(q.vendors)) {
		if s := q.vendors[v]; s.answered < s.all {
			missed = append(missed, fmt.Sprintf("%s %d of %d", v, s.answered, s.all))
		}
	}
	fmt.Fprintf(b, "\nNot all can be answered of: %s.\n", listed(missed))
}

// print writes the result in a line, and each question that is lost.
func (q *asked) print(w io.Writer) {
	for _, l := range q.lost {
		fmt.Fprintf(w, "lost: %s [%s] %s %s\n", printable(l.ID), printable(l.Class), printable(l.Question), printable(l.Pointers[0]))
	}
	fmt.Fprintf(w, "%d of %d questions can be answered (%.1f %%)", q.total.answered, q.total.all, q.total.share())
	for i, c := range slices.Sorted(maps.Keys(q.classes)) {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		fmt.Fprintf(w, "%s%s %d of %d", sep, printable(c), q.classes[c].answered, q.classes[c].all)
	}
	fmt.Fprintln(w)
}
