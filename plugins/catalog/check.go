package catalog

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluicegate/sluice/internal/nearest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/strictjson"
	"github.com/sluicegate/sluice/internal/textfilter"
	"github.com/sluicegate/sluice/plugins/engine"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// Bounds of the members of an entry, in characters or items.
const (
	maxID          = 63
	maxName        = 80
	maxText        = 300
	maxDescription = 1024
	maxURL         = 500
	maxAuth        = 8
	// maxTools is what VS Code and the OpenAI API take in a request.
	maxTools     = 128
	maxExamples  = 10
	maxAsks      = 32 // what the selection looks at of a tool without its training on many examples
	maxExample   = 100
	maxUseCases  = 16
	maxScopes    = 30
	maxFixed     = 16
	maxArguments = 64 // arguments that a tool lists
	maxTexts     = 64 // descriptions of arguments of an entry or a tool
	maxValues    = 8  // asked for when an entry is added
)

var (
	idPattern   = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	toolPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)

	// schemeWithoutSpace is the scheme of an Authorization header (RFC 9110, section 11.4) alone.
	schemeWithoutSpace = regexp.MustCompile(`^[A-Za-z0-9-]+$`)
)

// faults collects what is wrong with an entry.
type faults struct {
	file  string
	line  func(pointer string) int
	parts []*problem.Error
}

// add notes a fault that says by itself what to do.
func (f *faults) add(at, format string, args ...any) { f.fix("", at, format, args...) }

// fix notes a fault, and what to do about it.
func (f *faults) fix(remedy, at, format string, args ...any) {
	p := problem.New(problem.InvalidArgument, format, args...).At(f.file, f.line(at), 0, at)
	p.Remedy = remedy
	f.parts = append(f.parts, p)
}

// near asks whether another name was meant; "": none is close.
func near(name string, names []string) string {
	if n := nearest.Name(name, slices.Values(names)); n != "" {
		return "did you mean " + n + "?"
	}
	return ""
}

// text checks a text of one paragraph that people and models read.
func (f *faults) text(at, s string, most int, needed bool) {
	n := utf8.RuneCountInString(s)
	switch {
	case s == "" && needed:
		f.add(at, "a text is missing")
	case n > most:
		f.add(at, "the text has %d characters, the limit is %d", n, most)
	case strings.TrimSpace(s) != s:
		f.add(at, "the text has white space at its ends")
	case strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) || textfilter.Clean(s) != s:
		f.add(at, "the text has line breaks, control characters or characters that nobody sees")
	}
	if found := textfilter.Find(s); len(found) > 0 {
		f.add(at, "the text is written to command a model (%s): %.80q", found[0].Kind, found[0].Quote)
	}
}

// count checks the length of a list.
func (f *faults) count(at string, n, most int) {
	if n > most {
		f.add(at, "there are %d items, the limit is %d", n, most)
	}
}

// address checks a URL of an entry. What an entry names is dialed by whoever adds it: an
// entry must not lead a node to itself or its network. Names that resolve to such
// addresses are refused when they are dialed.
func (f *faults) address(at, s string) {
	u, err := url.Parse(s)
	switch {
	case len(s) > maxURL:
		f.add(at, "the address has %d bytes, the limit is %d", len(s), maxURL)
	case err != nil || u.Scheme != "https" || u.Host == "" || u.Opaque != "":
		f.fix(ownServer, at, "the address is not an https URL")
	case u.User != nil:
		f.add(at, "the address holds credentials")
	case u.Fragment != "" && (strings.HasPrefix(at, "/source") || strings.HasPrefix(at, "/base")): // of a page it is a place on it
		f.add(at, "the address has a fragment")
	case !public(u.Hostname()):
		f.fix(ownServer, at, "the host %.80q is not a public name", u.Hostname())
	}
}

// ownServer is what to do about a server that not everybody reaches.
const ownServer = "an entry names public servers with https; where each user has their own, write base: {ask: the address of …}, and add a server of your network with: sluice add URL"

