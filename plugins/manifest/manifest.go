package manifest

import (
	_ "embed"
	"encoding/json"
	"strings"
)

// Section is the name of the custom section that holds the manifest.
const Section = "sluice.manifest"

// FormatVersion is the version of the format that this package reads and writes.
const FormatVersion = 1

// Bounds of a manifest. What is longer is refused with a [problem.InvalidPlugin].
const (
	// MaxBytes: the largest real specification (8 MB of tools) fits eight times.
	MaxBytes = 64 << 20
	// MaxTools: ten times the operations of the largest public API; the tool index
	// of one connector stays under a megabyte.
	MaxTools = 100_000
	// MaxName: a slug that is also a repository name.
	MaxName = 64
	// MaxToolName: server and tool name together must stay under the 60 characters
	// that some MCP clients allow.
	MaxToolName = 40
	// MaxText: titles, versions, tags, ids.
	MaxText = 1024
	// MaxDescription: clients cut longer descriptions.
	MaxDescription = 1024
	// MaxMCPToolName and MaxMCPDescription are for tools of MCP servers, which are
	// passed on as the server wrote them: what model APIs accept as a name, and
	// eight times the longest description seen.
	MaxMCPToolName    = 64
	MaxMCPDescription = 64 << 10
	// MaxPath: longer request targets are refused by common servers anyway.
	MaxPath = 4096
	// MaxSchema: bytes of one input or output schema; eight times what a tool should
	// have, so that nothing callable is lost.
	MaxSchema = 256 << 10
	// MaxPlan: bytes of one request plan. It holds the full constraints.
	MaxPlan = 4 << 20
	// MaxItems: servers, schemes, alternatives, tags, hosts of one list.
	MaxItems = 1000
	// MaxDepth: nesting of the document. Schemas inside are cut at a depth of six.
	MaxDepth = 128
	// MaxMemory and MaxDeadline: what a plugin may ask for; the operator may allow
	// less.
	MaxMemory   = 128 << 20
	MaxDeadline = 60_000
	// MaxCalledTools: tools that one workflow may call; a task that needs more is not
	// one an agent can name.
	MaxCalledTools = 64
	// MaxCalls: calls of tools in one call of a workflow. DefaultCalls when it does not
	// say.
	MaxCalls     = 256
	DefaultCalls = 32
)

// Schema is the JSON Schema (2020-12) of a manifest: manifest.schema.json.
//
//go:embed manifest.schema.json
var Schema []byte

// Kind is what a plugin does.
type Kind string

// The kinds of plugins (docs/manifest.md).
const (
	Connector  Kind = "connector"
	Toolset    Kind = "toolset"
	Filter     Kind = "filter"
	Projection Kind = "projection"
	Workflow   Kind = "workflow"
	Auth       Kind = "auth"
)

// Manifest is the document.
type Manifest struct {
	FormatVersion int
	Kind          Kind
	Name          string // slug [a-z0-9-], at most MaxName bytes
	Version       string // a connector's: info.version of its specification
	Title         string
	Description   string // plain text
	Generator     string // what wrote it: "sluice"; may be empty

	Upstream *Upstream // connector only, and always there
	Tools    []Tool    // connector only

	// Items are what an MCP server has besides tools, by kind; connector with an MCP
	// server only.
	Items [ItemKinds][]Item

	// Toolset is the toolset document (package registry) of a bundle; kind toolset
	// only, and always there.
	Toolset json.RawMessage

	// Entry is the function that a plugin of a third party exports for its kind; "" means
	// the name that the contract gives.
	Entry string
	// For filter, projection, workflow and auth; nil asks for nothing.
	Capabilities *Capabilities
	Limits       *Limits
	// Input says which answers a filter or projection reads; nil means JSON only. Other
	// kinds have none.
	Input *Input
	// Output says what a filter or projection does to an answer; nil means
	// EffectSubset. Other kinds have none.
	Output *Output
	// Tool is the tool that a workflow offers; kind workflow only, and always there.
	Tool *OfferedTool
	// Config is the JSON Schema of the plugin's configuration, an object; nil when
	// it has none.
	Config json.RawMessage
}

// Upstream is the API behind a connector.
type Upstream struct {
	Servers []Server
	Schemes []Scheme
	// Security: alternatives, each a set of scheme ids applied together. nil: the
	// specification does not say; empty: none needed.
	Security [][]string
	// MCP says that the upstream is an MCP server, at the first of Servers; all
	// tools of the connector are its tools then. nil: an HTTP API.
	MCP *MCPServer
}

