package openapi

import (
	"slices"
	"strings"

	"github.com/sluicegate/sluice/plugins/operation"
)

// maxParameters bounds the parameters of one operation; the longest known list
// has 120.
const maxParameters = 1000

// parameter is one parameter, read from whatever version.
type parameter struct {
	at         value
	name       string
	in         operation.Location
	style      operation.Style
	explode    bool
	reserved   bool
	required   bool
	deprecated bool
	content    string // media type of a content parameter
	nested     []operation.Style
	schema     *schema
	desc       value
	example    value
	form       bool // Swagger 2.0: a field of the form
}

// parameters merges the path item's parameters with the operation's, which
// override by name and location (rule 2). body is Swagger's body parameter.
func (c *compiler) parameters(e entry) (list []parameter, body value) {
	for _, source := range [...]value{e.item.get("parameters"), e.at.get("parameters")} {
		if !source.exists() || source.kind() == kindNull {
			continue
		}
		if !source.isArray() {
			c.wrongType(source, "parameters", "an array")
			continue
		}
		for _, v := range source.elements() {
			p, ok := c.parameter(v)
			if !ok {
				continue
			}
			if p.in == "body" {
				body = p.at
				continue
			}
			same := slices.IndexFunc(list, func(q parameter) bool {
				return q.in == p.in && q.form == p.form && (q.name == p.name || p.in == operation.InHeader && strings.EqualFold(q.name, p.name))
			})
			if same >= 0 {
				list[same] = p
				continue
			}
			if len(list) >= maxParameters {
				c.warn(codeParamDropped, v, "split the operation", "more than %d parameters; the rest is left out", maxParameters)
				return list, body
			}
			list = append(list, p)
		}
	}
	return list, body
}

// parameter reads one Parameter Object; ok is false, with a warning, for one
// that cannot be sent.
func (c *compiler) parameter(v value) (p parameter, ok bool) {
	target, found := c.follow(v, "parameter")
	if !found {
		return p, false
	}
	if !target.isObject() {
		c.wrongType(v, "a parameter", "an object")
		return p, false
	}
	v = target
	p = parameter{
		at: v, name: v.get("name").str(), in: operation.Location(v.get("in").str()), required: v.get("required").truth(),
		deprecated: v.get("deprecated").truth(), desc: v.get("description"), example: c.exampleOf(v),
	}
	if p.in == "body" && c.version == swagger20 {
		return p, true
	}
	if p.name == "" || len(p.name) > maxPointerToken {
		c.warn(codeParamDropped, v, "give the parameter a name", "a parameter without a usable name is left out")
		return p, false
	}
	if !c.location(&p) {
		return p, false
	}
	if c.version == swagger20 {
		c.swaggerStyle(&p)
		return p, true
	}
	if content := v.get("content"); content.isObject() && content.size() > 0 && !v.get("schema").exists() {
		c.contentParameter(&p, content)
		return p, true
	}
	p.schema = c.schemaAt(v.get("schema"))
	c.style(&p)
	return p, true
}

// mediaHeader is the media type that an Accept or Content-Type parameter asks for: one of
// its values, JSON first, its default or its example. The standard ignores such
// parameters, servers that insist on them do not.
func (c *compiler) mediaHeader(e entry, name string) (media string, required bool) {
	for _, source := range [...]value{e.item.get("parameters"), e.at.get("parameters")} {
		for _, v := range source.elements() {
			if target, ok := c.follow(v, "parameter"); ok {
				v = target
			}
			if !v.get("in").is("header") || !strings.EqualFold(v.get("name").str(), name) {
				continue
			}
			s := v.get("schema")
			if !s.isObject() {
				s = v // Swagger 2.0
			}
			media, required = "", v.get("required").truth()
			values := []value{s.get("default"), c.exampleOf(s), c.exampleOf(v)}
			for _, m := range s.get("enum").elements() {
				values = append(values, m)
			}
			for _, m := range values {
				t := strings.TrimSpace(m.str())
				if bare, _, _ := strings.Cut(t, ";"); !validMediaType(bare) || !headerSafe(t) {
					continue
				} else if media == "" || isJSON(mediaType(t)) && !isJSON(mediaType(media)) {
					media = t
				}
			}
		}
	}
	return media, required
}