// public reports whether a host is a name with a dot that no resolver keeps for the
// machine or the network itself.
func public(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if _, err := netip.ParseAddr(host); err == nil || !strings.Contains(host, ".") {
		return false
	}
	// A last label of digits, or one that begins with 0x, is read as an IPv4 address by
	// some resolvers: 127.1, 0x7f.1, 2130706433.
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == "" || last[0] >= '0' && last[0] <= '9' {
		return false
	}
	return !slices.Contains([]string{"localhost", "local", "localdomain", "internal", "intranet", "lan", "home", "corp", "test", "invalid", "onion"}, last) &&
		!strings.HasSuffix(host, ".home.arpa")
}

func (e *Entry) check(f *faults) {
	if e.FormatVersion != FormatVersion {
		f.add("/formatVersion", "the format is %d, and this is version %d of it", e.FormatVersion, FormatVersion)
	}
	if len(e.ID) > maxID || !idPattern.MatchString(e.ID) {
		f.fix("write it as acme-crm", "/id", "the id %.80q is not made of lower-case letters, digits and single hyphens", e.ID)
	}
	f.text("/name", e.Name, maxName, true)
	f.text("/summary", e.Summary, maxText, true)
	f.text("/instructions", e.Instructions, maxDescription, false)
	f.texts("/texts", e.Texts)
	if !slices.Contains(Categories, e.Category) {
		f.fix(near(e.Category, Categories), "/category", "the category %.80q is none of %s", e.Category, strings.Join(Categories, ", "))
	}
	f.address("/homepage", e.Homepage)
	f.address("/documentation", e.Documentation)
	e.checkSource(f)
	f.count("/authentication", len(e.Authentication), maxAuth)
	if e.Authentication == nil {
		f.fix("write how calls are authenticated, or [] where they are not", "/authentication", "the member is missing")
	}
	for i := range e.Authentication {
		e.Authentication[i].check(f, fmt.Sprintf("/authentication/%d", i), e.Kind())
	}
	f.count("/values", len(e.Values), maxValues)
	for name, ask := range e.Values {
		where := "/values/" + strictjson.EscapeToken(name)
		f.text(where, name, maxName, true)
		f.text(where, ask, maxText, true)
	}
	e.checkTools(f)
	e.checkUseCases(f)
	e.checkWorkflows(f)
	if v := e.Verified; v != nil {
		f.text("/verified/version", v.Version, maxName, true)
		if v.GeneratedTokens <= 0 || v.Tokens <= 0 {
			f.add("/verified", "the tokens that were measured are numbers from 1 on")
		}
		if v.Answered < 0 || v.Answered > v.Questions {
			f.add("/verified", "of %d questions %d cannot have been answered", v.Questions, v.Answered)
		}
	}
}

func (e *Entry) checkSource(f *faults) {
	switch s := e.Source; {
	case (s.OpenAPI == nil) == (s.MCP == nil):
		f.add("/source", "a source is exactly one of openapi and mcp")
	case s.OpenAPI != nil:
		f.address("/source/openapi/url", s.OpenAPI.URL)
		f.text("/source/openapi/found", s.OpenAPI.Found, maxText, true)
	default:
		f.address("/source/mcp/url", s.MCP.URL)
		f.text("/source/mcp/found", s.MCP.Found, maxText, true)
	}
	// A key goes where the entry says, and not where a document says that was read a moment
	// ago and may have been changed.
	switch b := e.Base; {
	case b == nil && e.Kind() == KindOpenAPI && len(e.Authentication) > 0:
		f.add("/base", "an entry of an API that wants a key says where calls are sent")
	case b == nil:
	case (b.URL == "") == (b.Ask == ""):
		f.add("/base", "base is exactly one of url and ask")
	case b.URL != "":
		f.address("/base/url", b.URL)
	default:
		f.text("/base/ask", b.Ask, maxText, true)
	}
}

