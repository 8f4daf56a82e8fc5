package projection

import (
	"net/http"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/plugins/engine"
	"github.com/sluicegate/sluice/plugins/operation"
)

// Bounds of the walk over a response schema, which may be a graph with cycles.
const (
	// maxDepth: objects inside objects that get rules of their own. Answers nest six
	// deep; what is deeper follows the rules by name and value.
	maxDepth = 6
	// maxNodes: a node takes about 1 KB, so a program stays under about 400 KB in the
	// worst case, below what the engine takes; the usual one has 5 KB.
	maxNodes = 400
	// maxAddresses: names of parameters that every object of an answer is searched
	// for, beyond what its schema declares.
	maxAddresses = 64
	// maxIdentifierDepth: objects inside each other that are searched for an
	// identifier; what is deeper is taken to hold one.
	maxIdentifierDepth = 3
)

// A Projection is the response program of an operation by the default rules, with
// the reason for whatever it leaves out.
type Projection struct {
	Program *engine.Program
	why     map[*engine.Node]map[string]string
	kept    map[*engine.Node]map[string]bool
}

// Default makes the response program of an operation by the default rules. api
// must know all operations of the API. It never fails: what is too large gets the
// rules by name and value only.
func Default(op *operation.Operation, api Index) *engine.Program { return New(op, api).Program }

// Purpose is what an operation is for, as far as its projection depends on it.
type Purpose struct {
	Writes bool // its answer is of what was just made or changed
	One    bool // of an answer that no schema describes: it is of one thing
}

// PurposeOf is the purpose of an operation.
func PurposeOf(op *operation.Operation) Purpose {
	writes := op.Method != "" && op.Method != http.MethodGet && op.Method != http.MethodHead
	return Purpose{Writes: writes, One: !says(op.Response) && (writes || strings.HasSuffix(strings.TrimSuffix(op.Path, "/"), "}"))}
}

// New makes the default projection of an operation, as [Default] does.
func New(op *operation.Operation, api Index) *Projection {
	w := &walk{
		api: api, made: map[place]*engine.Node{}, joined: map[pair]*operation.Schema{}, why: map[*engine.Node]map[string]string{}, kept: map[*engine.Node]map[string]bool{},
	}
	purpose := PurposeOf(op)
	w.writes = purpose.Writes
	inner, second := new(engine.Node), new(engine.Node)
	w.inner, w.second, w.thing = inner, second, new(engine.Node)
	w.byName = map[string]int{}
	w.names = slices.Clip(w.exactNames(says(op.Response)))
	*inner, *second, w.outer = *w.generic(0), *w.generic(engine.KeepLone), w.generic(engine.KeepLone)
	inner.Rest, second.Rest, w.outer.Rest = inner, inner, second
	*w.thing = *second
	w.thing.Fields = append(slices.Clone(w.names), engine.Field{Name: "href", KeepURL: true})
	p := &Projection{Program: &engine.Program{Root: w.outer}, why: w.why, kept: w.kept}
	if !says(op.Response) {
		if purpose.One {
			for _, n := range []*engine.Node{w.outer, second} {
				n.Fields = slices.Clone(n.Fields)
				for i := range n.Fields {
					w.wholeLinks(&n.Fields[i], true)
				}
			}
		}
		return p
	}
	w.base = ResourceOf(op.Path)
	p.Program.Root = w.node(op.Response, at{resource: w.base})
	return p
}

// Compile makes the table of the default projection of an operation. Where its
// schema makes a program that passes a bound of the engine, such as its bytes, the
// rules by name and value are all there is.
//
// memory is of what was compiled for other operations of the API.
func Compile(op *operation.Operation, api Index, memory *engine.Memory) ([]byte, error) {
	table, err := memory.Compile(Default(op, api))
	if err != nil {
		return memory.Compile(Default(&operation.Operation{Method: op.Method, Path: op.Path}, api))
	}
	return table, nil
}

// at is where the walk is.
type at struct {
	depth    int
	resource string // singular name of what the object is: the member it hangs on
	places   bool   // it is inside an object that is made of places to go
	many     bool   // it is one of a list
	crowded  bool   // more than one of its members are addresses of many things
}

// place names a node: what it keeps depends on the schema and on these.
type place struct {
	s        *operation.Schema
	resource string
	lone     bool
	places   bool
	many     bool
}

