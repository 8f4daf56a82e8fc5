package naming

import (
	"net/http"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/internal/wording"
	"github.com/sluicegate/sluice/plugins/openapi"
)

// Bounds of names.
const (
	// ShortName is how long a name is, in bytes, where there is a choice: with a server's
	// name before it, it stays under the limits of every known client.
	ShortName = 40
	// LongName is how long one may be that would end in meaningless characters otherwise:
	// what model APIs accept.
	LongName = 64
	// MaxTools of one toolset that are looked at, as many as one change may have.
	MaxTools = 4096
)

// Tool is what names and descriptions are made of.
type Tool struct {
	Name        string // its present name
	Title       string
	Description string
	Method      string
	Path        string
	Needs       []string // arguments that must be given
	Takes       []string // the others
}

// Name is a better name for a tool.
type Name struct {
	Name   string
	Reason string // what is wrong with the present one
}

// Names proposes names; the answer has one entry for each tool, empty where the present
// name stays. all are the names that the toolset has, also of tools that are not in tools:
// they are taken even when those are to be renamed, so that any part of the proposals can
// be accepted. Of more than [MaxTools] the rest stay as they are.
func Names(tools []Tool, all []string) []Name {
	out := make([]Name, len(tools))
	tools = tools[:min(len(tools), MaxTools)]
	l := learn(tools)
	taken := map[string]bool{}
	for _, n := range all {
		taken[strings.ToLower(n)] = true
	}
	for i := range tools {
		taken[strings.ToLower(tools[i].Name)] = true
	}
	views := make([]view, len(tools))
	methods, versions := map[string]map[string]bool{}, map[string]map[string]bool{}
	note := func(m map[string]map[string]bool, k, v string) {
		if m[k] == nil {
			m[k] = map[string]bool{}
		}
		m[k][v] = true
	}
	for i := range tools {
		views[i] = look(&tools[i], l)
		note(methods, tools[i].Path, tools[i].Method)
		note(versions, views[i].unversioned(), strings.Join(views[i].route.versions, ""))
	}
	level := levels(views)
	wishes := make([]wish, len(tools))
	for i := range tools {
		v := &views[i]
		if v.fault != "" {
			v.methods, v.versioned = methods[v.Path], len(versions[v.unversioned()]) > 1
			wishes[i] = v.candidates(level)
		}
		wishes[i].next(taken, 0)
	}
	settle(wishes, taken)
	for i := range tools {
		if name := wishes[i].name(); name != "" && name != tools[i].Name {
			out[i] = Name{name, views[i].fault}
		}
	}
	return out
}

// levels says for each thing that paths name how much of its path a name has to say, so
// that two things never have one name: issuing/disputes and disputes.
func levels(views []view) map[string]int {
	byKey := map[string]int{}
	var keys []string
	var things []wish
	for i := range views {
		o := views[i].objects(views[i].verb())
		if o.key == "" {
			continue
		}
		at, ok := byKey[o.key]
		if !ok {
			at = len(things)
			byKey[o.key], keys, things = at, append(keys, o.key), append(things, wish{})
		}
		if len(o.levels) > len(things[at].names) {
			names := make([]string, len(o.levels))
			for n, ws := range o.levels {
				names[n] = strings.Join(singular(ws), "_")
			}
			things[at] = wish{names: names, plain: len(names)}
		}
	}
	settle(things, nil)
	out := make(map[string]int, len(keys))
	for i, k := range keys {
		out[k] = things[i].at
	}
	return out
}

// unversioned is the path of a tool without its version, and its method.
func (v *view) unversioned() string {
	var b strings.Builder
	b.WriteString(v.Method)
	for _, p := range v.route.places {
		b.WriteString("/" + strings.Join(p.words, " "))
		if p.param != nil {
			b.WriteString("/{}")
		}
	}
	return b.String()
}

// wish is the names that a tool could have, the best first.
type wish struct {
	names []string
	plain int // how many are only a verb and an object
	at    int // the present one
}

func (w *wish) name() string {
	if w.at < len(w.names) {
		return w.names[w.at]
	}
	return ""
}

// next moves to the first name from n on that is free.
func (w *wish) next(taken map[string]bool, n int) {
	for w.at = n; w.at < len(w.names) && taken[w.names[w.at]]; {
		w.at++
	}
}

