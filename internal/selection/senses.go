package selection

import (
	_ "embed" // the list
	"slices"
	"strings"
	"sync"
)

// What people say who have never read an API, with the words that APIs have for it.
//
//go:embed senses.txt
var sensesText string

const (
	// maxPhrase is how many words of a request are one phrase.
	maxPhrase = 5
	// maxPlaced bounds the words of a request that phrases are looked for among.
	maxPlaced = 48
	// maxMeant bounds the words that a request is given besides its own.
	maxMeant = 64
	// maxApart is how far a particle may stand from its verb: "take this old thing down".
	maxApart = 6
	// maxLet is how far a verb may stand from "let": "let Ana Maria edit".
	maxLet = 3
	// meantShare weighs a word that is meant against one that is said; phraseShare where
	// several words mean it: they are clearer than one.
	meantShare, phraseShare = .6, .9
)

// lexicon is the list of senses: by phrase, the terms that are meant.
type lexicon struct {
	byPhrase map[uint32]int32 // hash of a phrase → position in meant
	meant    [][]string       // distinct terms, in their normal form
}

// articles say nothing of what is meant, wherever they stand.
var articles = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq("a an the my our your his her its their this that these those it me us him them") {
		m[w] = true
	}
	return m
}()

// particles make another verb of the verb before them.
var particles = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq("away back down in into off on out over rid up") {
		m[w] = true
	}
	return m
}()

// senses is the list of this binary, read on first use.
var senses = sync.OnceValue(func() *lexicon { return parseSenses(sensesText) })

func parseSenses(text string) *lexicon {
	l := &lexicon{byPhrase: map[uint32]int32{}}
	at := map[uint32]int32{}
	add := func(said, meant string) {
		key, n := uint32(0), 0
		eachWord(said, nil, func(w []byte) {
			if !articles[string(w)] {
				key, n = phraseKey(key, wordHash(w)), n+1
			}
		})
		if n == 0 || n > maxPhrase {
			panic("BUG: internal/selection/senses.txt: a phrase of no word, or of more than five: " + said)
		}
		i, ok := at[key]
		if !ok {
			i = int32(len(l.meant))
			at[key], l.byPhrase[key], l.meant = i, i, append(l.meant, nil)
		}
		eachWord(meant, nil, func(w []byte) {
			if t := normal(string(w)); !slices.Contains(l.meant[i], t) {
				l.meant[i] = append(l.meant[i], t)
			}
		})
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if list, ok := strings.CutPrefix(line, "= "); ok {
			words := strings.Split(list, ", ")
			for i, said := range words {
				for j, meant := range words {
					if i != j {
						add(said, meant)
					}
				}
			}
			continue
		}
		meant, list, ok := strings.Cut(line, ": ")
		if line == "" || line[0] == '#' {
			continue
		}
		if !ok {
			panic("BUG: internal/selection/senses.txt: no colon: " + line)
		}
		for said := range strings.SplitSeq(list, ", ") {
			for one := range strings.SplitSeq(meant, " | ") {
				add(said, one)
			}
		}
	}
	return l
}

// phraseKey is the hash of a phrase with one word more.
func phraseKey(h, word uint32) uint32 { return (h*31 + word) * 2654435769 }

// resolved are the senses as terms of an index: of each, those that it has.
func (x *Index) resolved() [][]int32 {
	x.sensesOnce.Do(func() {
		l := senses()
		x.meant = make([][]int32, len(l.meant))
		for i, words := range l.meant {
			for _, w := range words {
				if t, ok := lookup(&x.terms, w); ok {
					x.meant[i] = append(x.meant[i], t)
				}
			}
		}
		term := func(w string) int32 {
			if t, ok := lookup(&x.terms, normal(w)); ok {
				return t
			}
			return -1
		}
		x.deeds = [5]int32{-1, term("get"), term("create"), term("update"), term("delete")}
		x.many = [3]int32{term("list"), term("search"), term("find")}
	})
	return x.meant
}

// meantTerm is a term that a request does not say but means.
type meantTerm struct {
	term int32
	// weight is 1 for a word that is said.
	weight float32
}

// place takes in one word of a request for phrases.
func (s *Searcher) place(w []byte) {
	if len(s.placed) == maxPlaced || articles[string(w)] {
		return
	}
	s.placed = append(s.placed, placedWord{s.hashOf(w), particles[string(w)], string(w) == "let"})
}

type placedWord struct {
	hash          uint32
	particle, let bool
}

// nots say that what comes next is not so; of "haven't" the words are "haven" and "t".
var nots = wordSet("not never no nobody none nothing haven hasn hadn isn aren wasn weren don doesn didn")

const (
	// notReach is how many words behind "not" may be what is not: "not yet been read".
	notReach = 3
	// maxDenied bounds the words of a request that are said not to be.
	maxDenied = 8
)

// deny takes in one word of a request for its opposite: who asks for what is not read
// means "unread", if tools say that.
func (s *Searcher) deny(w []byte) {
	if nots[string(w)] {
		s.sinceNot = 0
		return
	}
	if s.sinceNot >= notReach {
		return
	}
	s.sinceNot++
	s.opposite = append(append(s.opposite[:0], "un"...), w...)
	if t, ok := lookup(&s.x.surface, s.opposite); ok && t >= 0 && len(s.denied) < maxDenied {
		s.denied = append(s.denied, t)
	}
}

// findMeant fills s.meant with the terms that the words in s.placed mean.
func (s *Searcher) findMeant() {
	s.meant = s.meant[:0]
	for _, t := range s.denied {
		s.meanTerm(t, phraseShare)
	}
	l := senses()
	for i := range s.placed {
		h := uint32(0)
		for j := i; j < min(i+maxPhrase, len(s.placed)); j++ {
			h = phraseKey(h, s.placed[j].hash)
			share := float32(meantShare)
			if j > i {
				share = phraseShare
			}
			s.mean(l, h, share)
		}
		for j := i + 2; j <= min(i+maxApart, len(s.placed)-1); j++ {
			if s.placed[j].particle || s.placed[i].let && j <= i+maxLet {
				s.mean(l, phraseKey(phraseKey(0, s.placed[i].hash), s.placed[j].hash), phraseShare)
			}
		}
	}
}

func (s *Searcher) mean(l *lexicon, key uint32, share float32) {
	i, ok := l.byPhrase[key]
	if !ok {
		return
	}
	for _, t := range s.means[i] {
		s.meanTerm(t, share)
	}
}

func (s *Searcher) meanTerm(t int32, share float32) {
	if slices.Contains(s.terms, t) {
		return
	}
	if at := slices.IndexFunc(s.meant, func(m meantTerm) bool { return m.term == t }); at >= 0 {
		s.meant[at].weight = max(s.meant[at].weight, share)
	} else if len(s.meant) < maxMeant {
		s.meant = append(s.meant, meantTerm{t, share})
	}
}

// meansTerm is how surely a request means a term that it does not say.
func (s *Searcher) meansTerm(t int32) float32 {
	for _, m := range s.meant {
		if m.term == t {
			return m.weight
		}
	}
	return 0
}