type walk struct {
	api    Index
	base   string
	writes bool           // the answer is of what was just made or changed
	names  []engine.Field // by exact name; shared by the nodes that change none
	byName map[string]int // index of each in names
	// For what no schema describes: at the top, in its members, and deeper inside.
	outer, second, inner *engine.Node
	thing                *engine.Node // as second, of what is no more than where something is
	// For an object that a schema declares and of which it says no more; made when one is met.
	open *engine.Node

	made   map[place]*engine.Node
	joined map[pair]*operation.Schema
	why    map[*engine.Node]map[string]string
	kept   map[*engine.Node]map[string]bool // declared members that keep every address
	count  int
}

// exactNames are the fields that every node has, more of them for an answer that no
// schema describes. byName is where each is.
func (w *walk) exactNames(described bool) []engine.Field {
	var out []engine.Field
	add := func(f engine.Field) {
		if _, ok := w.byName[f.Name]; !ok {
			w.byName[f.Name] = len(out)
			out = append(out, f)
		}
	}
	for _, r := range rules.names {
		if w.api.has(r.name) || versionNames[r.name] && w.api.has("etag") {
			continue // an identifier
		}
		if !described && slices.Contains(iconNames, r.name) {
			add(engine.Field{Name: r.name, NoPages: true, Node: iconNode})
			continue
		}
		add(engine.Field{Name: r.name, Drop: true, Told: told(r.name)})
	}
	next := make([]engine.Field, 0, len(nextNames))
	for _, n := range nextNames {
		next = append(next, engine.Field{Name: n, KeepURL: true})
	}
	links := w.links(next, described)
	for _, n := range linkNames {
		add(engine.Field{Name: n, Node: links})
	}
	for _, f := range next {
		add(f)
	}
	add(engine.Field{Name: entryName, Node: w.entry()})
	for _, r := range rules.selves {
		if !w.api.has(r.name) {
			add(engine.Field{Name: r.name, NoPages: true})
		}
	}
	// An object or a list of that name is shortened as any other.
	for _, n := range valueNames {
		add(engine.Field{Name: n, KeepURL: true, Node: w.second})
	}
	for _, n := range relatedNames {
		add(engine.Field{Name: n, KeepURL: true})
	}
	if !described {
		for _, n := range undescribedNames {
			add(engine.Field{Name: n, KeepURL: true, Node: w.second})
		}
		for _, n := range placeNames {
			add(engine.Field{Name: n, Node: placesNode})
		}
		for _, n := range documentNames {
			add(engine.Field{Name: n, Node: documentNode})
		}
		for _, n := range thingObjects {
			add(engine.Field{Name: n, Node: w.thing})
		}
	}
	for _, n := range filesNames {
		add(engine.Field{Name: n, Node: filesNode})
	}
	for _, r := range rules.numbers {
		add(engine.Field{Name: r.name, Node: numbersNode})
	}
	for _, n := range w.api.addresses() {
		add(engine.Field{Name: n, KeepURL: true})
	}
	for _, n := range w.api.sent() {
		add(engine.Field{Name: n, KeepURL: true})
	}
	return out
}

// entry is the node of what OData 2 says of an object: where its file is stays, and its version
// where a tool takes one.
func (w *walk) entry() *engine.Node {
	n := &engine.Node{Rules: engine.DropNull | engine.DropEmpty}
	for _, name := range entryBook {
		n.Fields = append(n.Fields, engine.Field{Name: name, Drop: true})
	}
	if !w.api.has("etag") {
		n.Fields = append(n.Fields, engine.Field{Name: "etag", Drop: true})
	}
	return n
}

// numbersNode cuts arrays of numbers and keeps all else, however deep.
var numbersNode = func() *engine.Node {
	n := &engine.Node{MaxNumbers: numbersKept}
	n.Rest = n
	return n
}()

// storedFields are all that is said of what somebody has stored: its names are not the API's.
var storedFields = func() []engine.Field {
	out := make([]engine.Field, len(rules.numbers))
	for i, r := range rules.numbers {
		out[i] = engine.Field{Name: r.name, Node: numbersNode}
	}
	return out
}()

// documentNode is of a document that no schema describes.
var documentNode = func() *engine.Node {
	n := &engine.Node{Fields: storedFields, Rules: engine.DropNull | engine.DropEmpty}
	n.Rest = n
	return n
}()

