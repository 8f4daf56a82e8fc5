package toolset

import (
	"encoding/json"
	"regexp"

	"github.com/sluicegate/sluice/admin/publish/plugin"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// Tool is one tool of a toolset, with the toolset's edits applied.
type Tool struct {
	Name         string             `json:"name"`
	OriginalName string             `json:"originalName" doc:"As generated."`
	Title        string             `json:"title,omitempty"`
	Description  string             `json:"description"`
	Enabled      bool               `json:"enabled"`
	Operation    Operation          `json:"operation"`
	Plugin       string             `json:"plugin,omitempty" doc:"The workflow that offers it; its operation is WORKFLOW /PLUGIN, and WORKFLOW /PLUGIN/2 where it is bound a second time."`
	Annotations  plugin.Annotations `json:"annotations"`
	Needs        []string           `json:"needs,omitempty" doc:"Client capabilities without which a client does not list it: elicitation, elicitation.url, sampling, roots, tasks.elicitation, tasks.sampling."`
	Answers      *Answers           `json:"answers,omitempty" doc:"Its own settings of answers."`

	Fixed        map[string]json.RawMessage `json:"fixed,omitempty" doc:"Values of arguments that the model does not see; its own, not those of its connector."`
	Arguments    []string                   `json:"arguments,omitempty" doc:"The arguments that clients list besides the required ones; body.member is a member of the argument body. Absent: all."`
	Texts        map[string]string          `json:"argumentTexts,omitempty" doc:"Descriptions of arguments instead of the generated ones, by name as in arguments; \"\": the argument has none."`
	Tokens       int                        `json:"tokens" doc:"Estimated tokens of the definition that agents receive."`
	InputSchema  json.RawMessage            `json:"inputSchema,omitempty" doc:"Only where one tool is read or schemas are asked for."`
	OutputSchema json.RawMessage            `json:"outputSchema,omitempty"`
}

// Offered reports whether a plugin or a document offers the tool, which is not an operation of a
// connector.
func (t *Tool) Offered() bool { return t.Operation.Method == "WORKFLOW" }

// Described reports whether it is a workflow of an Arazzo document, whose operation is
// WORKFLOW /workflows/NAME.
func (t *Tool) Described() bool { return t.Offered() && t.Plugin == "" }

// MethodAdded is the method of the operation of a tool that Sluice adds; its path is /NAME.
const MethodAdded = "SLUICE"

// Added reports whether Sluice adds the tool to those of the APIs: no draft has it, so it
// cannot be edited.
func (t *Tool) Added() bool { return t.Operation.Method == MethodAdded }

// OfConnector reports whether the tool is an operation of a connector.
func (t *Tool) OfConnector() bool { return !t.Offered() && !t.Added() }

// Operation is the upstream operation of a tool; edits are kept by it.
type Operation struct {
	Connector string `json:"connector,omitempty" doc:"Name of the connector in the toolset. Absent: the first, or where there is no toolset."`
	Method    string `json:"method"`
	Path      string `json:"path"`
}

// Items is how much an MCP server has besides tools.
type Items struct {
	Prompts   int `json:"prompts"`
	Resources int `json:"resources"`
	Templates int `json:"resourceTemplates"`
}

// ItemsOf counts what is served of a connector's server besides tools; nil: there is
// nothing.
func ItemsOf(c *connector.Connector) *Items {
	n := Items{len(c.Items(manifest.Prompts)), len(c.Items(manifest.Resources)), len(c.Items(manifest.Templates))}
	if n == (Items{}) {
		return nil
	}
	return &n
}

// Unsupported is an operation that is not a tool.
type Unsupported struct {
	Method      string `json:"method"`
	Path        string `json:"path"`
	OperationID string `json:"operationId,omitempty"`
	Pointer     string `json:"pointer"`
	Line        int    `json:"line,omitempty"`
	Code        string `json:"code"`
	Reason      string `json:"reason"`
}

// Diagnostic is something the compiler repaired or left out.
type Diagnostic struct {
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Pointer  string `json:"pointer,omitempty"`
	Detail   string `json:"detail"`
	Remedy   string `json:"remedy,omitempty"`
}

// APIServer is a server of the specification.
type APIServer struct {
	URL         string `json:"url"`
	Description string `json:"description,omitempty"`
	// Template is the URL as it is written, with variables in braces; "": it has none.
	Template  string           `json:"template,omitempty" doc:"The URL with its variables in braces; absent: it has none." example:"https://{tenant}.api.example.com"`
	Variables []ServerVariable `json:"variables,omitempty" doc:"Of the template. url has their defaults."`
}

// ServerVariable is a variable of a server's URL (OpenAPI, Server Variable Object).
type ServerVariable struct {
	Name        string   `json:"name" example:"tenant"`
	Default     string   `json:"default,omitempty" doc:"Absent: it must be chosen." example:"demo"`
	Enum        []string `json:"enum,omitempty" doc:"Absent: any text." example:"[\"eu\",\"us\"]"`
	Description string   `json:"description,omitempty"`
}

// OperationOf is what an edit is keyed by.
func OperationOf(e *store.ToolEdit) Operation {
	return Operation{Connector: e.Connector, Method: e.Method, Path: e.Path}
}

// ToolName is what every MCP client and model API accepts as a name.
var ToolName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)
