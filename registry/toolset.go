package registry

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// Bounds of a toolset. A bundle is loaded by every edge, so each list and text
// has an end.
const (
	// MaxToolsetBytes is the size of a toolset document: 4,096 edits of 1 KB.
	MaxToolsetBytes = 4 << 20
	// MaxConnectors of one toolset. Clients fail with far fewer tools than 64
	// connectors bring.
	MaxConnectors = 64
	// MaxToolEdits of one toolset: every operation of the largest known
	// specifications (about 1,100) a few times over.
	MaxToolEdits = 4096
	// MaxNameRunes of a display name or title.
	MaxNameRunes = 200
	// MaxDescriptionRunes of the description of a toolset or a tool.
	MaxDescriptionRunes = 16 << 10
	// MaxInstructionsRunes of the text a client receives at initialize.
	MaxInstructionsRunes = 32 << 10
	// MaxSlugBytes keeps <slug> one DNS label.
	MaxSlugBytes = 63
	// MaxURLBytes of a base URL.
	MaxURLBytes = 2048
	// MaxCacheSeconds an answer may be kept: a day.
	MaxCacheSeconds = 24 * 60 * 60
)

// Toolset is what a toolset URL serves: connectors, edits of their tools, and
// how calls are treated. It is stored in a bundle and never holds a secret.
type Toolset struct {
	Workspace    string         `json:"workspace"`              // owner: a slug
	ID           string         `json:"id"`                     // stable identifier, [A-Za-z0-9_-], ≤ 64
	Slug         string         `json:"slug"`                   // last part of the URL /t/<slug>
	Name         string         `json:"name"`                   // for people
	Description  string         `json:"description,omitempty"`  // for people
	Instructions string         `json:"instructions,omitempty"` // for the model, sent at initialize
	Connectors   []ConnectorRef `json:"connectors"`             // at least one; names are unique
	Tools        []ToolEdit     `json:"tools,omitempty"`        // edits; a tool without one is served as generated
	Profile      string         `json:"profile,omitempty"`      // ProfileOff, ProfileLossless, ProfileConcise. Default: lossless
	Cache        *CachePolicy   `json:"cache,omitempty"`        // nil: answers are not cached
	Plugins      []PluginRef    `json:"plugins,omitempty"`      // third parties', in the order they run
	Workflows    []Workflow     `json:"workflows,omitempty"`    // documents that are tools, behind those of plugins
	ScriptLimits *ScriptLimits  `json:"scriptLimits,omitempty"` // nil: the defaults
	Access       Access         `json:"access"`                 // who may open the URL
	Answers      *Answers       `json:"answers,omitempty"`      // nil: nothing beyond the profile
	Selection    *Selection     `json:"selection,omitempty"`    // nil: every enabled tool is listed
}

// Profiles of answers: as received; smaller without loss; smaller with declared loss.
const (
	ProfileOff      = "off"
	ProfileLossless = "lossless"
	ProfileConcise  = "concise"
)

// EffectiveProfile is Profile with its default applied.
func (t *Toolset) EffectiveProfile() string {
	if t.Profile == "" {
		return ProfileLossless
	}
	return t.Profile
}

// ConnectorRef binds one connector, by content, into a toolset.
type ConnectorRef struct {
	Name       string     `json:"name"`              // name inside the toolset, unique, a slug
	Repository string     `json:"repository"`        // OCI repository, <workspace>/connectors/<name>
	Manifest   Digest     `json:"manifest"`          // digest of the OCI manifest
	Digest     Digest     `json:"digest"`            // digest of the module (the manifest's layer)
	BaseURL    string     `json:"baseUrl,omitempty"` // replaces the specification's servers; "": the first of them
	Auth       *AuthShape `json:"auth,omitempty"`    // nil: no credential
	// Answers are the settings of this connector's tools; nil: those of the toolset.
	Answers *Answers `json:"answers,omitempty"`
	// Fixed are the values of arguments that the model does not see, of each tool that
	// takes an argument of that name; "body.member" is a member of the argument body.
	Fixed Fixed `json:"fixed,omitempty"`
	// Stateless is the operator's word that this MCP server keeps nothing of a caller
	// between calls: all callers of the toolset with the same credential share a session.
	// false: callers share one only at a server that gives no session.
	Stateless bool `json:"stateless,omitempty"`
	// Local says that this MCP server is a command of the node that made the release:
	// edges leave the toolset out.
	Local bool `json:"local,omitempty"`
}