// Transports of an [MCPServer].
const (
	TransportStreamable = "streamable" // Streamable HTTP, since 2025-03-26
	TransportSSE        = "sse"        // HTTP with SSE of 2024-11-05
)

// MCPServer is how an MCP server was spoken to when the connector was made. Who
// calls it finds out again when it answers otherwise.
type MCPServer struct {
	Transport string // TransportStreamable or TransportSSE
	Protocol  string // revision of the protocol, such as "2026-07-28"
	// Completions says that the server completes arguments, and Subscribe that it tells
	// of changes of a resource.
	Completions, Subscribe bool
	// Reads says that the server has resources of which it lists none and has no templates:
	// results of its tools name them.
	Reads bool
	// EmptyPrompts says that the server declares prompts and lists none: its clients may ask
	// for the list.
	EmptyPrompts bool
	// Tasks says that the server may answer a call with a task (extension
	// io.modelcontextprotocol/tasks).
	Tasks bool
	// CallTasks says that its clients may make a call a task of their own, and CancelTasks that
	// they may cancel one (MCP 2025-11-25 "Tasks").
	CallTasks, CancelTasks bool
}

// MCPTool is what pins a tool of an MCP server.
type MCPTool struct {
	Name string // as the server calls it
	// Hash is "sha256:…" of the minified definition as the server gave it.
	Hash string
	// Extra holds the members of the definition that [Tool] has no field for, an
	// object; nil: there are none.
	Extra json.RawMessage
	// Needs are those of the ClientCapabilities without all of which the server does not
	// list the tool; nil: it lists it to every client.
	Needs []string
	// Task says that the server runs the tool as a task only: it gives the task at once,
	// and the result when it is asked for (MCP 2025-11-25 "Tasks").
	Task bool
	// MayTask says that a call of it may be a task (as above); Task includes that.
	MayTask bool
}

// ClientCapabilities are what clients of an MCP server declare that changes what it
// lists: elicitation by form and by URL, sampling, roots, and that they run elicitation and
// sampling as tasks of their own (MCP 2025-11-25 "Tasks").
var ClientCapabilities = []string{"elicitation", "elicitation.url", "sampling", "roots", "tasks.elicitation", "tasks.sampling"}

// Server is a base URL. It mirrors operation.Server.
type Server struct {
	URL         string
	Description string
	Variables   []Variable
}

// Variable is a setting of a templated base URL.
type Variable struct {
	Name, Default string
	Enum          []string
	Description   string
}

// Scheme is a security scheme. It mirrors operation.SecurityScheme.
type Scheme struct {
	ID, Type, In, Name, Scheme, BearerFormat, OpenIDURL string
	Flows                                               []Flow
	Description                                         string
}

// Flow is an OAuth 2 flow of a scheme.
type Flow struct {
	Grant, AuthorizationURL, TokenURL, RefreshURL string
	Scopes                                        []string
}

// Tool is one tool of a connector. Raw members are views of the parsed document.
type Tool struct {
	// Name is ^[a-z][a-z0-9_]*$, at most MaxToolName bytes; with MCP
	// ^[A-Za-z_][A-Za-z0-9_-]*$, at most MaxMCPToolName. Unique in its connector.
	Name        string
	Title       string
	Description string
	Method      string // HTTP method; with MCP [MethodMCP]
	Path        string // template, as in the specification; with MCP "/" and its MCP.Name
	OperationID string // as in the specification; may be empty
	Pointer     string // JSON pointer into the specification; may be empty
	Tags        []string
	Deprecated  bool
	Annotations Annotations
	InputSchema json.RawMessage
	// OutputSchema is nil when the answer has no usable schema.
	OutputSchema json.RawMessage
	// Request is the request plan (docs/request-plans.md); nil with MCP.
	Request json.RawMessage
	// MCP is not nil for a tool of an MCP server.
	MCP *MCPTool
	// Program is the index of the response program in the module's data segment; -1:
	// none, the answer is only minified.
	Program int
	// Security overrides the upstream's when not nil.
	Security [][]string
	// Servers override the upstream's when not empty.
	Servers []Server
}

// MethodMCP is the method of a tool of an MCP server: edits, selections and
// bindings name any tool by method and path.
const MethodMCP = "MCP"

// Annotations are MCP's tool annotations.
type Annotations struct{ ReadOnly, Destructive, Idempotent, OpenWorld bool }

// Capabilities is what a third-party plugin wants beyond its input and output.
type Capabilities struct {
	Hosts  []string // host names that the host may call for it
	Clock  bool     // the real time
	Random bool     // real randomness
	// Signing is what an auth plugin may do with the credentials of a request, which it
	// never sees; nil: nothing. Other kinds have none.
	Signing *Signing
	// Tools are the tools that a workflow calls, by its own names of them: a binding
	// says which tool of the toolset each one is. At least one, unique; other kinds
	// have none.
	Tools []string
}

