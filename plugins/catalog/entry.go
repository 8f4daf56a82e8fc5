package catalog

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/plugins/manifest"
)

// FormatVersion is the version of the format of entries.
const FormatVersion = 1

// Kinds of sources.
const (
	KindOpenAPI = "openapi"
	KindMCP     = "mcp"
)

// Categories that an entry may have, in the order of lists.
var Categories = []string{
	"ai", "commerce", "communication", "crm", "data", "development", "files", "finance", "infrastructure", "marketing", "media", "monitoring", "productivity", "support",
}

// Entry is one pre-built connector.
type Entry struct {
	FormatVersion int         `json:"formatVersion" doc:"1."`
	ID            string      `json:"id" doc:"Name of the file without .yaml." example:"github"`
	Name          string      `json:"name"`
	Category      string      `json:"category"`
	Summary       string      `json:"summary" doc:"What the service is, in a sentence."`
	Homepage      string      `json:"homepage"`
	Documentation string      `json:"documentation" doc:"Of the API."`
	Source        EntrySource `json:"source"`
	Base          *EntryBase  `json:"base,omitempty" doc:"Where calls and the key are sent. Absent, of an API without a key: where the specification says."`
	Instructions  string      `json:"instructions,omitempty" doc:"Of the toolset, for the model."`

	Values map[string]string `json:"values,omitempty" doc:"Arguments that have one value for all calls, such as the account of the key, and which value is meant. It is asked for when the entry is added, and the model does not see them." example:"{\"account\": \"number of your account\"}"`

	Texts map[string]string `json:"texts,omitempty" doc:"Descriptions of arguments instead of the vendor's, of each tool that lists one of that name. \"\": its name says it."`

	Authentication []EntryAuth     `json:"authentication" doc:"Ways to authenticate, the simplest first. Empty: none is needed."`
	Tools          []EntryTool     `json:"tools,omitempty" doc:"Worth having, the most used first. Absent, of an MCP server: all that it offers."`
	UseCases       []EntryUseCase  `json:"useCases,omitempty" doc:"Choices of tools for a purpose."`
	Workflows      *EntryWorkflows `json:"workflows,omitempty" doc:"The commonest jobs of several steps; they become tools of the toolset."`
	Golden         []EntryGolden   `json:"golden,omitempty" doc:"Answers that were made up, by which the entry is tested."`
	Verified       *EntryVerified  `json:"verified,omitempty" doc:"What was proven against the vendor's document. Absent: the entry is not verified."`
}

// EntrySource is where the document or the server is: exactly one of them.
type EntrySource struct {
	OpenAPI *EntryOpenAPI `json:"openapi,omitempty"`
	MCP     *EntryMCP     `json:"mcp,omitempty"`
}

// EntryOpenAPI is an OpenAPI document of the vendor.
type EntryOpenAPI struct {
	URL   string `json:"url"`
	Found string `json:"found" doc:"Where the vendor links to it, should it move."`
}

// EntryMCP is an MCP server of the vendor.
type EntryMCP struct {
	URL   string `json:"url"`
	Found string `json:"found" doc:"Where the vendor documents it, should it move."`
}

// EntryBase is where calls are sent.
type EntryBase struct {
	URL string `json:"url,omitempty" doc:"Absent: each customer has an address of their own, which is asked for."`
	Ask string `json:"ask,omitempty" doc:"Instead of url: which address is meant." example:"the address of your site, such as https://acme.atlassian.net"`
}

// EntryAuth is one way to authenticate.
type EntryAuth struct {
	Settings EntrySettings `json:"settings" doc:"Authentication configuration; only the secret is missing."`
	KeyURL   string        `json:"keyUrl,omitempty" doc:"Where a key is made."`
	Key      string        `json:"key" doc:"What the key is and how it is made." example:"a fine-grained personal access token"`
	ReadOnly []string      `json:"readOnly,omitempty" doc:"Scopes or permissions of the key that suffice for the tools that only read."`
}

// EntrySettings are members of an authentication configuration as the admin API has it.
type EntrySettings struct {
	AuthType      string `json:"authType" doc:"header, query, cookie, body, bearer, basic, or oauth: a login where the MCP server says."`
	Scheme        string `json:"scheme,omitempty" doc:"Security scheme of the specification."`
	HeaderName    string `json:"headerName,omitempty"`
	HeaderPrefix  string `json:"headerPrefix,omitempty"`
	ParameterName string `json:"parameterName,omitempty"`
	CookieName    string `json:"cookieName,omitempty"`
	MemberName    string `json:"memberName,omitempty"`
	Username      string `json:"username,omitempty" doc:"basic: the user name, where it is the same for everybody."`
}

