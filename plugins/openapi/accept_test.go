package openapi

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/plugins/operation"
)

// The acceptance test asks whether what an API requires can be called: arguments
// are made from the source document, must be accepted, and what is sent must be
// what the rules of OpenAPI make of them.

// acceptance counts what became of the calls.
type acceptance struct {
	calls, right int
	skipped      map[string]int // not made, by reason
	wrong        map[string][]string
}

func newAcceptance() *acceptance {
	return &acceptance{skipped: map[string]int{}, wrong: map[string][]string{}}
}

var digits = regexp.MustCompile(`[0-9]+|"[^"]*"|/[^ :]*`)

func (a *acceptance) fail(where, why, detail string) {
	key := digits.ReplaceAllString(why, "_")
	a.wrong[key] = append(a.wrong[key], where+": "+detail)
}

// caller makes calls of the operations of one document.
type caller struct {
	d      *sourceDoc
	r      *rand.Rand
	hidden map[string]bool // credentials: location and lower-case name
	a      *acceptance
}

// call makes one call of an operation. It reports false when none could be made.
func (c *caller) call(op *operation.Operation) bool {
	where := c.d.src.Name + " " + op.Method + " " + op.Path
	skip := func(why string) bool {
		c.a.skipped[why]++
		return false
	}
	if strings.ContainsAny(op.Path, "?#*") {
		return skip("a query or a star inside the path")
	}
	root := sourceNode{c.d.src.Path, c.d.files[c.d.src.Path]}
	item, ok := c.d.resolve(root.get("paths", op.Path))
	if !ok {
		return skip("a path that the test does not find")
	}
	at := item.get(strings.ToLower(op.Method))
	if !at.exists() {
		at = item.get("additionalOperations", op.Method)
	}
	if at, ok = c.d.resolve(at); !ok {
		return skip("an operation that the test does not find")
	}
	params, fields, body, why := c.parameters(item, at, op)
	if why != "" {
		return skip(why)
	}
	args := map[string]any{}
	var sent []sentParam
	for _, p := range params {
		i := slices.IndexFunc(op.Plan.Params, func(q operation.Param) bool {
			return string(q.In) == p.in && (q.Name == p.name || p.in == "header" && strings.EqualFold(q.Name, p.name))
		})
		switch {
		case i < 0 && c.hidden[p.in+" "+strings.ToLower(p.name)]:
			continue
		case i < 0:
			c.a.calls++
			c.a.fail(where, "no argument for a parameter", p.in+" "+p.name)
			return true
		case op.Plan.Params[i].Arg == "":
			if want, err := jsonscan.Parse([]byte(op.Plan.Params[i].Const), 0); err != nil || string(want.AppendText(nil)) != scalarText(p.v) {
				c.a.calls++
				c.a.fail(where, "a fixed value differs", p.name)
				return true
			}
		default:
			args[op.Plan.Params[i].Arg] = p.v
		}
		sent = append(sent, p)
	}
	b, why := c.body(op, at, fields, body, sent, args)
	if why != "" {
		if strings.HasPrefix(why, "wrong: ") {
			c.a.calls++
			c.a.fail(where, strings.TrimPrefix(why, "wrong: "), "")
			return true
		}
		return skip(why)
	}
	c.a.calls++
	text := mustJSON(args)
	compiled, err := op.Plan.Compile()
	if err != nil {
		c.a.fail(where, "the plan does not compile", err.Error())
		return true
	}
	v, err := jsonscan.Parse(text, 0)
	if err != nil {
		c.a.fail(where, "not JSON", err.Error())
		return true
	}
	if err := compiled.Check(v); err != nil {
		c.a.fail(where, "refused: "+err.Error(), err.Error()+" "+string(text))
		return true
	}
	var r operation.Request
	if err := compiled.Build(&r, v); err != nil {
		c.a.fail(where, "not built: "+err.Error(), err.Error()+" "+string(text))
		return true
	}
	if diff := wireDifference(op, &r, sent, b); diff != "" {
		c.a.fail(where, "differs", diff+" "+string(text))
		return true
	}
	c.a.right++
	return true
}

