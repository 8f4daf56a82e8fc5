package answers

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicegate/sluice/internal/problem"
)

// A Question is what a user would ask of an answer of a corpus. It can still be
// answered when every pointer (RFC 6901) leads to the same value in what the agent
// reads as in what came.
type Question struct {
	ID       string   `json:"id"`
	Answer   string   `json:"answer"` // id of the answer
	Question string   `json:"question"`
	Class    string   `json:"class"`
	Pointers []string `json:"pointers"`
}

// A Score is how many questions there are, and how many can be answered.
type Score struct{ All, Answered int }

// Share is the percentage that can be answered.
func (s Score) Share() float64 {
	if s.All == 0 {
		return 0
	}
	return 100 * float64(s.Answered) / float64(s.All)
}

// Asked is the result of a set of questions.
type Asked struct {
	Total   Score
	Classes map[string]Score
	Lost    []Question

	vendors map[string]Score
}

// maxLine is the longest line of a table or of a set of questions: 50 pointers and a
// text.
const maxLine = 1 << 20

// ReadQuestions reads a set of questions, a JSON object on each line.
func ReadQuestions(file string) ([]Question, error) {
	f, err := os.Open(file) //nolint:gosec // the user names it
	if err != nil {
		return nil, problem.New(problem.NotFound, "there is no set of questions %s", file).Because(err)
	}
	defer f.Close()
	var all []Question
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		var q Question
		if err := json.Unmarshal(line, &q); err != nil || q.Answer == "" || len(q.Pointers) == 0 {
			return nil, problem.New(problem.InvalidArgument, "this is not a question: an object with answer, class and pointers is expected").At(file, n, 0, "").Because(err)
		}
		all = append(all, q)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return all, nil
}

// Ask puts the questions to what the agent reads of the answers. Those of answers
// that are not there, or could not be measured, are lost.
func Ask(questions []Question, answers []Answer) (*Asked, error) {
	by := make(map[string]*Answer, len(answers))
	for i := range answers {
		by[answers[i].ID] = &answers[i]
	}
	type docs struct{ before, after any }
	read := map[string]*docs{}
	result := &Asked{Classes: map[string]Score{}, vendors: map[string]Score{}}
	for _, q := range questions {
		r, vendor := by[q.Answer], "unknown"
		if r != nil {
			vendor = r.Vendor
		}
		d := read[q.Answer]
		if d == nil && r != nil && r.m != nil {
			back, _, err := Decode(r.m.Concise)
			if err != nil {
				return nil, fmt.Errorf("decoding what is read of %s: %w", q.Answer, err)
			}
			d = &docs{anyOf(r.m.Minified), anyOf(back)}
			read[q.Answer] = d
		}
		n := 0
		if d != nil && !slices.ContainsFunc(q.Pointers, func(p string) bool { return !sameAt(d.before, d.after, p) }) {
			n = 1
		} else {
			result.Lost = append(result.Lost, q)
		}
		for _, s := range []struct {
			in  map[string]Score
			key string
		}{{result.Classes, q.Class}, {result.vendors, vendor}} {
			old := s.in[s.key]
			s.in[s.key] = Score{old.All + 1, old.Answered + n}
		}
		result.Total = Score{result.Total.All + 1, result.Total.Answered + n}
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
func (q *Asked) markdown(b *bytes.Buffer) {
	b.WriteString("\n## Questions\n\nOf questions that users would ask of these answers, written from what came before any shortened form was seen, these can be answered from the concise text: every value\n" +
		"that the answer needs is in it, where it was. A member that is missing says null or empty.\n\n| | questions | answered | |\n| --- | ---: | ---: | ---: |\n")
	row := func(name string, s Score) {
		fmt.Fprintf(b, "| %s | %d | %d | %.1f %% |\n", name, s.All, s.Answered, s.Share())
	}
	for _, c := range slices.Sorted(maps.Keys(q.Classes)) {
		row(c, q.Classes[c])
	}
	row("all", q.Total)
	var missed []string
	for _, v := range slices.Sorted(maps.Keys(q.vendors)) {
		if s := q.vendors[v]; s.Answered < s.All {
			missed = append(missed, fmt.Sprintf("%s %d of %d", v, s.Answered, s.All))
		}
	}
	fmt.Fprintf(b, "\nNot all can be answered of: %s.\n", listed(missed))
}
