package naming

import (
	"slices"
	"strings"

	"github.com/sluicegate/sluice/internal/wording"
)

// place is one thing that a path names.
type place struct {
	words []string
	param []string // words of the parameter behind it; nil: none
	group bool     // it only says where to look: a dotted API group
}

// route is a path taken apart.
type route struct {
	places   []place
	versions []string // its version, where it names one
	action   []string // of "#Action=DoThis"
	query    bool     // something behind ? or # tells it apart
	part     bool     // that names what of the last place it is about
}

// roots say nothing about an operation.
var roots = words("api apis rest restful services service rpc")

// routeOf takes a path apart. split gives the words of a segment.
func routeOf(path string, split func(string) []string) route {
	var r route
	path, fragment, _ := strings.Cut(path, "#")
	path, query, _ := strings.Cut(path, "?")
	r.query = fragment != "" || query != ""
	for pair := range strings.SplitSeq(fragment, "&") {
		if name, value, ok := strings.Cut(pair, "="); ok && (strings.EqualFold(name, "action") || strings.EqualFold(name, "x-amz-target")) {
			r.action = wording.Split(value)
		}
	}
	first := true
	for seg := range strings.SplitSeq(path, "/") {
		if seg == "" {
			continue
		}
		if open := strings.IndexByte(seg, '{'); open >= 0 {
			if open > 0 && strings.Trim(seg[:open], ".-_:(@") != "" {
				r.places = append(r.places, place{words: split(seg[:open])})
			}
			seg, custom, _ := strings.Cut(seg[open:], "}:") // "{book}:undelete", a custom method
			param := wording.Split(seg)
			if len(r.places) > 0 && r.places[len(r.places)-1].param == nil {
				r.places[len(r.places)-1].param = param
			}
			if ws := split(custom); len(ws) > 0 {
				r.places = append(r.places, place{words: ws})
			}
			first = false
			continue
		}
		ws := split(seg)
		switch {
		case len(ws) == 0:
			continue
		case version(ws):
			r.versions = ws
			continue
		case first && len(ws) == 1 && roots[ws[0]]:
			continue
		}
		first = false
		if strings.Contains(seg, ".k8s.io") {
			r.places = append(r.places, place{words: wording.Split(seg), group: true})
			continue
		}
		if strings.ContainsAny(seg, ".:") && !strings.HasSuffix(seg, ".json") { // "conversations.archive", "books:search"
			for part := range strings.FieldsFuncSeq(seg, func(c rune) bool { return c == '.' || c == ':' }) {
				if w := split(part); len(w) > 0 {
					r.places = append(r.places, place{words: w})
				}
			}
			continue
		}
		if w := slices.DeleteFunc(slices.Clone(ws), func(w string) bool { return w == "json" }); len(w) > 0 {
			r.places = append(r.places, place{words: w})
		}
	}
	r.places = withoutMarkers(r.places)
	if ws := split(fragment); len(ws) > 0 && !strings.Contains(fragment, "=") && ws[0] != "id" {
		if r.part = !basic[ws[0]] || len(ws) == 1; !r.part { // "#remove_shared_link"
			r.places = append(r.places, place{words: ws})
		}
	}
	return r
}

// withoutMarkers leaves out "actions" before the deed that a path ends with:
// /users/{id}/actions/suspend.
func withoutMarkers(places []place) []place {
	n := len(places)
	if n < 3 || places[n-3].param == nil || places[n-2].param != nil || places[n-1].param != nil || !isVerb(places[n-1].words[0]) {
		return places
	}
	if w := places[n-2].words; len(w) != 1 || w[0] != "actions" && w[0] != "action" {
		return places
	}
	return slices.Delete(places, n-2, n-1)
}

// version reports the words of a segment that is only a version: v1, 2, v1beta1, 2024-01.
func version(ws []string) bool {
	s := strings.TrimPrefix(strings.Join(ws, ""), "v")
	for _, stage := range []string{"alpha", "beta", "preview"} {
		if a, b, ok := strings.Cut(s, stage); ok {
			s = a + b
		}
	}
	return s != "" && strings.Trim(s, "0123456789") == "" && len(s) < 9
}

// lexicon splits segments whose words a path writes together, as the texts of the API
// write them: issuetypescreenschemes is "issue type screen schemes".
type lexicon map[string][]string

const (
	leastJoined  = 7   // letters of a segment that may hide several words
	mostJoined   = 5   // words in it
	lexiconTexts = 400 // bytes of a description that are looked at
)

// learn makes a lexicon of the texts of all tools.
func learn(tools []Tool) lexicon {
	wanted := map[string]string{} // singular → as written
	for i := range tools {
		for seg := range strings.SplitSeq(tools[i].Path, "/") {
			if strings.ContainsAny(seg, "{}#?") {
				continue
			}
			for _, w := range wording.Split(seg) {
				if len(w) >= leastJoined {
					wanted[wording.Singular(w)] = w
					wanted[w] = w
				}
			}
		}
	}
	counts := map[string]map[string]int{}
	see := func(text string) {
		ws := wording.Split(text)
		for i := range ws {
			var joined strings.Builder
			for n := 1; n <= mostJoined && i+n <= len(ws); n++ {
				if joined.WriteString(ws[i+n-1]); n == 1 {
					continue
				}
				for _, form := range []string{joined.String(), wording.Singular(joined.String())} {
					if as, ok := wanted[form]; ok {
						if counts[as] == nil {
							counts[as] = map[string]int{}
						}
						counts[as][strings.Join(ws[i:i+n], " ")]++
						break
					}
				}
			}
		}
	}
	for i := range tools {
		t := &tools[i]
		see(t.Title)
		see(t.Description[:min(len(t.Description), lexiconTexts)])
		see(t.Name)
	}
	l := lexicon{}
	for as, forms := range counts {
		best := ""
		for form, n := range forms {
			if best == "" || n > forms[best] || n == forms[best] && form < best {
				best = form
			}
		}
		ws := strings.Fields(best)
		head := strings.Join(ws[:len(ws)-1], "")
		if !strings.HasPrefix(as, head) || slices.ContainsFunc(ws, func(w string) bool { return len(w) < 2 || fillers[w] }) {
			continue
		}
		ws[len(ws)-1] = as[len(head):]
		l[as] = ws
	}
	return l
}

// fillers are words that no name of a thing is made of.
var fillers = words("a an the of for to in on by and or is as at with from it all one")

// split gives the words of a segment or name.
func (l lexicon) split(s string) []string {
	var out []string
	for _, w := range wording.Split(s) {
		if ws, ok := l[w]; ok {
			out = append(out, ws...)
			continue
		}
		out = append(out, w)
	}
	return out
}

// singular is the words of one thing.
func singular(ws []string) []string {
	out := slices.Clone(ws)
	if n := len(out); n > 0 {
		switch w := out[n-1]; w {
		case "ids", "ips":
			out[n-1] = w[:2]
		default:
			out[n-1] = wording.Singular(w)
		}
	}
	return out
}

// startsWith reports whether an object says what it belongs to already.
func startsWith(object, parent []string) bool {
	return len(object) >= len(parent) && slices.Equal(singular(object[:len(parent)]), singular(parent))
}

// plural reports whether the last word names several things. Words that have no
// singular of their own, or that are one thing, are none.
func plural(ws []string) bool {
	if len(ws) == 0 {
		return false
	}
	w := ws[len(ws)-1]
	return singular([]string{w})[0] != w && !single[w]
}

var single = words("settings stats preferences details permissions options capabilities statistics metrics totals defaults features limits totals counts " +
	"credentials instructions headers prefs contents")
