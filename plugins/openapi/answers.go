package openapi

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicegate/sluice/internal/wording"
	"github.com/sluicegate/sluice/plugins/operation"
)

// maxVariants bounds the names that a description lists.
const maxVariants = 12

// answer is the successful response that an operation is described by.
type answer struct {
	at      value
	schema  *schema  // nil: no usable schema
	accept  []string // media types, JSON first
	isRange bool     // only "default" says anything

	successes []string // statuses
}

// answers fills in what is known of the operation's answer: Accept, output
// schema, response graph.
func (c *compiler) answers(e entry, op *operation.Operation) answer {
	a := c.answer(e)
	op.Successes = a.successes
	op.Plan.Accept = accept(a.accept)
	var always []string
	op.Plan.Told, always = c.toldHeaders(e)
	if len(op.Plan.Told) > 0 {
		op.Plan.Promises = []operation.Promise{{At: operation.Headers, Required: always}}
	}
	if a.schema == nil || a.schema == c.anything {
		return a
	}
	op.Response = c.response(a.schema, 0)
	if !a.isRange {
		op.OutputSchema = c.outputSchema(a.schema)
		op.Plan.Promises = slices.Concat(c.promises(a.schema), op.Plan.Promises)
	}
	return a
}

// accept is the Accept header (rule 31).
func accept(types []string) string {
	const maxTypes = 4
	if len(types) > maxTypes {
		types = types[:maxTypes]
	}
	if len(types) == 0 {
		return "application/json, */*;q=0.1"
	}
	return strings.Join(types, ", ") + ", */*;q=0.1"
}

// answer chooses the lowest 2xx response, else the default one (rule 25).
func (c *compiler) answer(e entry) answer {
	responses := e.at.get("responses")
	var best value
	bestCode, bestKey := "", ""
	var successes []string
	for k, r := range responses.members() {
		code := k.text()
		if len(code) != 3 || code[0] != '2' {
			if code == "default" && bestCode == "" {
				best, bestKey = r, code
			}
			continue
		}
		successes = append(successes, strings.ToUpper(code))
		if bestCode == "" || strings.ToUpper(code) < bestCode {
			best, bestCode, bestKey = r, strings.ToUpper(code), code
		}
	}
	a := answer{isRange: bestKey == "default", successes: successes}
	r, ok := c.follow(best, "response")
	if !ok || !r.isObject() {
		return a
	}
	a.at = r
	if c.version == swagger20 {
		c.swaggerAnswer(e, r, &a)
		return a
	}
	bestRank := 99
	for k, m := range r.get("content").members() {
		t := strings.ToLower(strings.TrimSpace(strings.Split(k.text(), ";")[0]))
		json := t == "*/*" || t == "" || isJSON(t)
		if validMediaType(t) && !strings.Contains(t, "*") && !slices.Contains(a.accept, t) {
			a.accept = insertType(a.accept, t)
		}
		mt, ok := c.follow(m, "media type")
		if !ok || !mt.get("schema").exists() || !json {
			continue
		}
		rank := 1
		if t == "application/json" {
			rank = 0
		}
		if rank < bestRank {
			bestRank, a.schema = rank, c.schemaAt(mt.get("schema"))
		}
	}
	return a
}

// insertType keeps JSON types before the others.
func insertType(list []string, t string) []string {
	if t == "application/json" {
		return slices.Insert(list, 0, t)
	}
	if !isJSON(t) {
		return append(list, t)
	}
	i := slices.IndexFunc(list, func(s string) bool { return !isJSON(s) })
	if i < 0 {
		return append(list, t)
	}
	return slices.Insert(list, i, t)
}

func (c *compiler) swaggerAnswer(e entry, r value, a *answer) {
	produces := e.at.get("produces")
	if !produces.exists() {
		produces = c.main.root().get("produces")
	}
	for _, m := range produces.elements() {
		t := strings.ToLower(strings.TrimSpace(strings.Split(m.str(), ";")[0]))
		if validMediaType(t) && !strings.Contains(t, "*") && !slices.Contains(a.accept, t) {
			a.accept = insertType(a.accept, t)
		}
	}
	s := r.get("schema")
	if !s.exists() || s.get("type").is("file") || len(a.accept) > 0 && !isJSON(a.accept[0]) {
		return
	}
	a.schema = c.schemaAt(s)
}