// extends reports whether a longer object is left.
func (w *wish) extends() bool { return w.at+1 < w.plain }

// settle moves tools that want one name to longer ones: all of them, but for the only one
// whose path says no more. Tools without a free name end behind their last.
func settle(wishes []wish, taken map[string]bool) {
	for moved := true; moved; {
		moved = false
		wanted := map[string][]int{}
		var order []string
		for i := range wishes {
			if n := wishes[i].name(); n != "" {
				if wanted[n] == nil {
					order = append(order, n)
				}
				wanted[n] = append(wanted[n], i)
			}
		}
		for _, n := range order {
			who := wanted[n]
			if len(who) < 2 {
				continue
			}
			moved = true
			if !slices.ContainsFunc(who[1:], func(i int) bool { return !slices.Equal(wishes[i].names, wishes[who[0]].names) }) {
				for _, i := range who[1:] { // nothing tells them apart: the first has the name
					wishes[i].at = len(wishes[i].names)
				}
				continue
			}
			short := slices.DeleteFunc(slices.Clone(who), func(i int) bool { return wishes[i].extends() })
			last := slices.DeleteFunc(slices.Clone(short), func(i int) bool { return wishes[i].at+1 < len(wishes[i].names) })
			keeper := -1
			switch {
			case len(short) == 1:
				keeper = short[0]
			case len(short) == len(who) && len(last) > 0:
				keeper = last[0] // the first, where none can say more
			}
			for _, i := range who {
				if i != keeper {
					wishes[i].next(taken, wishes[i].at+1)
				}
			}
		}
	}
}

// candidates are names for a tool, the best first: the object alone, then with more of
// what the path says. Nil when the verb is not sure.
func (v *view) candidates(level map[string]int) wish {
	if a := v.route.action; len(a) > 1 && isVerb(a[0]) {
		if v.Method == http.MethodGet && v.methods["POST"] { // one thing to do, in two ways
			return wish{names: []string{strings.Join(a, "_") + "_via_get"}, plain: 1}
		}
		return v.via(a[0], [][]string{a[1:]})
	}
	if v.fault == faultList && len(v.Name) < ShortName {
		object := v.name[1:]
		if n := len(object) - 1; n > 0 && object[n] == "list" {
			object = object[:n]
		}
		if p := pluralIn(v.rest, object); p != nil && !plural(head(object)) {
			object = p
		}
		return v.via("list", [][]string{object})
	}
	if v.fault == faultOrder {
		w, other := v.reordered()
		if w.names != nil || other {
			return w
		}
	}
	verb := v.verb()
	if verb == "" || contradicts(v.Method, verb) || v.route.part {
		return wish{}
	}
	o := v.objects(verb)
	if len(o.levels) == 0 {
		return wish{}
	}
	n := min(level[o.key], len(o.levels)-1)
	objects := o.levels[n:]
	if n == 0 && o.spoken != nil {
		spoken := o.spoken
		if first := v.route.places[0]; first.param == nil && kept[first.words[0]] && !slices.Contains(spoken, first.words[0]) {
			spoken = append(slices.Clone(first.words), spoken...)
		}
		objects = append([][]string{spoken}, objects...)
	}
	return v.via(verb, append(objects, o.by...))
}

// via joins a verb and objects. The version and the method come last, where they are
// what tells tools apart.
func (v *view) via(verb string, objects [][]string) wish {
	var w wish
	add := func(ws []string, longest int) {
		if verb == "list" && len(ws) > 1 && ws[0] == "all" {
			ws = ws[1:]
		}
		name := strings.Join(wording.Dedupe(append([]string{verb}, ws...)), "_")
		if len(name) <= longest && name != verb && !slices.Contains(w.names, name) && valid(name) {
			w.names = append(w.names, name)
		}
	}
	for _, longest := range []int{ShortName, LongName} {
		for _, o := range objects {
			if longest == ShortName || v.fault == faultHash || len(w.names) > 0 {
				add(o, longest)
			}
		}
	}
	if w.plain = len(w.names); w.plain == 0 {
		return w
	}
	for _, o := range [][]string{objects[0], objects[len(objects)-1]} {
		if v.versioned && len(v.route.versions) > 0 {
			add(append(slices.Clone(o), v.route.versions...), LongName)
		}
		if len(v.methods) > 1 {
			add(append(slices.Clone(o), "via", strings.ToLower(v.Method)), LongName)
		}
	}
	return w
}