func (a *EntryAuth) check(f *faults, at, kind string) {
	s := &a.Settings
	needed := map[string]*string{"header": &s.HeaderName, "query": &s.ParameterName, "cookie": &s.CookieName, "body": &s.MemberName}
	if !slices.Contains([]string{"header", "query", "cookie", "body", "bearer", "basic", "oauth"}, s.AuthType) {
		f.add(at+"/settings/authType", "authType %.40q is none of header, query, cookie, body, bearer, basic, oauth", s.AuthType)
	}
	if s.AuthType == "oauth" && kind != KindMCP {
		f.add(at+"/settings/authType", "oauth is the login of an MCP server")
	}
	for authType, name := range needed {
		member := map[string]string{"header": "headerName", "query": "parameterName", "cookie": "cookieName", "body": "memberName"}[authType]
		if (authType == s.AuthType) != (*name != "") {
			f.add(at+"/settings/"+member, "%s belongs to authType %s, and to that only", member, authType)
		}
		f.text(at+"/settings/"+member, *name, maxName, false)
	}
	if s.HeaderPrefix != "" && s.AuthType != "header" {
		f.add(at+"/settings/headerPrefix", "headerPrefix belongs to authType header, and to that only")
	}
	if s.Username != "" && s.AuthType != "basic" {
		f.add(at+"/settings/username", "username belongs to authType basic, and to that only")
	}
	if schemeWithoutSpace.MatchString(s.HeaderPrefix) && strings.EqualFold(s.HeaderName, "Authorization") {
		f.fix(fmt.Sprintf("end the prefix with a space: %.40q", s.HeaderPrefix+" "), at+"/settings/headerPrefix", "the key follows the prefix directly: the header would be %.40sKEY", s.HeaderPrefix)
	}
	f.text(at+"/settings/headerPrefix", strings.TrimSuffix(s.HeaderPrefix, " "), maxName, false)
	f.text(at+"/settings/username", s.Username, maxName, false)
	f.text(at+"/settings/scheme", s.Scheme, maxName, false)
	f.text(at+"/key", a.Key, maxText, true)
	if a.KeyURL != "" {
		f.address(at+"/keyUrl", a.KeyURL)
	}
	f.count(at+"/readOnly", len(a.ReadOnly), maxScopes)
	for i, scope := range a.ReadOnly {
		f.text(fmt.Sprintf("%s/readOnly/%d", at, i), scope, maxText, true)
	}
}

func (e *Entry) checkTools(f *faults) {
	f.count("/tools", len(e.Tools), maxTools)
	if len(e.Tools) == 0 && e.Kind() == KindOpenAPI {
		f.add("/tools", "an entry of an API names the tools that are worth having")
	}
	names, operations := map[string]bool{}, map[string]bool{}
	for i := range e.Tools {
		t, at := &e.Tools[i], fmt.Sprintf("/tools/%d", i)
		t.check(f, at, e.Kind())
		if name := strings.ToLower(t.Name); names[name] {
			f.add(at+"/name", "two tools are named %.80q", t.Name)
		} else {
			names[name] = true
		}
		if operations[t.Operation] {
			f.add(at+"/operation", "two tools are of %.200q", t.Operation)
		}
		operations[t.Operation] = true
	}
}