// nameIt gives the operation name, title, description and annotations.
func (c *compiler) nameIt(e entry, op *operation.Operation, a answer) {
	id := e.at.get("operationId").str()
	if id != "" {
		key := cutPlain(id, maxPropertyText) // which is case-sensitive
		if c.ids == nil {
			c.ids = make(map[string]value)
		}
		if first, ok := c.ids[key]; ok {
			line, _ := first.place()
			c.warn(codeDuplicateID, e.at.get("operationId"), "give every operation its own operationId", "the operationId %s is used before in line %d", quoteShort(id), line)
		} else {
			c.ids[key] = e.at.get("operationId")
		}
	}
	op.Name = c.namer.name(id, op.Method, op.Path, op.Tags)
	summary := plain(e.at.get("summary").str())
	if summary == "" {
		summary = plain(e.item.get("summary").str())
	}
	op.Title = strings.TrimRight(summary, ". ")
	if op.Title == "" || len(op.Title) > maxTitle {
		op.Title = humanise(op.Name)
	}
	op.Description = c.describeOperation(e, op, summary, a)
	description := plain(e.at.get("description").str())
	does, _ := effect(op.Method, id, op.Path, summary, description)
	signs := 0
	if op.Method == http.MethodPost && op.Plan != nil {
		signs = looksUp(id, op.Path, summary, description, op.Plan.Body)
	}
	op.Annotations = annotations(op.Method, strings.Split(op.Name, "_"), does, signs)
}

