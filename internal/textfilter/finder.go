package textfilter

import (
	"bytes"
	"hash/maphash"
	"slices"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

const (
	// acrossSpan bytes around the begin of a text are read together, half of them before it.
	acrossSpan = 200
	// maxHarmless strings, and as many passages, are remembered as harmless; further ones
	// are read each time.
	maxHarmless = 1 << 16
)

// Finder finds what [Find], [FindJSON] and [FindAcross] find, in many tools. It remembers
// which texts have nothing, because the tools of a document share most of their schemas. The
// zero value is ready; it is not safe for concurrent use.
type Finder struct {
	all      []byte // the texts of a tool, each in a line of its own
	begins   []int  // of texts in all that may go on with a sentence
	seed     maphash.Seed
	strings  harmless // by their bytes in a document
	passages harmless
}

// harmless are hashes of texts in which nothing was found.
type harmless map[uint64]struct{}

func (h harmless) has(sum uint64) bool {
	_, ok := h[sum]
	return ok
}

func (h harmless) add(sum uint64) {
	if len(h) < maxHarmless {
		h[sum] = struct{}{}
	}
}

func (a *Finder) init() {
	if a.strings == nil {
		a.seed, a.strings, a.passages = maphash.MakeSeed(), harmless{}, harmless{}
	}
}

// FindJSON is [FindJSON].
func (a *Finder) FindJSON(raw []byte) []Finding {
	a.init()
	w := walker{known: a}
	w.value(jsonscan.Trusted(raw), 0)
	return w.found
}

// FindAcross is [Finder.FindAcross] of one tool.
func FindAcross(found []Finding, texts []string, schemas ...[]byte) []Finding {
	return new(Finder).FindAcross(found, texts, schemas...)
}

// FindAcross adds to found, the findings of the single texts of a tool, what begins in one
// text and ends in the next, as a model reads them. Schemas give their descriptions and
// values.
func (a *Finder) FindAcross(found []Finding, texts []string, schemas ...[]byte) []Finding {
	a.init()
	a.all, a.begins = a.all[:0], a.begins[:0]
	for _, s := range texts {
		a.begin()
		a.all = append(append(a.all, s...), '\n')
	}
	for _, s := range schemas {
		a.texts(jsonscan.Trusted(s), 0)
	}
	for _, at := range a.begins {
		if len(found) == maxFindings {
			break
		}
		from := max(at-acrossSpan/2, 0)
		found = a.passage(found, a.all[from:min(at+acrossSpan/2, len(a.all))], from > 0)
	}
	return found
}

// begin notes where the next text begins, unless the sentence before it has ended, or what is
// read around the text noted last has this place too.
func (a *Finder) begin() {
	n := len(a.all)
	if n < 2 || bytes.IndexByte([]byte(".!?"), a.all[n-2]) >= 0 {
		return
	}
	if k := len(a.begins); k == 0 || n-a.begins[k-1] >= acrossSpan/4 {
		a.begins = append(a.begins, n)
	}
}

// passage adds to found what a part of the texts has of other kinds. inside says that it
// begins in the middle of a text.
func (a *Finder) passage(found []Finding, part []byte, inside bool) []Finding {
	sum := maphash.Bytes(a.seed, part)
	if a.passages.has(sum) {
		return found
	}
	var more []Finding
	if g := glanceAt(part); g.any || g.foreign { // what is encoded or disguised is so in a single text
		text := string(part)
		if inside {
			text = ", " + text // nothing in it is the begin of a text
		}
		more = search(text, nil, "")
	}
	if len(more) == 0 {
		a.passages.add(sum)
	}
	for _, f := range more {
		if len(found) < maxFindings && !slices.ContainsFunc(found, func(one Finding) bool { return one.Kind == f.Kind }) {
			found = append(found, f)
		}
	}
	return found
}

// texts appends the strings of a document, up to what is searched.
func (a *Finder) texts(v jsonscan.Value, depth int) {
	if depth > maxFindDepth || len(a.all) > maxSearched {
		return
	}
	switch v.Kind() {
	case jsonscan.String:
		a.begin()
		a.all = append(v.AppendText(a.all), '\n')
	case jsonscan.Array:
		for e := v.Elements(); e.Next(); {
			a.texts(e.Value(), depth+1)
		}
	case jsonscan.Object:
		for m := v.Members(); m.Next(); {
			switch string(m.Key()) {
			case "type", "format", "pattern", "$ref", "required":
			default:
				a.texts(m.Value(), depth+1)
			}
		}
	}
}
