package answers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/sluicegate/sluice/gateway/answer"
	"github.com/sluicegate/sluice/gateway/call"
	"github.com/sluicegate/sluice/gateway/compress"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/engine"
	"github.com/sluicegate/sluice/plugins/enginepool"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/plugins/projection"
	"github.com/sluicegate/sluice/registry"
)

// counter is count for texts of which several are the same.
func counter() func([]byte) int {
	known := map[string]int{}
	return func(b []byte) int {
		n, ok := known[string(b)]
		if !ok {
			n = tokens.Count(b)
			known[string(b)] = n
		}
		return n
	}
}

// A Measurer takes answers through response programs, as the gateway does.
type Measurer struct{ Host *enginepool.Pool }

// Tokens are exact counts of o200k_base.
type Tokens struct {
	Pretty     int `json:"pretty"`
	Minified   int `json:"minified"`
	Lossless   int `json:"lossless"`
	Concise    int `json:"concise"`
	Structured int `json:"structured"` // of the projected answer as JSON, which structured content carries
}

// Measured is what became of an answer.
type Measured struct {
	Tokens    Tokens
	RoundTrip bool     // the lossless text stands for exactly the answer
	Lost      []string // essential values that the concise text lacks: JSON pointers
	Dropped   []Dropped
	Seconds   float64 // of projection and encoding
	Drift     string  // how the answer is not what the specification declares, or empty

	Essential, Identifiers         int // leaves that must survive
	LostEssential, LostIdentifiers int

	Pretty, Minified, Lossless, Concise []byte // the texts

	unchanged bool // nothing was done to it
	oneField  int  // tokens of concise with the field that a caller would name first
}

// Dropped is a member that the default projection leaves out.
type Dropped struct {
	Path  string `json:"path"` // with [] for the elements of arrays
	Count int    `json:"count"`
	Why   string `json:"why"`
}

// Text is the text of an answer under a profile.
func (m *Measured) Text(profile string) []byte {
	switch profile {
	case registry.ProfileOff:
		return m.Minified
	case registry.ProfileLossless:
		return m.Lossless
	}
	return m.Concise
}

// A Wish is what decides about an answer beside its specification.
type Wish struct {
	Profile string // of Fields
	Fields  string // the caller's; empty: none
	Status  int    // of the upstream's answer; 0: not known
}

// Measure takes one answer through everything. It fails when body is not JSON, nor
// a stream of it, or the fields are wrong.
func (p *Measurer) Measure(api *API, op *operation.Operation, body []byte, w Wish) (*Measured, error) {
	m := &Measured{Lost: []string{}, Dropped: []Dropped{}}
	count := counter()
	stream, err := p.minify(m, body)
	if err != nil {
		return nil, err
	}
	made := projection.New(op, api.Index)
	table, err := engine.Compile(made.Program)
	if err != nil {
		return nil, fmt.Errorf("compiling the response program of %s %s: %w", op.Method, op.Path, err)
	}
	tool := &connector.Tool{Head: connector.Head{InputSchema: op.InputSchema, OutputSchema: op.OutputSchema, Structured: true}, Program: table}
	program, form := answer.Plain(tool, registry.ProfileConcise).Program, compress.Auto
	if w.Fields != "" {
		if program, err = answer.Plain(tool, w.Profile).Mask([]byte(w.Fields)); err != nil {
			return nil, err
		}
		if w.Profile == registry.ProfileOff {
			form = compress.JSON
		}
	}
	m.Lossless, _, _ = compress.AppendForm(nil, m.Minified, compress.Auto, compress.Gauge{Count: count})
	start := time.Now()
	small, note := p.run(program, stream, body, m.Minified)
	if w.Fields != "" {
		note = nil // the caller said what it wants
	}
	m.Concise, _, _ = compress.AppendForm(nil, small, form, compress.Estimated)
	m.Seconds = time.Since(start).Seconds()
	// A node decides by estimate, which costs less; here tokens are counted.
	var written compress.Form
	m.Concise, written, _ = compress.AppendForm(m.Concise[:0], small, form, compress.Gauge{Count: count})
	m.Pretty = pretty(m.Minified)
	m.Tokens = Tokens{
		Pretty: count(m.Pretty), Minified: count(m.Minified), Lossless: count(m.Lossless), Concise: count(m.Concise) + count(note), Structured: count(small),
	}
	if m.unchanged {
		m.RoundTrip, m.oneField = true, m.Tokens.Concise
		return m, nil
	}
	text := m.Concise
	if len(note) > 0 && written != compress.JSON { // behind JSON it is a text of its own
		m.Concise = append(append(slices.Clone(m.Concise), '\n'), note...)
	}
	back, err := decodeText(m.Lossless)
	m.RoundTrip = err == nil && bytes.Equal(jsonscan.AppendMinified(nil, back), m.Minified)
	if back, err = decodeText(text); err != nil {
		return nil, fmt.Errorf("decoding the concise text: %w", err)
	}
	before, after := anyOf(m.Minified), anyOf(back)
	m.Drift = driftOf(op, w.Status, before)
	if m.oneField, err = p.oneField(m, before); err != nil {
		return nil, err
	}
	c := comparison{api: api, op: op, m: m, paths: map[string]int{}}
	c.compare(before, after, nil, "", projection.ResourceOf(op.Path), made.Root())
	for _, item := range itemsOf(before, after) {
		c.item(item)
	}
	if w.Fields != "" { // what a caller did not ask for is not missed
		m.Dropped = []Dropped{}
	} else if len(c.lost) > 0 {
		m.Lost = slices.Compact(slices.Sorted(slices.Values(c.lost)))
	}
	return m, nil
}

