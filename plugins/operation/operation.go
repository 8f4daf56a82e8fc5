package operation

import "encoding/json"

// API is one specification or server, normalised.
type API struct {
	Name        string // slug of the title: [a-z0-9-], at most 40 bytes; never empty
	Title       string
	Version     string // info.version as written; "0" when the specification has none
	Description string // plain text, at most 1,024 bytes
	Servers     []Server
	Schemes     []SecurityScheme
	// Security is what applies to operations that do not say: alternatives, each
	// a set of scheme ids that are applied together. nil: the specification does
	// not say.
	Security []Requirement
}

// Server is a base URL an operation may be sent to.
type Server struct {
	URL         string           `json:"url"` // absolute, or a template with {variables}; no trailing slash
	Description string           `json:"description,omitempty"`
	Variables   []ServerVariable `json:"variables,omitempty"`
}

// ServerVariable is a setting of a templated server URL.
type ServerVariable struct {
	Name        string   `json:"name"`
	Default     string   `json:"default"`
	Enum        []string `json:"enum,omitempty"`
	Description string   `json:"description,omitempty"`
}

// SecurityScheme is one way to authenticate, as OpenAPI's Security Scheme Object.
type SecurityScheme struct {
	ID           string `json:"id"`
	Type         string `json:"type"`             // apiKey, http, oauth2, openIdConnect, mutualTLS
	In           string `json:"in,omitempty"`     // apiKey: header, query, cookie
	Name         string `json:"name,omitempty"`   // apiKey: the header, parameter or cookie
	Scheme       string `json:"scheme,omitempty"` // http: basic, bearer, digest …, lower case
	BearerFormat string `json:"bearerFormat,omitempty"`
	OpenIDURL    string `json:"openIdConnectUrl,omitempty"`
	Flows        []Flow `json:"flows,omitempty"` // oauth2
	Description  string `json:"description,omitempty"`
}

// Flow is one OAuth 2 flow of a security scheme.
type Flow struct {
	Grant            string   `json:"grant"` // authorizationCode, clientCredentials, password, implicit, deviceAuthorization
	AuthorizationURL string   `json:"authorizationUrl,omitempty"`
	TokenURL         string   `json:"tokenUrl,omitempty"`
	RefreshURL       string   `json:"refreshUrl,omitempty"`
	Scopes           []string `json:"scopes,omitempty"`
}

// Requirement is a set of scheme ids that are applied together. Empty: no
// authentication is an accepted alternative.
type Requirement []string

// Operation is one tool to be.
type Operation struct {
	// Name matches ^[a-z][a-z0-9_]*$, at most 40 bytes, unique in its API without
	// regard to case, and depends on nothing but this operation.
	Name        string
	Title       string
	Description string // plain text, at most 1,024 bytes
	ID          string // operationId as written, may be empty
	Method      string // upper case, or verbatim for OpenAPI 3.2 additionalOperations
	Path        string // template as written in the specification
	Pointer     string // JSON pointer of the operation in its document
	Line        int
	Tags        []string
	Deprecated  bool
	Annotations Annotations
	// InputSchema and OutputSchema are what is published to clients: minified
	// JSON, root type object, no $ref. OutputSchema may be nil.
	InputSchema  json.RawMessage
	OutputSchema json.RawMessage
	Plan         *Plan
	// Response describes the successful answer for the default projection; nil
	// when the specification says nothing usable. It may be a graph with cycles.
	Response *Schema
	// Successes are the statuses of success that the specification describes, as
	// it writes them: "200", "2XX". Empty: none, or only "default".
	Successes []string
	// Servers override the API's when not nil.
	Servers []Server
	// Security overrides the API's when not nil; an empty non-nil list is "none".
	Security []Requirement
}

// Annotations are MCP's tool annotations; all four are always published.
type Annotations struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
	OpenWorld   bool `json:"openWorldHint"`
}