// iconNode is of an icon that no schema describes: its name or its emoji stay.
var iconNode = &engine.Node{Fields: iconFields(), DropRest: true, Rules: engine.DropNull | engine.DropEmpty}

func iconFields() []engine.Field {
	out := make([]engine.Field, len(iconTexts))
	for i, name := range iconTexts {
		out[i] = engine.Field{Name: name}
	}
	return out
}

// filesNode is of files that the schema does not declare where they come.
var filesNode = func() *engine.Node {
	n := &engine.Node{Rules: engine.DropNull | engine.DropEmpty | addressRule}
	for _, name := range fileAddresses {
		n.Fields = append(n.Fields, engine.Field{Name: name, KeepURL: true})
	}
	for _, name := range linkNames {
		n.Fields = append(n.Fields, engine.Field{Name: name, Node: &engine.Node{Rules: selfLink.Rules, Fields: []engine.Field{{Name: selfName, KeepURL: true, Node: wholeLink}}}})
	}
	n.Rest = n
	return n
}()

// placesNode keeps every address of an object that is made of places to go.
var placesNode = func() *engine.Node {
	n := &engine.Node{Rules: engine.DropNull | engine.DropEmpty}
	n.Rest = n
	return n
}()

// generic is a node for objects of which no schema tells more. The caller sets Rest,
// and clones Fields before changing one.
func (w *walk) generic(more engine.Rules) *engine.Node {
	n := &engine.Node{Fields: w.names, Rules: more}
	for _, r := range rules.values {
		n.Rules |= r.bits
	}
	for _, r := range rules.suffixes {
		n.DropSuffixes = append(n.DropSuffixes, r.suffix)
	}
	return n
}

// rest is the node for what a node's schema does not declare.
func (w *walk) rest(a at) *engine.Node {
	if a.depth == 0 {
		return w.second
	}
	return w.inner
}

// plain is the node of a value that no schema describes.
func (w *walk) plain(a at) *engine.Node {
	switch a.depth {
	case 0:
		return w.outer
	case 1:
		return w.second
	}
	return w.inner
}

// unsaid is the node of an object of which a schema says nothing but that it is one: its
// bare addresses stay, as those of an answer that no schema describes.
func (w *walk) unsaid() *engine.Node {
	if w.open == nil {
		w.open = new(engine.Node)
		*w.open = *w.generic(0)
		w.open.Fields = slices.Clone(w.names)
		for _, n := range openNames {
			if _, by := w.byName[n]; !by {
				w.open.Fields = append(w.open.Fields, engine.Field{Name: n, KeepURL: true})
			}
		}
		w.open.Rest = w.open
	}
	return w.open
}

// node returns the node for a schema: a plain one where it says nothing more.
func (w *walk) node(s *operation.Schema, a at) *engine.Node {
	for range 2 * maxDepth {
		if s == nil || s.Items == nil || len(s.Properties) > 0 {
			break
		}
		s, a.many = s.Items, true // arrays are transparent
	}
	if s == nil || a.depth > maxDepth || w.count >= maxNodes {
		return w.plain(a)
	}
	if !says(s) && !leaf(s) && !w.stored(s, a.resource) {
		return w.unsaid()
	}
	p := place{s: s, resource: a.resource, lone: a.depth < 2, places: a.places, many: a.many}
	if n, ok := w.made[p]; ok {
		if n == nil { // a cycle
			return w.plain(a)
		}
		return n
	}
	w.made[p] = nil
	n := w.object(s, a, p)
	w.made[p] = n
	return n
}

