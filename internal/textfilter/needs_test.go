package textfilter

import (
	"math/rand/v2"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
)

// accountNumber is in the expression of a rule whose words are more than what it cannot match
// without: a number alone looks like many ids, so the text must speak of an IBAN.
const accountNumber = `[a-z]{2}[0-9]{2}[0-9a-z]{11,}`

// TestNeeds: a rule runs only where one of its words stands, so each text that its expression
// matches has one: all alternatives of the expression are written, in many ways.
func TestNeeds(t *testing.T) {
	for i := range rules {
		r := &rules[i]
		if strings.Contains(r.expr().String(), accountNumber) {
			continue
		}
		tree, err := syntax.Parse(r.expr().String(), syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		w := writer{rng: rand.New(rand.NewPCG(1, uint64(i))), next: map[*syntax.Regexp]int{}}
		matched, missed := 0, 0
		for range 400 {
			w.text = w.text[:0]
			w.write(tree)
			text := " " + strings.Join(strings.Fields(strings.ToLower(string(w.text))), " ") + " "
			if !r.expr().MatchString(text) {
				continue // a word does not end where it has to
			}
			matched++
			if !r.filter().allows(text) {
				t.Fatalf("rule %d (%s) matches %q, which its prefilter rules out: %q", i, r.kind, text, *r.filter())
			}
			has := func(word string) bool { return strings.Contains(text, word) }
			if !slices.ContainsFunc(r.need, has) || len(r.also) > 0 && !slices.ContainsFunc(r.also, has) {
				if missed++; missed <= 3 {
					t.Errorf("rule %d (%s) matches %q, which has none of its words %q and %q", i, r.kind, text, r.need, r.also)
				}
			}
		}
		if matched == 0 {
			t.Errorf("rule %d (%s) matched %d texts only: %s", i, r.kind, matched, r.expr())
		}
	}
}

// writer writes texts that an expression matches.
type writer struct {
	rng  *rand.Rand
	next map[*syntax.Regexp]int // the alternative that is next
	text []byte
}

func (w *writer) write(e *syntax.Regexp) {
	repeat := func(from, to int) {
		if to < 0 {
			to = from + 2
		}
		for range from + w.rng.IntN(min(to-from, 4)+1) {
			w.write(e.Sub[0])
		}
	}
	switch e.Op {
	case syntax.OpLiteral:
		w.text = append(w.text, string(e.Rune)...)
	case syntax.OpCharClass:
		var some []rune
		for i := 0; i < len(e.Rune); i += 2 {
			for c := max(e.Rune[i], ' '); c <= min(e.Rune[i+1], max(e.Rune[i], ' ')+94); c++ {
				some = append(some, c)
			}
		}
		if some[0] == ' ' { // nearly everything
			some = []rune(" q")
		}
		w.text = append(w.text, string(some[w.rng.IntN(len(some))])...)
	case syntax.OpAnyCharNotNL, syntax.OpAnyChar:
		w.text = append(w.text, " q"[w.rng.IntN(2)])
	case syntax.OpCapture:
		w.write(e.Sub[0])
	case syntax.OpStar:
		repeat(0, -1)
	case syntax.OpPlus:
		repeat(1, -1)
	case syntax.OpQuest:
		repeat(0, 1)
	case syntax.OpRepeat:
		repeat(e.Min, e.Max)
	case syntax.OpConcat:
		for _, s := range e.Sub {
			w.write(s)
		}
	case syntax.OpAlternate:
		i := w.next[e]
		w.next[e] = i + 1
		w.write(e.Sub[i%len(e.Sub)])
	}
}