func (c *caller) generator(files bool) *generator {
	return &generator{d: c.d, r: c.r, files: files}
}

// parameters makes the parameters that are sent: the required ones and some others.
func (c *caller) parameters(item, at sourceNode, op *operation.Operation) (params, fields []sentParam, body sourceNode, why string) {
	var list []sourceNode
	for _, source := range []sourceNode{item.get("parameters"), at.get("parameters")} {
		for _, p := range source.list() {
			q, ok := c.d.resolve(p)
			if !ok {
				continue // reported by the compiler
			}
			i := slices.IndexFunc(list, func(o sourceNode) bool {
				return o.get("in").str() == q.get("in").str() && (o.get("name").str() == q.get("name").str() || o.get("in").str() == "header" && strings.EqualFold(o.get("name").str(), q.get("name").str()))
			})
			if i >= 0 {
				list[i] = q
			} else {
				list = append(list, q)
			}
		}
	}
	swagger := c.d.version() == "2.0"
	for _, q := range list {
		in, name := q.get("in").str(), q.get("name").str()
		required := q.get("required").truth() || in == "path"
		if in == "body" {
			body = q
			continue
		}
		if !slices.Contains([]string{"path", "query", "header", "cookie", "formData"}, in) {
			continue
		}
		if in == "path" && !strings.Contains(op.Path, "{"+name+"}") || name == "" || in == "formData" && !swagger || in == "querystring" {
			continue
		}
		if in == "header" && slices.Contains([]string{
			"authorization", "accept", "content-type", "host", "content-length", "connection", "transfer-encoding", "te", "upgrade", "trailer", "keep-alive", "expect", "cookie",
			"proxy-authorization", "proxy-connection", "accept-encoding",
		}, strings.ToLower(name)) || in == "header" && !headerToken(name) {
			continue
		}
		if !required && c.r.IntN(3) != 0 {
			continue
		}
		p := sentParam{name: name, in: in, style: q.get("style").str(), reserved: q.get("allowReserved").truth()}
		schema := q.get("schema")
		if swagger {
			if !schema.exists() {
				schema = q
			}
			if q.get("type").str() == "array" {
				p.style = q.get("collectionFormat").str()
				if p.style == "" || p.style == "multi" && in != "query" && in != "formData" {
					p.style = "csv"
				}
				for it := q.get("items"); it.get("type").str() == "array"; it = it.get("items") {
					f := it.get("collectionFormat").str()
					if f == "" || f == "multi" {
						f = "csv"
					}
					p.nested = append(p.nested, f)
				}
			}
		} else {
			if p.style == "" || in == "header" || in == "query" && !slices.Contains([]string{"form", "spaceDelimited", "pipeDelimited", "deepObject"}, p.style) {
				p.style = map[string]string{"path": "simple", "header": "simple", "query": "form", "cookie": "form"}[in]
			}
			p.explode = p.style == "form"
			if e, ok := q.get("explode").v.(bool); ok {
				p.explode = e
			}
			if content := q.get("content"); content.exists() && !schema.exists() {
				media := content.keys()
				if len(media) != 1 || !isJSON(mediaType(media[0])) {
					if required {
						return nil, nil, body, "a parameter of a media type that is not JSON"
					}
					continue
				}
				p.content, schema = true, content.get(media[0], "schema")
			}
		}
		g := c.generator(in == "formData")
		g.full = true
		g.plain = in != "query" && in != "formData" || p.reserved
		if schema.exists() {
			p.v = g.value(1, schema)
		} else {
			p.v = "anything"
		}
		if s, ok := p.v.(string); ok && in == "path" && (s == "" || s == "." || s == "..") {
			p.v = "x"
		}
		if g.stuck != "" || p.v == nil || in == "path" && nothing(p.v) || in == "header" && strings.ContainsAny(scalarText(p.v), "\r\n") {
			if required {
				return nil, nil, body, "no value for a parameter: " + g.stuck
			}
			continue
		}
		if in == "formData" {
			fields = append(fields, p)
		} else {
			params = append(params, p)
		}
	}
	for _, m := range regexp.MustCompile(`\{([^{}]*)\}`).FindAllStringSubmatch(op.Path, -1) {
		if !slices.ContainsFunc(params, func(p sentParam) bool { return p.in == "path" && p.name == m[1] }) {
			params = append(params, sentParam{name: m[1], in: "path", style: "simple", v: "undeclared"})
		}
	}
	return params, fields, body, ""
}

