package operation

import (
	"slices"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

// Header is one header field of a request.
type Header struct {
	Name  string
	Value []byte // without control characters other than tab
}

// Request is what [Compiled.Build] makes. The caller owns it and may use it again
// after [Request.Reset]; its bytes are valid until then. It may hold the caller's
// secrets only as arguments. Not safe for concurrent use.
type Request struct {
	Method  string
	Target  []byte   // path and query, encoded, starts with "/"; relative to the server's URL
	Header  []Header // parameters in the plan's order; cookies are one "Cookie" field
	Accept  string
	HasBody bool
	// ContentType is the body's media type with its parameters.
	ContentType []byte
	Body        []byte
	// Healed counts arguments and members that were read as the type they should
	// have ("5" as 5).
	Healed int

	// Files fetches files that are given by URL. Default: nil, such arguments are
	// refused. It is the caller's and survives Reset.
	Files Files

	values  []jsonscan.Value // by slot
	headers []byte           // values of Header
	arena   []byte           // healed values
	text    []byte           // one scalar
	name    []byte           // one member name
	prefix  []byte           // deepObject name so far
	file    []byte           // a decoded file
	cookie  []byte           // the Cookie field
	builder builder          // of the Build under way; here, so that it is not allocated
	// boundary overrides the multipart boundary, for tests.
	boundary string
}

// Files fetches a file by URL. Implementations dial through internal/safedial and
// bound size and time.
type Files interface {
	// Fetch returns the file's bytes, its media type and a file name; the last two
	// may be empty. Its error is shown to the agent.
	Fetch(url string) (data []byte, mediaType, filename string, err error)
}

// maxKept is the capacity up to which buffers are kept for the next request: a
// file of megabytes must not stay in every pool.
const maxKept = 64 << 10

// Reset makes r empty and keeps its small buffers.
func (r *Request) Reset() {
	clear(r.values)
	clear(r.Header)
	r.Method, r.Accept, r.HasBody, r.Healed = "", "", false, 0
	r.Header = r.Header[:0]
	r.values = r.values[:0]
	for _, b := range [...]*[]byte{&r.Target, &r.ContentType, &r.Body, &r.headers, &r.arena, &r.text, &r.name, &r.prefix, &r.file, &r.cookie} {
		*b = small(*b)
	}
}

// builder is the state of one Build.
type builder struct {
	c    *Compiled
	r    *Request
	args jsonscan.Value
	form *compiledBody // the form of the body that is sent; nil: none
	err  *problem.Error
}

// fail keeps the first error.
func (b *builder) fail(arg, format string, args ...any) {
	if b.err == nil {
		b.err = problem.New(problem.InvalidArguments, format, args...).At("", 0, 0, "/"+pointerEscape(arg))
	}
}

// Build makes the request for args, a JSON object that [Compiled.Check] accepted
// (on others the result is well formed, but may not be what was meant). It resets r
// first and keeps args only until it returns. It fails with
// [problem.InvalidArguments] when a value cannot be on the wire: a required one is
// missing, a path value is empty, "." or "..", a header or cookie has characters
// that would end it, a file cannot be decoded. After warm-up it allocates nothing
// for requests without files.
func (c *Compiled) Build(r *Request, args jsonscan.Value) error {
	r.Reset()
	r.Method, r.Accept = c.plan.Method, c.plan.Accept
	r.builder = builder{c: c, r: r, args: args}
	b := &r.builder
	defer func() { r.builder = builder{} }()
	b.bind(args)
	b.form = c.chosen(func(slot int16) bool { return r.values[slot].Exists() })
	b.target()
	b.fields()
	b.body()
	if b.err != nil {
		return b.err
	}
	return nil
}

// bind puts the arguments into their slots; null where it means "not given" stays
// out.
func (b *builder) bind(args jsonscan.Value) {
	n := len(b.c.args)
	if cap(b.r.values) < n {
		b.r.values = make([]jsonscan.Value, n)
	}
	b.r.values = b.r.values[:n]
	for it := args.Members(); it.Next(); {
		if i := b.c.find(&it); i >= 0 {
			b.r.values[i] = it.Value()
		}
	}
	for i := range b.c.args {
		if a := &b.c.args[i]; a.nullAbsent && b.r.values[i].Kind() == jsonscan.Null {
			b.r.values[i] = jsonscan.Value{}
		}
	}
}

// value is the argument or constant of a parameter or field.
func (b *builder) value(slot int16, constant string) jsonscan.Value {
	if slot >= 0 {
		return b.r.values[slot]
	}
	// A constant is validated by Compile. The conversion would allocate if it were
	// not copied into the arena.
	start := len(b.r.arena)
	b.r.arena = append(b.r.arena, constant...)
	return jsonscan.Trusted(b.r.arena[start:])
}

// param is the value of parameter i, healed at its top.
func (b *builder) param(i int) (p *Param, v jsonscan.Value) {
	p = &b.c.plan.Params[i]
	v = b.value(b.c.paramArg[i], p.Const)
	switch v.Kind() {
	case jsonscan.Missing, jsonscan.Null:
		return p, jsonscan.Value{}
	case jsonscan.String:
		if t := typesOf(p.Schema); t&TypeString == 0 && t&(TypeArray|TypeObject) != 0 {
			v = b.heal(p.Schema, v)
		}
	}
	return p, v
}

// arg is the name of a parameter for messages.
func (p *Param) arg() string {
	if p.Arg != "" {
		return p.Arg
	}
	return p.Name
}

func (b *builder) target() {
	b.path()
	b.r.Target = append(b.r.Target, '?')
	q := pairs{b: b, dst: b.r.Target, sep: "&", esc: escStrict}
	if b.c.plan.Query != "" {
		q.dst = append(q.dst, b.c.plan.Query...)
		q.some = true
	}
	for i := range b.c.plan.Params {
		switch b.c.plan.Params[i].In {
		case InQuery:
			p, v := b.param(i)
			b.queryParam(&q, p, v)
		case InQueryString:
			p, v := b.param(i)
			b.queryString(&q, p, v)
		}
	}
	if !q.some {
		q.dst = q.dst[:len(q.dst)-1]
	}
	b.r.Target = q.dst
}

// path writes the path. Each value stays inside its segment: a slash is encoded,
// and a segment that would be empty, "." or ".." is refused, because servers and
// proxies resolve those before they route.
func (b *builder) path() {
	dst := b.r.Target
	start, dynamic, last := 0, false, ""
	check := func() {
		if seg := dst[start:]; dynamic && (len(seg) == 0 || string(seg) == "." || string(seg) == "..") {
			b.fail(last, "a path value must not be empty, %q or %q: it would change the path", ".", "..")
		}
	}
	for _, s := range b.c.path {
		if s.param < 0 {
			lit := s.literal
			for lit != "" {
				i := 0
				for i < len(lit) && lit[i] != '/' {
					i++
				}
				dst = append(dst, lit[:i]...)
				if i == len(lit) {
					break
				}
				check()
				dst = append(dst, '/')
				start, dynamic = len(dst), false
				lit = lit[i+1:]
			}
			continue
		}
		p, v := b.param(int(s.param))
		last, dynamic = p.arg(), true
		dst = b.pathParam(dst, p, v)
	}
	check()
	b.r.Target = dst
}

func (b *builder) pathParam(dst []byte, p *Param, v jsonscan.Value) []byte {
	e := escStrict
	if p.AllowReserved {
		e = escReservedPath
	}
	if p.Content != "" {
		n := len(dst)
		if dst = b.appendContent(dst, p, v, e); len(dst) == n {
			b.fail(p.arg(), "a path value must not be empty")
		}
		return dst
	}
	l := list{b: b, schema: p.Schema, nested: p.Nested, esc: e, delim: delimiter(p.Style, e)}
	switch p.Style {
	case StyleLabel:
		l.lead, l.delim = ".", ","
		if p.Explode {
			l.delim = "."
		}
	case StyleMatrix:
		l.delim = ","
		l.matrix = p.Name
	}
	l.explode = p.Explode
	n := len(dst)
	dst = l.append(dst, v)
	if len(dst) == n {
		b.fail(p.arg(), "a path value must not be empty")
	}
	return dst
}

// fields writes headers and cookies.
func (b *builder) fields() {
	cookies := pairs{b: b, dst: b.r.cookie, sep: "; "}
	for i := range b.c.plan.Params {
		switch b.c.plan.Params[i].In {
		case InHeader:
			if p, v := b.param(i); !undefined(v) {
				b.header(p, v)
			}
		case InCookie:
			if p, v := b.param(i); !undefined(v) {
				b.addCookie(&cookies, p, v)
			}
		}
	}
	b.r.cookie = cookies.dst
	if cookies.some {
		b.r.Header = append(b.r.Header, Header{Name: "Cookie", Value: cookies.dst})
	}
}

func (b *builder) header(p *Param, v jsonscan.Value) {
	start := len(b.r.headers)
	if p.Content != "" {
		b.r.headers = b.appendContent(b.r.headers, p, v, escNone)
	} else {
		l := list{b: b, schema: p.Schema, nested: p.Nested, esc: escNone, delim: delimiter(p.Style, escNone), explode: p.Explode}
		b.r.headers = l.append(b.r.headers, v)
	}
	value := b.r.headers[start:]
	if !isHeaderValue(value) {
		b.fail(p.arg(), "a header value must not have line breaks or control characters")
		return
	}
	b.r.Header = append(b.r.Header, Header{Name: p.Name, Value: slices.Clip(value)})
}

func (b *builder) addCookie(c *pairs, p *Param, v jsonscan.Value) {
	c.esc, c.nameEsc, c.cookie = escStrict, escStrict, ""
	if p.Content != "" {
		c.pair(p.Name)
		c.dst = b.appendContent(c.dst, p, v, escStrict)
		return
	}
	if p.Style == StyleCookie { // 3.2: verbatim
		c.esc, c.nameEsc, c.cookie = escNone, escNone, p.arg()
	}
	c.style(p.Name, StyleForm, p.Explode, p.Schema, nil, v)
}