// minify fills in the answer as minified JSON; a stream of documents becomes an
// array, as a node makes of it.
func (p *Measurer) minify(m *Measured, body []byte) (stream bool, err error) {
	_, err = jsonscan.Parse(body, 0)
	if errors.Is(err, jsonscan.ErrDepth) && json.Valid(body) { // deeper than a node looks
		m.Minified, m.unchanged = jsonscan.AppendMinified(nil, body), true
		return false, nil
	}
	// The engine takes what is not UTF-8, too. A stream of nothing is none.
	for _, documents := range []engine.Documents{engine.OneDocument, engine.DocumentStream} {
		all, failed := engine.Compile(&engine.Program{Documents: documents})
		if failed != nil {
			return false, failed
		}
		if m.Minified, _, failed = p.Host.Transform(nil, all, body); failed == nil && len(m.Minified) > len("[]")*int(documents) {
			return documents == engine.DocumentStream, nil
		}
	}
	return false, problem.New(problem.InvalidArgument, "the answer is not JSON: %s", err).Because(err)
}

// run gives what a program leaves of an answer, all of it when it cannot run, and the
// line about what was left out, as a node does.
func (p *Measurer) run(program *answer.Program, stream bool, body, minified []byte) (left, note []byte) {
	tables := program.Tables
	if stream {
		var err error
		if tables, err = program.Stream(); err != nil {
			return minified, nil
		}
	}
	if len(tables) == 0 {
		return minified, nil
	}
	for _, t := range tables {
		out, st, err := p.Host.Transform(nil, t, body)
		if err != nil {
			return minified, nil
		}
		body = out
		if st.Told > 0 && note == nil {
			note = call.AppendLeftOut(nil, st.Told, t[st.ToldAt:][:st.ToldLen], "fields")
		}
	}
	return body, note
}

// anyOf decodes valid JSON with its number literals.
func anyOf(doc []byte) any {
	var v any
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	_ = d.Decode(&v) // it was checked
	return v
}

// pair is a value of the answer and what is left of it; after is nil when nothing is.
type pair struct {
	before, after any
	at            []byte // JSON pointer
}

// itemsOf finds what people call the items of an answer: the elements of its
// arrays of objects in the first two levels, and the answer itself.
func itemsOf(before, after any) []pair {
	items := []pair{{before, after, nil}}
	var walk func(p pair, depth int)
	walk = func(p pair, depth int) {
		switch b := p.before.(type) {
		case []any:
			rest, _ := p.after.([]any)
			for i, e := range b {
				if _, is := e.(map[string]any); is {
					items = append(items, pair{e, element(rest, i), pointer(p.at, strconv.Itoa(i))})
				}
			}
		case map[string]any:
			rest, _ := p.after.(map[string]any)
			for k, e := range b {
				if depth < 2 {
					walk(pair{e, rest[k], pointer(p.at, k)}, depth+1)
				}
			}
		}
	}
	walk(items[0], 0)
	return items
}