// Local reports whether a connector of the toolset is a command of one node.
func (t *Toolset) Local() bool {
	return slices.ContainsFunc(t.Connectors, func(c ConnectorRef) bool { return c.Local })
}

// PrefixedName returns the name of a tool whose own name is taken by another tool of the
// toolset: the connector's name and the tool's, followed by a number while taken reports
// true for the result. It is a valid tool name when tool is one.
func PrefixedName(connector, tool string, taken func(name string) bool) string {
	base := strings.ReplaceAll(connector, "-", "_") + "_" + tool
	if c := base[0]; c >= '0' && c <= '9' {
		base = "_" + base // names start with a letter or _
	}
	name := base[:min(len(base), maxToolName)]
	for n := 2; taken(name); n++ {
		suffix := fmt.Sprintf("_%d", n)
		name = base[:min(len(base), maxToolName-len(suffix))] + suffix
	}
	return name
}

// maxToolName is the longest tool name that clients and model APIs accept.
const maxToolName = 64

// ToolEdit changes one generated tool. It is keyed by connector and operation,
// never by our tool name, so a refreshed specification keeps its edits.
type ToolEdit struct {
	Connector   string  `json:"connector"`             // ConnectorRef.Name
	Method      string  `json:"method"`                // upper case
	Path        string  `json:"path"`                  // path template as in the specification
	Name        *string `json:"name,omitempty"`        // new tool name; nil keeps the generated one
	Title       *string `json:"title,omitempty"`       // new title; nil keeps it
	Description *string `json:"description,omitempty"` // new description; nil keeps it
	Disabled    bool    `json:"disabled,omitempty"`    // true: not listed and not callable
	// Answers are the settings of this tool; nil: those of the toolset.
	Answers *Answers `json:"answers,omitempty"`
	// Annotations are what the operator says of what the tool does; nil: as generated.
	Annotations *AnnotationEdit `json:"annotations,omitempty"`
	// Fixed are the values of arguments that the model does not see, over those of the
	// connector.
	Fixed Fixed `json:"fixed,omitempty"`
	// Arguments are those that clients list besides the required ones, body.member being
	// a member of the argument body, body.rows.member one of the objects in its list rows;
	// empty: all. What is not listed is not refused.
	Arguments []string `json:"arguments,omitempty"`
	// Texts are the descriptions of arguments, named like those of Arguments, instead of
	// the generated ones; "": the argument has none.
	Texts map[string]string `json:"argumentTexts,omitempty"`
}

// CachePolicy keeps answers of safe methods.
type CachePolicy struct {
	TTLSeconds int `json:"ttlSeconds"` // 1 to MaxCacheSeconds
}

// Access says who may open the toolset URL where the release names no access
// document, which is what usually decides.
type Access struct {
	Mode string `json:"mode"` // AccessNone; AccessToken and AccessJWT: nobody, until there is a document
}

var (
	toolNamePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)
	methodPattern   = regexp.MustCompile(`^[A-Z][A-Z0-9_-]{0,31}$`)
	// RFC 9110 §5.6.2
	headerPattern = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$")
)

// maxIDBytes of an identifier; ours have 26 characters behind a prefix.
const maxIDBytes = 64

// maxRepositoryBytes is what clients of the distribution specification accept
// for a whole reference.
const maxRepositoryBytes = 255