func (w *walk) object(s *operation.Schema, a at, p place) *engine.Node {
	members := w.join(w.members(nil, s, 0))
	more := engine.Rules(0)
	if p.lone {
		more = engine.KeepLone
	}
	n := w.generic(more)
	n.Rest = w.rest(a)
	reasons, kept := map[string]string{}, map[string]bool{}
	if s.Additional != nil {
		if len(members) == 0 {
			// A map: its values are what a list's elements are.
			n.Rest = w.node(s.Additional, at{depth: a.depth + 1, resource: a.resource, many: true})
		}
	}
	special := n.Rest != w.rest(a)
	stored := len(members) == 0 && w.stored(s, a.resource)
	if stored {
		n.Fields, n.Rules, n.DropSuffixes = storedFields, n.Rules&^addressRule, nil
		if n.Rest, special = w.unsaid(), true; slices.Contains(documentNames, a.resource) {
			n.Rest = n
		}
	}
	united := len(s.AnyOf) > 1
	own, bare := w.hasID(s, a.resource), w.bare(members, a)
	a.places = a.places || !own && a.depth > 0 && named(a.resource, placeWords)
	if a.places {
		n.Rules &^= engine.DropURL | engine.KeepPages | engine.KeepLone
		special = true
	}
	shared := true
	change := func(i int) *engine.Field {
		if shared {
			n.Fields, shared = slices.Clone(n.Fields), false
		}
		return &n.Fields[i]
	}
	a.crowded = crowded(members)
	added, bareInside := map[string]int{}, false
	for _, m := range members {
		if len(m.Name) > engine.MaxName || len(n.Fields) >= engine.MaxFields {
			continue
		}
		i, by := w.byName[m.Name]
		if !by {
			i, by = added[m.Name]
		}
		identifier := w.identifies(a, m.Name, anyType)
		if by && slices.Contains(linkNames, m.Name) {
			f := change(i)
			special = w.keepLinked(f, m.Schema, members) || special
			if named(a.resource, fileWords) && f.Node != nil {
				keepFile(f)
				special = true
			}
			if a.depth < 2 && !a.many {
				special = w.wholeLinks(f, true) || special
			}
			continue
		}
		inside := by && n.Fields[i].Node == w.second && m.Schema != nil && !leaf(m.Schema) // what its schema says of that
		if by && !identifier && n.Fields[i].Node != filesNode && !inside {
			// By name, whatever the schema says of it, but for what a tool takes.
			switch {
			case n.Fields[i].Drop && slices.Contains(iconNames, m.Name) && leaf(m.Schema):
				*change(i), special = engine.Field{Name: m.Name, NoPages: true}, true // the name of a picture
			case n.Fields[i].Drop && versionNames[m.Name] && !leaf(m.Schema):
				*change(i), special = engine.Field{Name: m.Name}, true // no version
			case n.Fields[i].Drop:
				special = w.keepTaken(change, i, m) || special
			}
			continue
		}
		f, why := w.member(m, a, united, bare)
		if m.Name == secondID && !identifier && beside(members, "id") {
			f, why = engine.Field{Name: m.Name, Drop: true}, secondIDWhy
		}
		f.KeepURL = f.KeepURL || inside
		switch {
		case f.Drop:
			reasons[m.Name] = why
		case !f.KeepURL && !f.NoPages && f.Node == n.Rest && !suffixed(m.Name):
			bareInside = bareInside || w.holdsBare(m.Schema, 0)
			continue
		case f.KeepURL, f.NoPages:
		case leaf(m.Schema) && (!suffixed(m.Name) || m.Schema.Type&operation.TypeString != 0):
			continue // as its value says
		}
		f.KeepURL = f.KeepURL || !f.Drop && !f.NoPages && engine.Own(m.Name) // as the engine keeps it where no field has the name
		special, kept[m.Name] = true, f.KeepURL
		if by {
			*change(i) = f
			continue
		}
		added[m.Name] = len(n.Fields)
		n.Fields, shared = append(n.Fields, f), false
	}
	if len(bare) > 0 && !stored && len(n.Fields)+len(openNames) <= engine.MaxFields && !slices.ContainsFunc(members, addressed) { // the address that it has but does not declare
		for _, name := range openNames {
			if _, by := w.byName[name]; !by {
				change(0)
				n.Fields, special = append(n.Fields, engine.Field{Name: name, KeepURL: true}), true
			}
		}
	}
	if a.depth == 0 && !a.many && !stored { // links that it has but does not declare
		for _, name := range linkNames {
			if !beside(members, name) {
				special = w.wholeLinks(change(w.byName[name]), false) || special
			}
		}
	}
	if !special {
		return w.plain(a)
	}
	if a.depth > 0 && n.Rest == w.rest(a) && !bareInside {
		n.Rest = w.unsaid() // things that it has but does not declare are not known to be the API's
	}
	w.count++
	w.why[n], w.kept[n] = reasons, kept
	return n
}

// stored tells that the names of an object's members are not the API's but those of who
// stored them, so that what is in them is content: a map of texts, or one of fields,
// variables or the like.
func (w *walk) stored(s *operation.Schema, resource string) bool {
	if s.Additional != nil && s.Additional.Type == operation.TypeString {
		return true
	}
	return named(resource, storedWords) || slices.Contains(documentNames, resource)
}