func element(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

func pointer(at []byte, token string) []byte {
	return append(append(slices.Clip(at), '/'), token...)
}

// comparison finds what a projection left out.
type comparison struct {
	api   *API
	op    *operation.Operation
	m     *Measured
	lost  []string
	paths map[string]int // of m.Dropped
}

// item counts the essential leaves in the first two levels of an item.
func (c *comparison) item(p pair) {
	object, _ := p.before.(map[string]any)
	after, _ := p.after.(map[string]any)
	for k, v := range object {
		at := pointer(p.at, k)
		c.leaf(k, v, after[k], at)
		switch v := v.(type) {
		case map[string]any:
			rest, _ := after[k].(map[string]any)
			for k, v := range v {
				c.leaf(k, v, rest[k], pointer(at, k))
			}
		case []any:
			list, _ := after[k].([]any)
			for i, e := range v {
				object, _ := e.(map[string]any)
				rest, _ := element(list, i).(map[string]any)
				for k, v := range object {
					c.leaf(k, v, rest[k], pointer(pointer(at, strconv.Itoa(i)), k))
				}
			}
		}
	}
}

func (c *comparison) leaf(key string, before, after any, at []byte) {
	if !projection.Essential(key) || !telling(before) {
		return
	}
	if s, is := before.(string); is && projection.IsURL(s) {
		return
	}
	c.m.Essential++
	if !reflect.DeepEqual(before, after) {
		c.m.LostEssential++
		c.lost = append(c.lost, string(at))
	}
}

// telling says that a value is a leaf that is not empty.
func telling(v any) bool {
	switch v := v.(type) {
	case string:
		return v != ""
	case json.Number, bool:
		return true
	}
	return false
}

// compare walks the whole answer: every member that is missing, and identifiers
// wherever they are.
func (c *comparison) compare(before, after any, at []byte, path, resource string, place projection.Place) {
	switch b := before.(type) {
	case []any:
		rest, _ := after.([]any)
		for i, e := range b {
			c.compare(e, element(rest, i), pointer(at, strconv.Itoa(i)), path+"[]", resource, place)
		}
	case map[string]any:
		rest, _ := after.(map[string]any)
		for k, v := range b {
			if telling(v) && c.api.Index.Identifies(resource, k, typeOf(v)) {
				c.m.Identifiers++
				if !reflect.DeepEqual(v, rest[k]) {
					c.m.LostIdentifiers++
					c.lost = append(c.lost, string(pointer(at, k)))
				}
			}
			if _, kept := rest[k]; !kept && rest != nil {
				c.drop(joinPath(path, k), place.Why(k, kindOf(v)))
			}
			c.compare(v, rest[k], pointer(at, k), joinPath(path, k), projection.Singular(k), place.Member(k))
		}
	}
}

func joinPath(path, k string) string {
	if path == "" {
		return k
	}
	return path + "." + k
}

func (c *comparison) drop(path, why string) {
	i, known := c.paths[path]
	if !known {
		i = len(c.m.Dropped)
		c.paths[path] = i
		c.m.Dropped = append(c.m.Dropped, Dropped{Path: path, Why: why})
	}
	c.m.Dropped[i].Count++
}

func typeOf(v any) operation.Type {
	switch v := v.(type) {
	case string:
		return operation.TypeString
	case bool:
		return operation.TypeBoolean
	case json.Number:
		if _, err := v.Int64(); err == nil {
			return operation.TypeInteger
		}
		return operation.TypeNumber
	}
	return operation.TypeNull
}

// kindOf names the values that rules look at.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		if v == "" {
			return "empty"
		}
		if projection.IsURL(v) {
			return "url"
		}
	case []any:
		if len(v) == 0 {
			return "empty"
		}
	case map[string]any:
		if len(v) == 0 {
			return "empty"
		}
	}
	return "other"
}

// driftOf says that an answer is not what the specification declares.
func driftOf(op *operation.Operation, status int, doc any) string {
	names := map[string]struct{}{}
	add := func(v any) {
		object, _ := v.(map[string]any)
		for k := range object {
			names[k] = struct{}{}
		}
	}
	add(doc)
	list, _ := doc.([]any)
	for _, e := range list {
		add(e)
	}
	return projection.Drift(op, status, slices.Collect(maps.Keys(names)))
}

// oneField counts the tokens of an answer of which a caller names one field: the
// first essential member of its first item. Without one it is what concise costs.
func (p *Measurer) oneField(m *Measured, doc any) (int, error) {
	path, name := []string{}, ""
	for name == "" {
		switch v := doc.(type) {
		case []any:
			if len(v) == 0 {
				return m.Tokens.Concise, nil
			}
			doc = v[0]
			continue
		case map[string]any:
			names := slices.Sorted(maps.Keys(v))
			inner := ""
			for _, k := range names {
				if list, is := v[k].([]any); is && len(list) > 0 && inner == "" {
					if _, is := list[0].(map[string]any); is {
						inner = k
					}
				}
			}
			if inner != "" && len(path) < 2 {
				path, doc = append(path, inner), v[inner]
				continue
			}
			for _, k := range names {
				if projection.Essential(k) && telling(v[k]) {
					name = k
					break
				}
			}
		}
		if name == "" {
			return m.Tokens.Concise, nil
		}
	}
	node := &engine.Node{DropRest: true, Fields: []engine.Field{{Name: name}}}
	for _, k := range slices.Backward(path) {
		node = &engine.Node{DropRest: true, Fields: []engine.Field{{Name: k, Node: node}}}
	}
	table, err := engine.Compile(&engine.Program{Root: node})
	if err != nil {
		return 0, fmt.Errorf("compiling the mask of one field: %w", err)
	}
	small, _, err := p.Host.Transform(nil, table, m.Minified)
	if err != nil {
		return m.Tokens.Concise, nil //nolint:nilerr // deeper than programs look
	}
	_, _, n := compress.AppendForm(nil, small, compress.Auto, compress.Gauge{Count: tokens.Count})
	return n, nil
}

// pretty writes JSON as most APIs and tools show it: two spaces a level.
func pretty(doc []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, doc, "", "  ") != nil {
		return doc
	}
	return b.Bytes()
}
