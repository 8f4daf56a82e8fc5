package naming

import (
	"net/http"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/internal/wording"
	"github.com/sluicegate/sluice/plugins/openapi"
)

// What can be wrong with a name. The texts are reasons that people read.
const (
	faultHash    = "the name ends in characters that only tell it apart"
	faultMethod  = "the name begins with the HTTP method instead of what the operation does"
	faultList    = "it lists several, and its name says get"
	faultTwice   = "the name repeats a collection and its parameter, as the path does"
	faultVersion = "the name has words of the path that say nothing: a version or the root of the API"
	faultOrder   = "the name does not begin with what is done"
)

// reading of one tool: what its name and texts say.
type view struct {
	*Tool
	name  []string // words of its name
	route route
	said  string   // verb of its texts; ""
	rest  []string // words behind that
	one   bool     // the text speaks of one thing: "a customer"
	inner int      // place of the verb in the name; -1: none
	fault string

	methods   map[string]bool // of its path
	versioned bool            // the same is there in another version
}

// look reads a tool.
func look(t *Tool, l lexicon) view {
	v := view{Tool: t, name: strings.Split(strings.ToLower(t.Name), "_"), inner: -1}
	v.route = routeOf(t.Path, l.split)
	title := t.Title
	if sameLetters(title, t.Name) {
		title = "" // made of the name
	}
	for _, text := range []string{title, t.Description} {
		made := strings.TrimSuffix(strings.TrimSuffix(text, "."), " ("+t.Method+" "+t.Path+")")
		if sameLetters(text, t.Name) || methodVerbs[v.name[0]] && sameLetters(made, t.Name) {
			continue // a text that was made of the name: "Post books book undelete (POST …)" posts nothing
		}
		if v.said == "" {
			if v.said, v.rest = saidVerb(text); v.said != "" {
				low := " " + strings.ToLower(text[:min(len(text), 60)])
				v.one = strings.Contains(low, " a ") || strings.Contains(low, " an ") || strings.Contains(low, " the ")
			}
		}
	}
	if v.said == "list" && t.Method == http.MethodGet && strings.HasSuffix(t.Path, "}") && len(v.rest) > 0 && (v.one && !plural(v.rest[:1]) || v.rest[0] == "one" || v.rest[0] == "single" || v.rest[0] == "specific") {
		v.said = "get"
	}
	if v.said == "list" && t.Method == http.MethodGet && v.item() {
		// A text of the collection, or of what is in the item: the path has one of them.
		if v.said = "get"; !v.speaksOf(v.route.places[len(v.route.places)-1].words) {
			v.said, v.rest = "", nil
		}
	}
	if n := len(v.route.places); n > 1 && v.said != "" && v.route.places[n-1].param == nil && len(v.route.places[n-1].words) == 1 {
		// The author's word in name and path tells more than "get": statements_download.
		w := v.route.places[n-1].words[0]
		if w == v.name[len(v.name)-1] && isVerb(w) && (reading(w) && reading(v.said) || v.said == "delete" && w == "prune") {
			v.said = verbOf(w)
		}
	}
	if contradicts(t.Method, v.said) && len(v.route.action) == 0 {
		v.said, v.rest = "", nil
	}
	const early = 4 // words: the group, then the verb
	for i, w := range v.name {
		if i < early && v.said != "" && isVerb(w) && sameDeed(verbOf(w), v.said) {
			v.inner = i
			break
		}
	}
	if v.inner < 0 && len(v.name) > 1 && v.said != "" && verbOf(v.name[len(v.name)-1]) == v.said {
		v.inner = len(v.name) - 1
	}
	v.fault = v.find()
	return v
}

// item reports whether the path ends with one thing of a collection: /templates/{template_id}.
func (v *view) item() bool {
	n := len(v.route.places)
	if n == 0 {
		return false
	}
	last := v.route.places[n-1]
	param := slices.DeleteFunc(slices.Clone(last.param), func(w string) bool { return w == "id" })
	return len(param) > 0 && plural(last.words) && wording.Singular(last.words[len(last.words)-1]) == param[len(param)-1]
}