// describeOperation says what the operation does, what it returns and what it
// needs (rule 21).
func (c *compiler) describeOperation(e entry, op *operation.Operation, summary string, a answer) string {
	text := plain(e.at.get("description").str())
	if text == "" {
		text = plain(e.item.get("description").str())
	}
	text, summary = news(direct(bare(text))), direct(bare(summary))
	var b strings.Builder
	add := func(s string) {
		s = strings.TrimSpace(s)
		if s == "" {
			return
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(s)
		if !strings.ContainsRune(".!?…:", rune(s[len(s)-1])) {
			b.WriteByte('.')
		}
	}
	if summary != "" && !covers(text, summary) {
		add(firstSentences(summary, maxSummary))
	}
	add(firstText(text, maxSummary))
	if b.Len() == 0 {
		add(c.madeUp(e, op))
	}
	if key := strings.ToLower(b.String()); c.said[key] {
		// Another operation has the same words: they are about the thing, not about what
		// this one does with it.
		text := b.String()
		b.Reset()
		add(humanise(op.Name))
		add(text)
	} else if len(c.said) < c.limits.MaxOperations {
		c.said[key] = true
	}
	add(c.returns(a, b.String()))
	add(needs(op.Plan.Body))
	add(needsOneOf(op.Plan.Body))
	if op.Deprecated {
		add("Deprecated")
	}
	return cutWords(b.String(), maxDescription)
}

// needs says which members an optional body must have once it is sent.
func needs(b *operation.Body) string {
	if b == nil || b.Required {
		return ""
	}
	var names []string
	for i := range b.Fields {
		if f := &b.Fields[i]; f.Required && f.Arg != "" && len(names) < maxVariants {
			names = append(names, f.Arg)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "With a body, required: " + strings.Join(names, ", ")
}

// needsOneOf says which lists of members a body needs one of (rule 9).
func needsOneOf(b *operation.Body) string {
	if b == nil {
		return ""
	}
	arg := func(name string) string {
		i := slices.IndexFunc(b.Fields, func(f operation.Field) bool { return f.Name == name })
		return cmp.Or(b.Fields[i].Arg, name)
	}
	var parts []string
	for _, group := range b.Needs {
		var lists []string
		for _, names := range group {
			args := make([]string, len(names))
			for i, n := range names {
				args[i] = arg(n)
			}
			lists = append(lists, strings.Join(args, " and "))
		}
		parts = append(parts, cutText(strings.Join(lists, ", or "), maxPropertyText))
	}
	if more := b.Least - certain(b); more > 1 {
		parts = append(parts, "at least "+strconv.Itoa(more)+" of the optional ones")
	} else if more == 1 && len(parts) == 0 {
		parts = append(parts, "at least one of the optional ones")
	}
	if text := tellRules(b.Rules, func(name string) string {
		i := slices.IndexFunc(b.Fields, func(f operation.Field) bool { return f.Name == name })
		return b.Fields[i].Arg
	}); text != "" {
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return ""
	}
	return "Needs " + strings.Join(parts, "; and ")
}

// madeUp describes an operation whose author did not.
func (c *compiler) madeUp(e entry, op *operation.Operation) string {
	s := humanise(op.Name) + " (" + e.method + " " + cutText(e.path, 200) + ")"
	if len(op.Tags) > 0 {
		s += ", " + cutText(op.Tags[0], 60)
	}
	return s
}

// fillers say nothing of an answer that an agent does not know.
var fillers = wordSet("ok okay success successful successfully succeeded succeed request requests response responses result results operation operations " +
	"operational call query default expected normal typical standard valid empty no content body created accepted updated deleted removed done completed complete " +
	"completes provides provided action receive receives indicates indicate finished found processed performed executed saved returned return returns retrieved fetched received sent is are was were be been being has have had " +
	"will with without the a an of to for in on by and or as if that this it its all one new when n none description description default data " +
	"json object list array page paginated collection resource entity item items model dto schema envelope wrapper type 200 201 202 203 204 2xx status code http get set single example")

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(text) {
		set[w] = true
	}
	return set
}

// saysMore reports whether words tell something beside fillers and what was said.
func saysMore(ws []string, said string) bool {
	known := map[string]bool{}
	for _, w := range wording.Split(cutPlain(said, maxDescription)) {
		known[wording.Singular(w)], known[stem(w)] = true, true
	}
	return slices.ContainsFunc(ws, func(w string) bool { return !fillers[w] && !known[wording.Singular(w)] && !known[stem(w)] })
}

var (
	// statusCode is "HTTP Status Code: 200" in front of a description.
	statusCode = regexp.MustCompile(`^(?i:HTTPS? |Status |Codes? |Codes?:){1,4} *:? *[` + "`" + `*]*2\d\d[` + "`" + `*]*[ :.,-]*`)
	// aboutCall is a description of an answer that speaks of the operation.
	aboutCall = regexp.MustCompile(`^(?:Endpoint (?:for|to) |Us(?:e|ed|ing) (?:this|to|for|with) |(?:This|The) (?:API )?(?:endpoint|call|method|operation|route) )`)
)

// returns is a sentence about the answer; "" when it is no news after what was said.
func (c *compiler) returns(a answer, said string) string {
	if text := firstSentences(statusCode.ReplaceAllString(plain(a.at.get("description").str()), ""), maxPropertyText/2); len(text) > 12 {
		switch lower := strings.ToLower(text); {
		case !saysMore(wording.Split(text), said):
		case strings.HasPrefix(lower, "return"):
			return text
		case aboutCall.MatchString(text): // it is what the operation is for
			return direct(text)
		default:
			return "Returns: " + text
		}
	}
	if a.schema == nil {
		return ""
	}
	const mostWords = 4 // longer names are paths of packages
	name, list := a.schema.name, ""
	if a.schema.types == operation.TypeArray && a.schema.items.exists() {
		name, list = c.normal(&a.schema.items).name, "a list of "
	}
	ws := wording.Split(name)
	if len(ws) == 0 || len(ws) > mostWords || len(name) > 60 || !saysMore(ws, said) {
		return ""
	}
	return "Returns " + list + strings.Join(ws, " ")
}