// ValidSlug reports whether s may be a workspace, a slug or the name of a
// connector in a toolset: lower-case letters, digits and inner hyphens, ≤ 63 bytes.
func ValidSlug(s string) bool {
	if s == "" || len(s) > MaxSlugBytes || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// validID reports whether s may be an identifier: 1 to 64 letters, digits,
// underscores and hyphens.
func validID(s string) bool {
	if s == "" || len(s) > maxIDBytes {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// ValidRepository reports whether s is an OCI repository name of at most 255 bytes.
func ValidRepository(s string) bool {
	if len(s) > maxRepositoryBytes {
		return false
	}
	for part := range strings.SplitSeq(s, "/") {
		if !validComponent(part) {
			return false
		}
	}
	return true
}

// validComponent: lower-case letters and digits, with one dot, one or two underscores
// or any hyphens between them (OCI Distribution Specification 1.1 "Pulling manifests").
func validComponent(s string) bool {
	alnum := func(i int) bool {
		return i >= 0 && i < len(s) && (s[i] >= 'a' && s[i] <= 'z' || s[i] >= '0' && s[i] <= '9')
	}
	for i := 0; i < len(s); {
		if alnum(i) {
			i++
			continue
		}
		c, n := s[i], 0
		for ; i+n < len(s) && s[i+n] == c; n++ {
		}
		if c != '.' && c != '_' && c != '-' || c == '.' && n > 1 || c == '_' && n > 2 || !alnum(i-1) || !alnum(i+n) {
			return false
		}
		i += n
	}
	return s != ""
}

// Validate reports every fault of t as one *problem.Error of kind
// [problem.InvalidArgument] whose Parts name the JSON pointers; nil when there is none.
func (t *Toolset) Validate() error {
	f := &faults{kind: problem.InvalidArgument}
	f.check(ValidSlug(t.Workspace), "/workspace", "workspace %.80q is not a slug", t.Workspace)
	f.check(validID(t.ID), "/id", "id %.80q is not an identifier", t.ID)
	f.check(ValidSlug(t.Slug), "/slug", "slug %.80q must be 1 to 63 lower-case letters, digits and inner hyphens", t.Slug)
	f.text("/name", t.Name, 1, MaxNameRunes)
	f.text("/description", t.Description, 0, MaxDescriptionRunes)
	f.text("/instructions", t.Instructions, 0, MaxInstructionsRunes)
	switch t.Profile {
	case "", ProfileOff, ProfileLossless, ProfileConcise:
	default:
		f.add("/profile", "profile %.80q is none of off, lossless, concise", t.Profile)
	}
	if t.Cache != nil {
		f.check(t.Cache.TTLSeconds >= 1 && t.Cache.TTLSeconds <= MaxCacheSeconds, "/cache/ttlSeconds",
			"%d s is not between 1 and %d", t.Cache.TTLSeconds, MaxCacheSeconds)
	}
	f.check(validMode(t.Access.Mode), "/access/mode", "access mode %.80q is not known", t.Access.Mode)
	if t.Answers != nil {
		t.Answers.validate(f, "/answers", OfToolset)
	}
	names := t.validateConnectors(f)
	t.validateEdits(f, names)
	t.validatePlugins(f, names)
	t.validateWorkflows(f, names)
	if t.Selection != nil {
		t.Selection.validate(f, names)
	}
	return f.err("toolset %.80q is not valid", t.Slug)
}

func (t *Toolset) validateConnectors(f *faults) map[string]bool {
	f.check(len(t.Connectors) >= 1 && len(t.Connectors) <= MaxConnectors, "/connectors",
		"%d connectors is not between 1 and %d", len(t.Connectors), MaxConnectors)
	names := make(map[string]bool, len(t.Connectors))
	for i := range t.Connectors {
		c, at := &t.Connectors[i], fmt.Sprintf("/connectors/%d", i)
		f.check(ValidSlug(c.Name), at+"/name", "connector name %.80q is not a slug", c.Name)
		f.check(!names[c.Name], at+"/name", "connector name %.80q is used twice", c.Name)
		names[c.Name] = true
		f.check(ValidRepository(c.Repository), at+"/repository", "%.80q is not a repository name", c.Repository)
		f.check(c.Manifest.Valid(), at+"/manifest", "%.80q is not a sha256 digest", string(c.Manifest))
		f.check(c.Digest.Valid(), at+"/digest", "%.80q is not a sha256 digest", string(c.Digest))
		if c.BaseURL != "" {
			if why := baseURLFault(c.BaseURL); why != "" {
				f.add(at+"/baseUrl", "base URL %s", why)
			}
		}
		if c.Auth != nil {
			c.Auth.validate(f, at+"/auth", true)
		}
		if c.Answers != nil {
			c.Answers.validate(f, at+"/answers", OfConnector)
		}
		c.Fixed.validate(f, at+"/fixed")
	}
	return names
}

func (t *Toolset) validateEdits(f *faults, connectors map[string]bool) {
	f.check(len(t.Tools) <= MaxToolEdits, "/tools", "%d edits are more than %d", len(t.Tools), MaxToolEdits)
	type key struct{ connector, method, path string }
	seen := make(map[key]bool, len(t.Tools))
	for i := range t.Tools {
		if f.full() {
			return
		}
		e, at := &t.Tools[i], fmt.Sprintf("/tools/%d", i)
		f.check(connectors[e.Connector], at+"/connector", "the toolset has no connector %.80q", e.Connector)
		f.check(methodPattern.MatchString(e.Method), at+"/method", "%.80q is not an upper-case method", e.Method)
		f.check(strings.HasPrefix(e.Path, "/") && len(e.Path) <= manifest.MaxPath && utf8.ValidString(e.Path), at+"/path",
			"%.80q is not a path", e.Path)
		k := key{e.Connector, e.Method, e.Path}
		f.check(!seen[k], at, "%s %.80s of %.80s is edited twice", e.Method, e.Path, e.Connector)
		seen[k] = true
		if e.Name != nil {
			f.check(toolNamePattern.MatchString(*e.Name), at+"/name",
				"tool name %.80q must start with a letter or _ and have at most 64 letters, digits, _ and -", *e.Name)
		}
		if e.Title != nil {
			f.text(at+"/title", *e.Title, 0, MaxNameRunes)
		}
		if e.Description != nil {
			f.text(at+"/description", *e.Description, 0, MaxDescriptionRunes)
		}
		if e.Answers != nil {
			e.Answers.validate(f, at+"/answers", OfTool)
		}
		f.check(!e.Annotations.Contradicts(), at+"/annotations", "a tool that only reads cannot be destructive")
		e.Fixed.validate(f, at+"/fixed")
		validateArguments(f, e.Arguments, at+"/arguments")
		validateTexts(f, e.Texts, at+"/argumentTexts")
	}
}

// baseURLFault says what is wrong with a base URL, without repeating it: it may
// hold credentials. Empty when nothing is.
func baseURLFault(s string) string {
	if len(s) > MaxURLBytes {
		return fmt.Sprintf("is longer than %d bytes", MaxURLBytes)
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return "cannot be parsed"
	case u.Scheme != "http" && u.Scheme != "https":
		return "must start with http:// or https://"
	case u.Host == "" || u.Hostname() == "":
		return "has no host"
	case u.User != nil:
		return "must not hold credentials"
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "must not have a query or fragment"
	}
	return ""
}

func validFieldText(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

// validText reports whether s is UTF-8 of lo to hi runes without control
// characters other than tab and newline.
func validText(s string, lo, hi int) bool {
	if !utf8.ValidString(s) {
		return false
	}
	n := utf8.RuneCountInString(s)
	return n >= lo && n <= hi && !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r'
	})
}