// valid reports a name in the form of generated ones.
func valid(name string) bool {
	return name != "" && 'a' <= name[0] && name[0] <= 'z' && !strings.Contains(name, "__")
}

// reordered puts the verb of a name that says it later, or not at all, first. Its names
// are nil where the path says it better; other says that the name has another verb, and
// stays.
func (v *view) reordered() (w wish, other bool) {
	ws := v.name
	if slices.ContainsFunc(ws, func(w string) bool { return roots[w] && !v.inPath(w) || w == "routes" || w == "controller" }) {
		return w, false
	}
	if v.inner > 0 {
		// What the path says nothing of need not be the object: request_delete of /user asks
		// for something, and email_login of /registration says how.
		if v.inner == len(ws)-1 && !slices.ContainsFunc(ws[:v.inner], v.about) {
			return w, true
		}
		object := v.joined(ws[:v.inner], ws[v.inner+1:])
		if v.said == "list" && len(object) > 1 && object[len(object)-1] == "list" {
			object = object[:len(object)-1]
		}
		if len(object) == 0 {
			return w, false
		}
		if len(object) == 1 && object[0] == "batch" { // how it is done, and not to what
			return v.via("batch_"+verbOf(ws[v.inner]), [][]string{v.spoken()}), true
		}
		if v.inner == len(ws)-1 && v.one && !many[v.said] && (v.said != "get" || slices.Contains(v.rest, singular(object)[len(object)-1])) {
			object = singular(object)
		}
		object = v.parents(object)
		if h := head(object); v.said == "find" && len(h) < len(object) && slices.Contains(v.rest, singular(h)[len(h)-1]) {
			object = slices.Concat(singular(h), object[len(h):]) // "Find a user": users_lookup_by_email
		}
		if p := pluralIn(v.rest, object); p != nil && v.said == "prune" {
			object = p
		}
		if v.said == "list" && !plural(object) {
			if p := pluralIn(v.rest, object); p != nil && !plural(head(object)) {
				object = p
			} else if ws[v.inner] != "list" {
				return w, false
			}
		}
		verb := verbOf(ws[v.inner])
		if v.said == "list" {
			verb = "list"
		}
		// With more of the path, where another tool has the name.
		return v.via(verb, append([][]string{object}, v.objects(verb).levels...)), false
	}
	switch {
	case slices.ContainsFunc(ws, isPlain), slices.ContainsFunc(ws, func(w string) bool { return isVerb(w) && !v.anywhere(w) }): // another verb is in it
		return w, true
	case v.said == "list" && !plural(ws), !v.begins(ws[0]), !reading(v.said) && !v.speaksOf(ws):
		return w, false
	}
	return v.via(v.said, [][]string{v.parents(ws)}), false
}

// joined is the object of a name that says its group, then the verb, then the object, which
// often says the group again: brands_get_brand is of a brand, billing_payments_get_payment
// of a billing payment. The method is not part of it.
func (v *view) joined(group, object []string) []string {
	object = slices.DeleteFunc(slices.Clone(object), func(w string) bool { return w == strings.ToLower(v.Method) && !v.anywhere(w) && !v.anywhere(w+"s") })
	group = slices.DeleteFunc(slices.Clone(group), func(w string) bool { return w == strings.ToLower(v.Method) && !v.anywhere(w) && !v.anywhere(w+"s") })
	one, of := singular(group), singular(object)
	if len(object) > 0 && !slices.ContainsFunc(one, func(w string) bool { return !slices.Contains(of, w) }) {
		return slices.Clone(object)
	}
	k := min(len(group), len(object))
	for k > 0 && !slices.Equal(singular(group[len(group)-k:]), of[:k]) {
		k--
	}
	return append(slices.Clone(group[:len(group)-k]), object...)
}

// parents is an object with what it belongs to in the singular, where a parameter says
// which one.
func (v *view) parents(object []string) []string {
	out := slices.Clone(object)
	for i, w := range out[:len(out)-1] {
		if slices.ContainsFunc(v.route.places, func(p place) bool { return p.param != nil && p.words[len(p.words)-1] == w }) {
			out[i] = wording.Singular(w)
		}
	}
	return out
}

// anywhere reports whether the path has a word.
func (v *view) anywhere(w string) bool {
	return slices.ContainsFunc(v.route.places, func(p place) bool { return slices.Contains(p.words, w) })
}