// OfferedTool is the tool that a workflow offers.
type OfferedTool struct {
	Name        string // ^[a-z][a-z0-9_]*$, at most MaxToolName bytes
	Title       string
	Description string // at least one byte
	Annotations Annotations
	InputSchema json.RawMessage
	// OutputSchema is nil when the answer has no known structure.
	OutputSchema json.RawMessage
}

// MethodWorkflow is the method of a tool that a workflow offers, whose path is "/" and
// the name of the plugin.
const MethodWorkflow = "WORKFLOW"

// Signing says how an auth plugin signs: by deriving a key from a credential a fixed
// number of times and signing with the last one. Fixed, because the result of signing
// with an earlier one could be a key.
type Signing struct {
	Algorithm   string // one of SigningAlgorithms; for keys and signatures
	Derivations int    // before each signature, at most MaxDerivations
}

// MaxDerivations of a signing key: AWS Signature Version 4 has four.
const MaxDerivations = 8

// Algorithms that sign with a private key (RFC 7518 §3.1, RFC 8037): without derivations.
const (
	RS256 = "rs256"
	ES256 = "es256"
	EdDSA = "eddsa"
)

// Asymmetric reports whether an algorithm signs with a private key.
func Asymmetric(algorithm string) bool {
	return algorithm == RS256 || algorithm == ES256 || algorithm == EdDSA
}

// SigningAlgorithms are the keyed hashes and signatures that plugins sign with.
var SigningAlgorithms = []string{"hmac-sha256", "hmac-sha384", "hmac-sha512", "hmac-sha1", RS256, ES256, EdDSA}

// Effects of a filter or projection on an answer.
const (
	EffectSubset  = "subset"  // the answer without some of its members and items
	EffectReplace = "replace" // an answer of a schema of its own
	EffectText    = "text"    // text that is not JSON
)

// TypeJSON is the media type of every JSON document that a filter or projection gets.
const TypeJSON = "application/json"

// MaxInputTypes is how many media ranges a plugin may read: there are not so many
// kinds of text.
const MaxInputTypes = 16

// Input is what a filter or projection can read.
type Input struct {
	// Types are media ranges in lower case (RFC 9110 §12.5.1): "application/json",
	// "text/*", "*/*". At least one, unique.
	Types []string
	// Errors says whether the plugin understands the bodies of errors; nil: one that
	// redacts does, and one that has a function of its own for them.
	Errors *bool
}

// Output is what a filter or projection makes of an answer, so that the output
// schema and the fields that callers may ask for stay true.
type Output struct {
	Effect string
	Schema json.RawMessage // JSON Schema of the answer; EffectReplace only, and always there
	// Redacts says whether the plugin takes out what must not be seen; nil: a filter
	// does, a projection does not. See [Manifest.Redacts].
	Redacts *bool
}

// Redacts reports whether the plugin takes out what must not be seen: such a plugin
// has to see every byte that an agent reads. A filter is taken for one unless it says
// otherwise, because what is wrongly withheld is noticed and what is wrongly passed on
// is not.
func (m *Manifest) Redacts() bool {
	switch {
	case m.Kind != Filter && m.Kind != Projection:
		return false
	case m.Output != nil && m.Output.Redacts != nil:
		return *m.Output.Redacts
	}
	return m.Kind == Filter
}

// Reads reports whether a filter or projection reads content of a media type, given
// in lower case without parameters.
func (m *Manifest) Reads(mediaType string) bool {
	if m.Input == nil {
		return mediaType == TypeJSON
	}
	kind, _, ok := strings.Cut(mediaType, "/")
	for _, t := range m.Input.Types {
		if t == mediaType || t == "*/*" || ok && len(t) == len(kind)+2 && t[:len(kind)] == kind && t[len(kind):] == "/*" {
			return true
		}
	}
	return false
}

// ReadsErrors is what a filter or projection says of the bodies of errors; said is false when
// it says nothing.
func (m *Manifest) ReadsErrors() (reads, said bool) {
	if m.Input == nil || m.Input.Errors == nil {
		return false, false
	}
	return *m.Input.Errors, true
}

// Limits is what a third-party plugin needs at most.
type Limits struct {
	MemoryBytes int // 0: the smallest class
	DeadlineMS  int // 0: the default of its kind; of a workflow without the time its calls take
	Calls       int // of tools in one call of a workflow; 0: DefaultCalls. Other kinds have none
}