// body makes the body and puts it into the arguments.
func (c *caller) body(op *operation.Operation, at sourceNode, fields []sentParam, swaggerBody sourceNode, sent []sentParam, args map[string]any) (*sentBody, string) {
	plan := op.Plan.Body
	b := &sentBody{}
	var schema sourceNode
	var required bool
	forms := []*operation.Body{plan}
	if plan != nil {
		for i := range plan.Variants {
			forms = append(forms, &plan.Variants[i])
		}
	}
	chosen := plan
	switch {
	case len(fields) > 0:
		o := object{}
		b.formats = map[string]string{}
		for _, f := range fields {
			if c.hidden["formdata "+strings.ToLower(f.name)] {
				continue
			}
			o = append(o, member{f.name, f.v})
			if f.style != "" && f.style != "multi" {
				b.formats[f.name] = f.style
			}
		}
		b.v, required = o, true
	case swaggerBody.exists():
		schema, required = swaggerBody.get("schema"), swaggerBody.get("required").truth()
	default:
		rb := at.get("requestBody")
		if !rb.exists() {
			return nil, ""
		}
		rb, ok := c.d.resolve(rb)
		if !ok || len(rb.get("content").keys()) == 0 {
			return nil, ""
		}
		required = rb.get("required").truth()
		if plan == nil {
			if op.Method == http.MethodHead || op.Method == http.MethodGet && !required {
				return nil, ""
			}
			return nil, "wrong: no argument for the body"
		}
		chosen = forms[c.r.IntN(len(forms))]
		for _, k := range rb.get("content").keys() {
			if mediaType(k) == chosen.MediaType {
				mt, _ := c.d.resolve(rb.get("content", k))
				schema, b.encoding, b.media = mt.get("schema"), mt.get("encoding"), k
			}
		}
		if b.media == "" {
			return nil, "wrong: a media type that the document does not have"
		}
	}
	if plan == nil {
		if b.v != nil && len(b.v.(object)) > 0 {
			return nil, "wrong: no argument for the form"
		}
		return nil, ""
	}
	if !required && c.r.IntN(2) == 0 {
		return nil, ""
	}
	if b.media == "" {
		b.media = chosen.MediaType
	}
	kind := kindOf(chosen.MediaType)
	if kind == bodyXML {
		return nil, "an XML body"
	}
	if b.v == nil {
		g := c.generator(kind == bodyMultipart || kind == bodyBinary)
		g.full = kind == bodyForm || kind == bodyMultipart
		switch kind {
		case bodyBinary:
			b.v = fileValue("raw \x01 content")
		case bodyText:
			g.plain = true
			if t := g.flat(schema).types; len(t) == 1 && (t[0] == "integer" || t[0] == "number" || t[0] == "boolean") {
				b.v = g.value(1, schema)
			} else {
				b.v = "a text"
			}
		default:
			if !schema.exists() {
				b.v = object{{"any", "thing"}}
			} else {
				b.v = g.value(1, schema)
			}
			if kind == bodyLines {
				b.v = linesOf(b.v)
			}
		}
		if g.stuck != "" {
			if required {
				return nil, "no value for the body: " + g.stuck
			}
			return nil, ""
		}
		if b.v == nil {
			return nil, "a body of null"
		}
	}
	if chosen.Arg != "" {
		args[chosen.Arg] = b.v
		return b, ""
	}
	o, ok := b.v.(object)
	if !ok {
		return nil, "wrong: a body that is not an object is lifted"
	}
	given := false
	var ordered object // lifted members are written in the order of the document
	for _, f := range chosen.Fields {
		v, ok := o.get(f.Name)
		shared := slices.IndexFunc(op.Plan.Params, func(p operation.Param) bool { return p.In == operation.InPath && p.Arg == f.Arg && f.Arg != "" })
		switch {
		case shared >= 0: // asked for once
			for _, p := range sent {
				if p.in == "path" && p.name == op.Plan.Params[shared].Name {
					v, ok = p.v, true
				}
			}
		case !ok && f.Const != "":
			parsed, err := jsonscan.Parse([]byte(f.Const), 0)
			if err != nil {
				return nil, "wrong: a constant that is not JSON"
			}
			if v, err = decodeAny(parsed.Raw()); err != nil {
				v = string(parsed.AppendText(nil))
			}
			ok = true
		case ok && f.Arg == "":
			if string(mustJSON(v)) != f.Const {
				return nil, "wrong: a fixed member differs"
			}
		case ok:
			args[f.Arg] = v
			given = true
		}
		if ok {
			ordered = append(ordered, member{f.Name, v})
		}
	}
	for _, m := range o {
		if !slices.ContainsFunc(chosen.Fields, func(f operation.Field) bool { return f.Name == m.name }) {
			if c.hidden["body "+strings.ToLower(m.name)] {
				continue
			}
			if chosen.MediaType != "application/json" || chosen.Schema == nil || chosen.Schema.Additional == nil {
				return nil, "wrong: no argument for member " + m.name
			}
			args[m.name], given, ordered = m.v, true, append(ordered, m)
		}
	}
	if chosen != plan && !given {
		return nil, "a form of the body of which nothing was made"
	}
	if !given && !plan.Required {
		for _, f := range chosen.Fields { // nothing of it is sent
			if f.Arg != "" && !slices.ContainsFunc(op.Plan.Params, func(p operation.Param) bool { return p.Arg == f.Arg }) {
				delete(args, f.Arg)
			}
		}
		return nil, ""
	}
	b.v = ordered
	if ordered == nil {
		b.v = object{}
	}
	return b, ""
}