// about reports whether the path has a word, in the singular or plural.
func (v *view) about(w string) bool { return areAbout(v.route.places, w) }

func areAbout(places []place, w string) bool {
	one := wording.Singular(w)
	return slices.ContainsFunc(places, func(p place) bool {
		return slices.ContainsFunc(p.words, func(x string) bool { return wording.Singular(x) == one })
	})
}

// begins reports whether a name may follow a verb: its first word names a thing of the
// path, and is not what the path ends with, which is a verb as often.
func (v *view) begins(w string) bool {
	places := v.route.places
	if v.Method != http.MethodGet && len(places) > 0 && places[len(places)-1].param == nil {
		places = places[:len(places)-1]
	}
	return areAbout(places, w)
}

// speaksOf reports whether the text behind the verb names the last thing of an object.
func (v *view) speaksOf(ws []string) bool {
	last := wording.Singular(ws[len(ws)-1])
	return slices.ContainsFunc(v.rest, func(w string) bool { return wording.Singular(w) == last })
}

// isPlain are verbs that are hardly ever nouns.
func isPlain(w string) bool {
	verb, noun := openapi.IsVerb(w)
	return verb && !noun
}

// verb is the verb of the name: what the texts say, then the present name, then the
// path, then the method where that is sure; "" when nothing is.
func (v *view) verb() string {
	own := v.name[0]
	if !isVerb(own) || methodVerbs[own] && own == strings.ToLower(v.Method) && own != "get" && own != "delete" || contradicts(v.Method, own) {
		own = ""
	}
	if v.fault == faultHash && own != "" && own != "get" && own != "patch" {
		return verbOf(own)
	}
	if v.said == "get" || v.said == "list" {
		if slices.ContainsFunc(v.route.places, func(p place) bool { return p.param == nil && len(p.words) == 1 && p.words[0] == "search" }) {
			return "search"
		}
	}
	if v.disputed() {
		return ""
	}
	if v.said != "" {
		if own != "" && own != "get" && own != "delete" && own != "patch" && reading(own) == reading(v.said) && v.fault != faultOrder {
			return verbOf(own) // the author's word
		}
		return v.said
	}
	if v.fault == faultMethod || own == "" {
		if v.Method == http.MethodPatch {
			return "update"
		}
		return v.tail()
	}
	if last := len(v.route.places) - 1; last >= 0 && own == "get" && v.route.places[last].param == nil && v.said == "" {
		if w := v.route.places[last].words[0]; isPlain(w) && !reading(verbOf(w)) {
			return "" // GET /user/delete
		}
	}
	return verbOf(own)
}

// disputed reports whether the path ends with another verb than the texts begin with.
func (v *view) disputed() bool {
	n := len(v.route.places)
	if n == 0 || v.said == "" || v.route.places[n-1].param != nil || v.fault == faultHash {
		return false
	}
	w := v.route.places[n-1].words[0]
	return isPlain(w) && !sameDeed(verbOf(w), v.said) && !(reading(w) && reading(v.said))
}

// tail is the verb that a path ends with, as /quotes/{quote}/accept does.
func (v *view) tail() string {
	n := len(v.route.places)
	if v.Method != http.MethodPost && v.Method != http.MethodPut || n < 2 || v.route.places[n-1].param != nil || v.route.places[n-2].param == nil {
		return ""
	}
	w := v.route.places[n-1].words[0]
	if _, noun := openapi.IsVerb(w); noun || !isVerb(w) {
		return ""
	}
	return w
}

// basic are the verbs whose object is what the path names last.
var basic = words("list get create update replace delete upsert add remove set search find count describe check watch read patch connect")

// object is what a name may speak of.
type object struct {
	key    string     // of the thing: its path
	levels [][]string // from the least of the path to all of it
	by     [][]string // with what finds it
	spoken []string   // in the words of the text; nil: none
}