// location checks where a parameter travels.
func (c *compiler) location(p *parameter) bool {
	switch p.in {
	case operation.InPath, operation.InQuery, operation.InCookie:
	case operation.InQueryString:
		if c.version < openapi32 {
			c.warn(codeParamDropped, p.at, "use OpenAPI 3.2 or in: query", "in: querystring belongs to OpenAPI 3.2")
		}
	case operation.InHeader:
		if !headerToken(p.name) {
			c.warn(codeParamDropped, p.at, "use a legal header name", "the header %s has an illegal name and is left out", quoteShort(p.name))
			return false
		}
		switch strings.ToLower(p.name) {
		case "authorization", "accept", "content-type": // rule 6: ignored by the standard; see mediaHeader
			return false
		case "host", "content-length", "connection", "transfer-encoding", "te", "upgrade", "trailer", "keep-alive", "expect", "cookie",
			"proxy-authorization", "proxy-connection", "accept-encoding":
			c.warn(codeParamDropped, p.at, "remove the parameter", "the header %s belongs to the connection and is left out", quoteShort(p.name))
			return false
		}
	case "formData":
		if c.version != swagger20 {
			c.warn(codeParamDropped, p.at, "describe it under requestBody", "in: formData belongs to Swagger 2.0; the parameter is left out")
			return false
		}
		p.form = true
	default:
		where := "path, query, header or cookie"
		c.warn(codeParamDropped, p.at, "write in: "+where, "parameter %s: in must be one of %s (got %s); it is left out", quoteShort(p.name), where, quoteShort(string(p.in)))
		return false
	}
	return true
}

// style reads style, explode and allowReserved of OpenAPI 3 with their defaults.
func (c *compiler) style(p *parameter) {
	def := operation.StyleForm
	allowed := []operation.Style{operation.StyleForm, operation.StyleSpace, operation.StylePipe, operation.StyleDeep}
	switch p.in {
	case operation.InPath:
		def = operation.StyleSimple
		allowed = []operation.Style{operation.StyleSimple, operation.StyleLabel, operation.StyleMatrix}
	case operation.InHeader:
		def = operation.StyleSimple
		allowed = []operation.Style{operation.StyleSimple}
	case operation.InCookie:
		allowed = []operation.Style{operation.StyleForm, operation.StyleCookie}
	case operation.InQueryString:
		p.content = "application/x-www-form-urlencoded"
		return
	}
	p.style = operation.Style(p.at.get("style").str())
	if p.style == "" {
		p.style = def
	} else if !slices.Contains(allowed, p.style) {
		c.warn(codeParamStyle, p.at, "use a style that in: "+string(p.in)+" allows", "parameter %s: style %s is not possible in %s; %s is used",
			quoteShort(p.name), quoteShort(string(p.style)), p.in, def)
		p.style = def
	}
	p.explode = p.style == operation.StyleForm || p.style == operation.StyleCookie
	if e := p.at.get("explode"); e.kind() == kindBool {
		p.explode = e.truth()
	}
	p.reserved = p.at.get("allowReserved").truth()
}

// contentParameter is a parameter whose value is serialised as a media type.
func (c *compiler) contentParameter(p *parameter, content value) {
	best := -1
	for k, m := range content.members() {
		t := mediaType(k.text())
		rank := 1
		if isJSON(t) {
			rank = 2
		}
		if rank > best {
			best = rank
			p.content = t
			if mt, ok := c.follow(m, "media type"); ok {
				p.schema = c.schemaAt(mt.get("schema"))
			}
		}
	}
	if p.schema == nil {
		p.schema = c.anything
	}
}

// swaggerStyle reads a Swagger 2.0 parameter, which is its own schema.
func (c *compiler) swaggerStyle(p *parameter) {
	v := p.at
	if s := v.get("schema"); s.exists() && !v.get("type").exists() {
		c.warn(codeSwaggerLimitation, v, "write type beside in", "parameter %s has a schema, which Swagger 2.0 allows only for bodies; it is used", quoteShort(p.name))
		p.schema = c.schemaAt(s)
	} else {
		p.schema = c.swaggerSchema(v)
	}
	if p.schema.types&operation.TypeArray == 0 {
		return
	}
	p.style = c.collectionFormat(v, p)
	for items, depth := v.get("items"), 0; items.isObject() && items.get("type").is("array") && depth < maxBranches; depth++ {
		p.nested = append(p.nested, c.collectionFormat(items, nil))
		items = items.get("items")
	}
}