// wireDifference tells how a request differs from what the rules make.
func wireDifference(op *operation.Operation, r *operation.Request, sent []sentParam, b *sentBody) string {
	target, query := op.Path, []string{}
	var cookies []string
	headers := map[string]string{}
	var literal strings.Builder
	for target != "" {
		open, shut := strings.IndexByte(target, '{'), strings.IndexByte(target, '}')
		if open < 0 || shut < open {
			literal.WriteString(unreserved(target, "!$&'()*+,;=:@/%"))
			break
		}
		literal.WriteString(unreserved(target[:open], "!$&'()*+,;=:@/%"))
		name := target[open+1 : shut]
		for i := range sent {
			if sent[i].in == "path" && sent[i].name == name {
				literal.WriteString(sent[i].inPath())
			}
		}
		target = target[shut+1:]
	}
	esc := func(s string) string { return unreserved(s, "") }
	for _, p := range op.Plan.Params { // the order of the plan
		for i := range sent {
			s := &sent[i]
			if string(p.In) != s.in || !strings.EqualFold(p.Name, s.name) || s.in != "header" && p.Name != s.name {
				continue
			}
			switch s.in {
			case "query":
				query = append(query, s.pairsOf(esc)...)
			case "cookie":
				cookies = append(cookies, s.pairsOf(esc)...)
			case "header":
				if !nothing(s.v) {
					headers[strings.ToLower(s.name)] = s.inHeader()
				}
			}
		}
		if p.Arg == "" && p.In == operation.InHeader && headers[strings.ToLower(p.Name)] == "" {
			v, err := jsonscan.Parse([]byte(p.Const), 0)
			if err == nil {
				headers[strings.ToLower(p.Name)] = string(v.AppendText(nil))
			}
		}
	}
	want := literal.String()
	if !strings.HasPrefix(want, "/") {
		want = "/" + want
	}
	if len(query) > 0 {
		want += "?" + strings.Join(query, "&")
	}
	if got := string(r.Target); got != want {
		return fmt.Sprintf("target %s, want %s", got, want)
	}
	if len(cookies) > 0 {
		headers["cookie"] = strings.Join(cookies, "; ")
	}
	got := map[string]string{}
	for _, h := range r.Header {
		got[strings.ToLower(h.Name)] = string(h.Value)
	}
	if !maps.Equal(got, headers) {
		return fmt.Sprintf("headers %q, want %q", got, headers)
	}
	switch {
	case b == nil && r.HasBody && len(r.Body) > 2:
		return fmt.Sprintf("a body %q that was not asked for", r.Body)
	case b != nil && !r.HasBody:
		return "no body"
	case b != nil:
		return b.compare(r)
	}
	return ""
}