// sameDeed reports whether two verbs are used for one thing to do.
func sameDeed(own, said string) bool {
	return own == said || said == "list" && own == "get" || said == "add" && own == "create" || said == "create" && own == "add" ||
		said == "remove" && own == "delete" || said == "delete" && own == "remove"
}

// verbOf is the verb that names use for w.
func verbOf(w string) string {
	if c, ok := canonical[w]; ok {
		return c
	}
	return w
}

// sameLetters reports whether two texts differ in spaces and punctuation only.
func sameLetters(a, b string) bool {
	return strings.Join(wording.Split(a), "") == strings.Join(wording.Split(b), "")
}

// find says what is wrong with the name; "" when nothing is.
func (v *view) find() string {
	ws, method := v.name, strings.ToLower(v.Method)
	switch {
	case openapi.HashEnds(v.Name, v.Method, v.Path):
		return faultHash
	case ws[0] == method && methodVerbs[ws[0]] && len(ws) > 1:
		if len(v.route.action) > 0 && isVerb(ws[1]) {
			return faultMethod
		}
		if (ws[0] == "post" || ws[0] == "put" || ws[0] == "options") && v.said != ws[0] && !v.inPath(ws[0]) {
			return faultMethod
		}
	}
	if glued(ws[0], method) && v.said != "" {
		return faultMethod
	}
	for i := 1; i < len(ws); i++ {
		if wording.Singular(ws[i-1]) == ws[i] && ws[i-1] != ws[i] {
			return faultTwice
		}
	}
	for i := 2; i < len(ws); i++ {
		if ws[i] == "id" && ws[i-1] != "by" && !isVerb(ws[i-1]) && strings.Contains(strings.ToLower(v.Path), "id}") && !v.anywhere("id") {
			return faultTwice
		}
	}
	if v.noise() {
		return faultVersion
	}
	if ws[0] == "get" && v.said == "list" && len(ws) > 1 {
		return faultList
	}
	if n := noun(ws[0]) && !reading(ws[0]); v.said != "" && ws[0] != "do" && v.said != verbOf(ws[0]) && (!isVerb(ws[0]) && baseOf(ws[0]) == "" || n && v.inner > 0) {
		return faultOrder
	}
	if last := len(ws) - 1; ws[0] == "get" && last > 1 && v.inner == last && many[v.said] {
		return faultOrder // get_charges_search
	}
	return ""
}

// many are what is done with several things at once.
var many = words("list search find count")

// glued reports a first word that a method was written together with: deletetypo.
func glued(w, method string) bool {
	rest, ok := strings.CutPrefix(w, method)
	return ok && len(rest) > 2 && !isVerb(w) && baseOf(w) == ""
}

// inPath reports whether a segment of the path begins with a word.
func (v *view) inPath(w string) bool {
	return slices.ContainsFunc(v.route.places, func(p place) bool { return p.words[0] == w })
}

// noise reports a name with the version or the root of the API in it.
func (v *view) noise() bool {
	for i, w := range v.name {
		if i > 0 && len(w) > 1 && w[0] == 'v' && version([]string{w}) && slices.Contains(v.route.versions, w) {
			return true
		}
		if w == "namespaced" {
			return true
		}
		if i > 0 && roots[w] && (w == "api" || w == "rest") && strings.Contains(v.Path, "/"+w+"/") && !v.inPath(w) {
			return true
		}
	}
	return false
}

// Faults says of each tool what is wrong with its name; "" where nothing is.
func Faults(tools []Tool) []string {
	out := make([]string, len(tools))
	l := learn(tools)
	for i := range tools {
		v := look(&tools[i], l)
		out[i] = v.fault
	}
	return out
}