// swaggerSchema normalises a parameter as the schema it is. Its own description
// and required are the parameter's, not the schema's.
func (c *compiler) swaggerSchema(v value) *schema {
	s := c.newSchema(v)
	c.foldKeywords(s, v, false)
	s.desc, s.deprecated = value{}, false
	s.def, s.example = v.get("default"), c.exampleOf(v)
	c.infer(s)
	return s
}

// collectionFormat reads how Swagger writes an array. p is nil for items.
func (c *compiler) collectionFormat(v value, p *parameter) operation.Style {
	switch f := v.get("collectionFormat"); f.str() {
	case "", "csv":
		return operation.StyleCSV
	case "ssv":
		return operation.StyleSSV
	case "tsv":
		return operation.StyleTSV
	case "pipes":
		return operation.StylePipes
	case "multi":
		if p != nil && (p.in == operation.InQuery || p.form) {
			return operation.StyleMulti
		}
		c.warn(codeParamStyle, f, "use csv, ssv, tsv or pipes here", "collectionFormat multi is only possible in query and formData; csv is used")
		return operation.StyleCSV
	default:
		c.warn(codeParamStyle, f, "use csv, ssv, tsv, pipes or multi", "the collectionFormat %s is unknown; csv is used", quoteShort(f.str()))
		return operation.StyleCSV
	}
}

// defaultStyle is what an empty Param.Style means at a location.
func defaultStyle(in operation.Location) operation.Style {
	if in == operation.InPath || in == operation.InHeader {
		return operation.StyleSimple
	}
	return operation.StyleForm
}

// queryOfPath moves what a template has in its query to the query: /find?q={q}, whose q
// authors declare in: path.
func queryOfPath(t template, list []parameter) []parameter {
	for _, pair := range t.pairs {
		declared := slices.IndexFunc(list, func(p parameter) bool {
			return p.name == pair.name && (p.in == operation.InPath || p.in == operation.InQuery)
		})
		switch {
		case declared < 0:
			list = append(list, parameter{
				at: t.at, name: pair.wire, in: operation.InQuery, style: operation.StyleForm, explode: true, schema: &schema{at: t.at, types: operation.TypeString},
			})
		case list[declared].in == operation.InPath && !slices.Contains(t.names, pair.name):
			p := &list[declared]
			p.name, p.in, p.style, p.explode = pair.wire, operation.InQuery, operation.StyleForm, true
		}
	}
	return list
}

// pathParameters makes the declared path parameters agree with the template
// (rule 34).
func (c *compiler) pathParameters(e entry, t template, list []parameter) []parameter {
	list = queryOfPath(t, list)
	out := list[:0:0]
	for _, p := range list {
		if p.in == operation.InPath {
			if !slices.Contains(t.names, p.name) {
				c.warn(codeParamUnused, p.at, "add {"+cutText(p.name, 40)+"} to the path or remove the parameter",
					"path parameter %s is not in the path %s; it is left out", quoteShort(p.name), quoteShort(e.path))
				continue
			}
			if !p.required {
				c.warn(codeParamOptional, p.at, "write required: true", "path parameter %s is not required; a path has no optional parts, so it is", quoteShort(p.name))
				p.required = true
			}
		}
		out = append(out, p)
	}
	for i, name := range t.names {
		if slices.Contains(t.names[:i], name) || slices.ContainsFunc(out, func(p parameter) bool { return p.in == operation.InPath && p.name == name }) {
			continue
		}
		c.warnFor(name, codeParamUndeclared, e.at, "declare it with in: path", "path parameter %s is not declared; it is taken as a required string", quoteShort(name))
		s := &schema{at: e.at, types: operation.TypeString}
		out = append(out, parameter{at: e.at, name: name, in: operation.InPath, style: operation.StyleSimple, required: true, schema: s})
	}
	return out
}