func (t *EntryTool) check(f *faults, at, kind string) {
	method, path := t.Method(), t.Path()
	if !slices.Contains(methods, method) || !strings.HasPrefix(path, "/") || len(t.Operation) > maxURL || (method == manifest.MethodMCP) != (kind == KindMCP) {
		f.add(at+"/operation", "the operation %.200q is not a method and a path, such as GET /users; of an MCP server it is MCP and /NAME", t.Operation)
	}
	f.text(at+"/operationId", t.OperationID, maxText, false)
	if !toolPattern.MatchString(t.Name) {
		f.add(at+"/name", "the name %.80q must start with a letter or _ and have at most 64 letters, digits, _ and -", t.Name)
	}
	f.text(at+"/title", t.Title, maxName, false)
	f.text(at+"/description", t.Description, maxDescription, kind == KindOpenAPI)
	f.count(at+"/examples", len(t.Examples), maxExamples)
	for i, example := range t.Examples {
		f.text(fmt.Sprintf("%s/examples/%d", at, i), example, maxExample, true)
	}
	f.count(at+"/asks", len(t.Asks), maxAsks)
	for i, ask := range t.Asks {
		f.text(fmt.Sprintf("%s/asks/%d", at, i), ask, maxExample, true)
		if i > 0 && slices.Contains(t.Asks[:i], ask) || slices.Contains(t.Examples, ask) {
			f.add(fmt.Sprintf("%s/asks/%d", at, i), "%.80q is there twice", ask)
		}
	}
	f.count(at+"/fixed", len(t.Fixed), maxFixed)
	f.count(at+"/arguments", len(t.Arguments), maxArguments)
	for i, name := range t.Arguments {
		f.text(fmt.Sprintf("%s/arguments/%d", at, i), name, maxName, true)
	}
	f.texts(at+"/texts", t.Texts)
	if a := t.Answers; a != nil {
		a.check(f, at+"/answers")
	}
}

// texts checks descriptions of arguments.
func (f *faults) texts(at string, texts map[string]string) {
	f.count(at, len(texts), maxTexts)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		where := at + "/" + strictjson.EscapeToken(name)
		f.text(where, name, maxName, true)
		f.text(where, texts[name], maxText, false)
	}
}

func (a *EntryAnswers) check(f *faults, at string) {
	for _, p := range []struct {
		member, text string
		read         func(string) error
	}{
		{"/fields", a.Fields, func(s string) error { _, err := engine.ParseMask(s); return err }},
		{"/where", a.Where, func(s string) error { _, err := engine.ParseWhere(s); return err }},
	} {
		if p.text == "" {
			continue
		}
		if err := p.read(p.text); err != nil {
			f.add(at+p.member, "%.200s", err.Error())
		}
	}
	if a.Rows != "" && a.Where == "" && a.Limit == 0 {
		f.add(at+"/rows", "rows has no meaning without where or limit")
	}
}

func (e *Entry) checkUseCases(f *faults) {
	f.count("/useCases", len(e.UseCases), maxUseCases)
	names := make([]string, len(e.Tools))
	for i := range e.Tools {
		names[i] = e.Tools[i].Name
	}
	seen := map[string]bool{}
	for i := range e.UseCases {
		u, at := &e.UseCases[i], fmt.Sprintf("/useCases/%d", i)
		if len(u.ID) > maxID || !idPattern.MatchString(u.ID) || seen[u.ID] {
			f.add(at+"/id", "the id %.80q is not made of lower-case letters, digits and single hyphens, or is there twice", u.ID)
		}
		seen[u.ID] = true
		f.text(at+"/summary", u.Summary, maxText, true)
		if len(u.Tools) == 0 {
			f.add(at+"/tools", "a use case names its tools")
		}
		f.count(at+"/tools", len(u.Tools), maxTools)
		for k, name := range u.Tools {
			if !slices.Contains(names, name) {
				f.fix(near(name, names), fmt.Sprintf("%s/tools/%d", at, k), "the entry has no tool %.80q", name)
			}
		}
	}
}

// CheckPart checks what a toolset keeps of an entry that it was made of: the entry without
// category, summary, use cases and golden answers, with some of its tools. Steps of workflows are
// not looked at. The fault is a *[problem.Error].
func (e *Entry) CheckPart() error {
	c := *e
	c.Category, c.Summary, c.UseCases, c.Workflows, c.Golden, c.Verified = Categories[0], c.Name, nil, nil, nil, nil
	f := faults{line: func(string) int { return 0 }}
	if c.check(&f); len(f.parts) > 0 {
		p := problem.New(problem.InvalidArgument, "the entry is not valid")
		p.Parts = f.parts
		return p
	}
	return nil
}