// objects are what a name of this verb may speak of.
func (v *view) objects(verb string) (o object) {
	places := slices.Clone(v.route.places)
	places = slices.DeleteFunc(places, func(p place) bool {
		return p.param == nil && len(p.words) == 1 && p.words[0] == verb && (verb == "watch" || verb == "search")
	})
	if len(places) == 0 || verb == "" {
		return o
	}
	last := places[len(places)-1]
	if n := len(places); n > 1 && last.param == nil && len(last.words) == 1 && (last.words[0] == "get" || last.words[0] == "list") {
		places = places[:n-1] // how one path of many says that it reads
		last = places[n-2]
	}
	ws := last.words
	if w := ws[0]; last.param == nil && (w == verb || w == "get" && verb == "list" && len(ws) > 1 || w != "lists" && baseOf(w) != "" && verbOf(baseOf(w)) == verb) { // the path says the verb as well
		if n := len(ws) - 1; n > 1 && verb == "list" && ws[n] == "list" {
			ws = ws[:n] // getUserList
		}
		if ws = ws[1:]; len(ws) == 0 && len(places) > 1 {
			places = places[:len(places)-1]
			last = places[len(places)-1]
			ws = last.words
		}
	} else if !basic[verb] && !v.speaksOf(last.words) {
		if o.spoken = v.spoken(); o.spoken != nil {
			o.key, o.levels = v.Path, [][]string{o.spoken}
		}
		return o
	}
	if len(ws) == 0 {
		return o
	}
	ended := last.param != nil // an item of a collection
	switch {
	case verb == "list" && !ended && !plural(ws):
		if p := pluralIn(v.rest, ws); p != nil {
			ws = p
		}
	case verb == "list", verb == "search", verb == "find" && !ended, verb == "count":
	case verb == "create", ended, v.one && verb != "get" && verb != "watch" && verb != "update" && verb != "replace" && verb != "set" && verb != "delete":
		ws = singular(ws)
	}
	if np := v.spoken(); !basic[verb] || v.tells(np, ws) {
		o.spoken = np
	}
	v.extend(&o, places[:len(places)-1], ws)
	if ended && verb != "list" {
		for _, w := range [][]string{o.levels[0], o.levels[len(o.levels)-1]} {
			o.by = append(o.by, append(append(slices.Clone(w), "by"), last.param...))
		}
	}
	return o
}

// tells reports whether a text's object is the path's, with more of the path before it:
// "an apple pay domain" of apple_pay/domains.
func (v *view) tells(text, object []string) bool {
	n := len(text) - len(object)
	return n > 0 && slices.Equal(singular(text[n:]), singular(object)) && plural(text) == plural(object) && !slices.ContainsFunc(text[:n], func(w string) bool { return !v.anywhere(w) && !v.anywhere(w+"s") })
}

// extend makes the levels of an object: with the thing it belongs to at once, with more
// of the path one by one.
func (v *view) extend(o *object, before []place, ws []string) {
	var qualifier []string
	if len(before) > 0 && before[0].param == nil && kept[before[0].words[0]] {
		qualifier = before[0].words
	}
	add := func(ws []string) {
		if qualifier != nil && !slices.Contains(ws, qualifier[0]) {
			ws = append(slices.Clone(qualifier), ws...)
		}
		o.levels = append(o.levels, ws)
	}
	full, parents := ws, 0
	said := !vague[ws[len(ws)-1]] && (len(v.rest) == 0 || v.speaksOf(ws)) // a text in other words: the path has to say more
	var key []string
	for _, p := range slices.Backward(before) {

		parent := p.words
		if p.param != nil {
			parent = singular(parent)
		}
		scope := slices.Equal(parent, []string{"namespace"})
		if !scope {
			key = append(key, strings.Join(parent, " "))
		}
		if p.group {
			continue
		}
		if (p.param == nil || scope || kept[parent[0]] || parents > 0) && (said || parents > 0) {
			add(full)
		}
		if startsWith(full, parent) {
			continue
		}
		full = append(slices.Clone(parent), full...)
		parents++
	}
	add(full)
	for _, b := range slices.Backward(before) {
		if b.group {
			add(append(slices.Clone(b.words), full...))
		}
	}
	o.key = strings.Join(singular(ws), " ") + "<" + strings.Join(key, "<") + "|" + strings.Join(v.route.versions, "")
}

// vague are words that say nothing without what they belong to.
var vague = words("monthly daily weekly hourly yearly global public private all me self current latest default simple detail details info information summary status " +

	"settings setting config configuration options content contents data items item values value metadata count counts stats state history events logs members " +
	"permissions permission properties attributes schema fields field results result resources rules groups types type files keys tags notes page pages index actions")

// kept are groups whose name changes what a tool is for.
var kept = words("admin test testing sandbox beta alpha internal preview simulations")