// accept calls operations of a document: each step-th, times times.
func (a *acceptance) accept(t *testing.T, src Source, step, times int) {
	res, ops := compileAll(t, src, Options{})
	d, err := readSource(src)
	if err != nil {
		a.skipped["a document that the test's decoder refuses: "+src.Name] += len(ops)
		return
	}
	c := &caller{d: d, a: a, hidden: map[string]bool{}}
	c.d.src.Name = strings.TrimSuffix(src.Name, filepath.Ext(src.Name))
	for _, s := range res.API.Schemes {
		c.hidden[s.In+" "+strings.ToLower(s.Name)] = true
	}
	for _, w := range res.Warnings { // rule 6, and reported as such
		if name := regexp.MustCompile(`"([^"]*)"`).FindStringSubmatch(w.Detail); w.Code == codeCredentialParam && name != nil {
			for _, in := range []string{"query", "header", "cookie", "body", "formdata"} {
				c.hidden[in+" "+strings.ToLower(name[1])] = true
			}
		}
	}
	for i, op := range ops {
		if i%step != 0 {
			continue
		}
		for n := range times {
			c.r = rand.New(rand.NewPCG(uint64(i), uint64(n)))
			c.call(op)
		}
	}
}

func (a *acceptance) report(t *testing.T) {
	t.Helper()
	t.Logf("%d calls, %d right (%.2f %%)", a.calls, a.right, 100*float64(a.right)/float64(max(a.calls, 1)))
	for _, why := range slices.Sorted(maps.Keys(a.skipped)) {
		t.Logf("not made: %d: %s", a.skipped[why], why)
	}
	for _, why := range slices.Sorted(maps.Keys(a.wrong)) {
		list := a.wrong[why]
		t.Logf("%d: %s", len(list), why)
		for _, w := range list[:min(len(list), 12)] {
			t.Logf("    %s", w[:min(len(w), 700)])
		}
	}
}

// TestAcceptance: over the fixtures every call that is made is right.
func TestAcceptance(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.*")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("testdata/arguments/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	a := newAcceptance()
	for _, file := range append(files, more...) {
		if strings.HasSuffix(file, ".golden") || strings.Contains(file, "untidy") || strings.HasSuffix(file, "rules.yaml") {
			// The first is full of mistakes; TestRulesAsJSONSchema has the second, of which
			// values at random are mostly wrong.
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		a.accept(t, Source{Name: filepath.Base(file), Data: data}, 1, 40)
	}
	a.report(t)
	if a.calls < 1000 || a.right != a.calls {
		t.Errorf("%d of %d calls are right, want all of at least 1,000", a.right, a.calls)
	}
}

// TestAcceptanceOfCorpus: at least 99.5 % of 5,000 calls of real APIs are right;
// the rest is in the test's output, with its reason.
func TestAcceptanceOfCorpus(t *testing.T) {
	dir := corpusDir(t)
	a := newAcceptance()
	for _, s := range corpusSpecs(t, dir) {
		src := corpusSource(t, dir, s)
		src.Name = s.id + filepath.Ext(src.Name)
		step, times := 1, 1
		if n := len(src.Data); n > 300<<10 {
			step = 4
		} else if n < 60<<10 {
			times = 4
		}
		a.accept(t, src, step, times)
	}
	a.report(t)
	if a.calls < 5000 || a.right*1000 < a.calls*995 {
		t.Errorf("%d of %d calls are right, want 99.5 %% of at least 5,000", a.right, a.calls)
	}
}