// EntryTool is one operation that is worth having.
type EntryTool struct {
	Operation   string        `json:"operation" doc:"Method and path in the specification; MCP and /NAME of a tool of a server." example:"GET /repos/{owner}/{repo}/issues"`
	OperationID string        `json:"operationId,omitempty" doc:"That the specification gives it; steps of workflows name it."`
	Name        string        `json:"name" doc:"That agents see."`
	Title       string        `json:"title,omitempty"`
	Description string        `json:"description,omitempty" doc:"What it does, which inputs matter, what comes back. Absent: the vendor's."`
	Examples    []string      `json:"examples,omitempty" doc:"Requests in users' words that this tool serves; the selection finds it by them."`
	Asks        []string      `json:"asks,omitempty" doc:"More of them, in as many different words as users have for it. Only the selection sees them: clients do not, and they cost no tokens."`
	ReadOnly    bool          `json:"readOnly,omitempty" doc:"It only reads although its method may change something."`
	Answers     *EntryAnswers `json:"answers,omitempty" doc:"What is left of its answers."`

	Fixed map[string]json.RawMessage `json:"fixed,omitempty" doc:"Values of arguments that the model does not see."`

	Arguments []string `json:"arguments,omitempty" doc:"The arguments worth listing besides the required ones; body.member is a member of the argument body, body.rows.member one of the objects in its list rows. Absent: all."`

	Texts map[string]string `json:"texts,omitempty" doc:"Descriptions of its arguments, over those of the entry; names as in arguments."`
}

// EntryAnswers are settings of the answers of a tool, as the admin API has them.
type EntryAnswers struct {
	Fields      string `json:"fields,omitempty"`
	Rows        string `json:"rows,omitempty"`
	Where       string `json:"where,omitempty"`
	Limit       int    `json:"limit,omitempty"`
	MaxString   int    `json:"maxString,omitempty"`
	TokenBudget int    `json:"tokenBudget,omitempty"`
}

// EntryUseCase is a choice of the tools of an entry.
type EntryUseCase struct {
	ID      string   `json:"id"`
	Summary string   `json:"summary"`
	Tools   []string `json:"tools" doc:"By name."`
}

// EntryVerified is what was measured with the vendor's document.
type EntryVerified struct {
	Version         string `json:"version" doc:"info.version of the document."`
	GeneratedTokens int    `json:"generatedTokens" doc:"Tokens of tools/list with the same operations as they are generated."`
	Tokens          int    `json:"tokens" doc:"Tokens of tools/list of the entry."`
	Questions       int    `json:"questions,omitempty" example:"12" doc:"Asked of recorded answers of its operations. Absent: answers are not measured."`
	Answered        int    `json:"answered,omitempty" example:"12" doc:"Of these, those that can be answered from what an agent reads."`
}

// Kind is what the source of the entry is.
func (e *Entry) Kind() string {
	if e.Source.MCP != nil {
		return KindMCP
	}
	return KindOpenAPI
}

// URL is where the document or the server is.
func (e *Entry) URL() string {
	if e.Source.MCP != nil {
		return e.Source.MCP.URL
	}
	return e.Source.OpenAPI.URL
}

// UseCase finds a use case; nil: there is none of that id.
func (e *Entry) UseCase(id string) *EntryUseCase {
	for i := range e.UseCases {
		if e.UseCases[i].ID == id {
			return &e.UseCases[i]
		}
	}
	return nil
}

// Method of the operation.
func (t *EntryTool) Method() string {
	method, _, _ := strings.Cut(t.Operation, " ")
	return method
}

// Path of the operation.
func (t *EntryTool) Path() string {
	_, path, _ := strings.Cut(t.Operation, " ")
	return path
}

// Reads reports whether the tool only reads, as far as the entry or its method says.
func (t *EntryTool) Reads() bool {
	method := t.Method()
	return t.ReadOnly || method == "GET" || method == "HEAD"
}

// Requests are the texts by which the selection finds the tool.
func (t *EntryTool) Requests() []string { return slices.Concat(t.Examples, t.Asks) }

// methods that an operation may have.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", manifest.MethodMCP}

// TextsOf are the descriptions of the arguments of a tool, lists reporting whether it has one of a name.
func (e *Entry) TextsOf(t *EntryTool, lists func(name string) bool) map[string]string {
	out := map[string]string{}
	for name, text := range e.Texts {
		if lists(name) {
			out[name] = text
		}
	}
	maps.Copy(out, t.Texts)
	return out
}