// beside tells that an object has a member of that name.
func beside(members []operation.Property, name string) bool {
	return slices.ContainsFunc(members, func(p operation.Property) bool { return p.Name == name })
}

// listNames name the member that holds the items of an answer and says nothing of
// what they are.
var listNames = []string{"data", "items", "results", "result", "values", "value", "entries", "records", "list", "objects", "content", "rows", "elements", "hits"}

// keepTaken keeps of an object that is left out by its name what a tool takes, the id of
// a picture, and what is not a picture, the text of an icon. It is false when there is nothing of the kind.
func (w *walk) keepTaken(change func(int) *engine.Field, i int, m operation.Property) bool {
	n := w.taken(m)
	if n != nil {
		f := change(i)
		f.Drop, f.Told, f.Node = false, false, n
	}
	return n != nil
}

// taken is a node that keeps of a picture no more than what a tool takes and what says
// something in words; nil when it has nothing of the kind.
func (w *walk) taken(m operation.Property) *engine.Node {
	s := m.Schema
	for s != nil && s.Items != nil && len(s.Properties) == 0 {
		s = s.Items
	}
	if s == nil {
		return nil
	}
	icon := slices.ContainsFunc(words(m.Name), func(word string) bool { return word == "favicon" || slices.Contains(iconNames, word) })
	var taken []engine.Field
	for _, p := range w.join(w.members(nil, s, 0)) {
		text := icon && slices.Contains(iconTexts, p.Name)
		if leaf(p.Schema) && (text || w.identifies(at{resource: Singular(m.Name)}, p.Name, anyType)) {
			taken = append(taken, engine.Field{Name: p.Name, KeepURL: true})
		}
	}
	if len(taken) == 0 {
		return nil
	}
	return &engine.Node{Fields: taken, DropRest: true, Rules: engine.DropNull | engine.DropEmpty}
}

// member decides on a declared member of an object. bare: names under which its address is all that it is.
func (w *walk) member(m operation.Property, a at, united bool, bare []string) (engine.Field, string) {
	f, s := engine.Field{Name: m.Name}, m.Schema
	if w.mayBeAddress(s) && (w.identifies(a, m.Name, operation.TypeString) || w.api.sets(a.resource, m.Name) || w.page(m) || w.given(m, a) || slices.Contains(bare, fold(m.Name))) {
		f.KeepURL = true
		return f, ""
	}
	if why := w.left(m, a, united); why != "" {
		if !leaf(s) {
			if f.Node = w.taken(m); f.Node != nil {
				return f, ""
			}
		}
		f.Drop, f.Told = true, told(m.Name)
		return f, why
	}
	if leaf(s) {
		f.NoPages = picture(words(m.Name))
		return f, ""
	}
	if vectorOf(s) {
		f.Node = numbersNode
		return f, ""
	}
	resource := Singular(m.Name)
	if a.depth == 0 && slices.Contains(listNames, m.Name) {
		resource = w.base
	}
	f.Node = w.node(s, at{depth: a.depth + 1, resource: resource, places: a.places, many: a.many})
	return f, ""
}

// identifies tells that a member is what a tool takes, as a member of what it
// hangs on or of what the operation is about.
func (w *walk) identifies(a at, name string, t operation.Type) bool {
	return w.api.Identifies(a.resource, name, t) || w.api.Identifies(w.base, name, t)
}

// left gives the reason to leave a declared member out, "" to keep it.
func (w *walk) left(m operation.Property, a at, united bool) string {
	s := m.Schema
	if s == nil || Essential(m.Name) || slices.Contains(nextNames, m.Name) || slices.Contains(linkNames, m.Name) || w.identifies(a, m.Name, anyType) {
		return ""
	}
	for _, word := range words(m.Name) {
		for _, r := range rules.words {
			if word == r.word && (r.all && len(s.Enum) == 0 || !leaf(s)) && !w.holdsIdentifier(s, m.Name, 0) {
				return r.why
			}
		}
	}
	for _, r := range rules.schemas {
		if r.when == isConstant && slices.Contains(kindNames, m.Name) && !united && len(s.Enum) == 1 && leaf(s) {
			return r.why
		}
	}
	return ""
}
