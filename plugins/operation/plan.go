package operation

// PlanVersion is the version of the request plan format this package writes. See
// docs/request-plans.md.
const PlanVersion = 1

// Location is where a parameter travels.
type Location string

// The locations of OpenAPI 3.2.
const (
	InPath        Location = "path"
	InQuery       Location = "query"
	InHeader      Location = "header"
	InCookie      Location = "cookie"
	InQueryString Location = "querystring" // the whole query string, 3.2
)

// Style is how a value is written at its location.
type Style string

// The styles of OpenAPI 3.2 and the collection formats of Swagger 2.0 that have
// no equal among them.
const (
	StyleSimple Style = "simple"
	StyleLabel  Style = "label"
	StyleMatrix Style = "matrix"
	StyleForm   Style = "form"
	StyleSpace  Style = "spaceDelimited"
	StylePipe   Style = "pipeDelimited"
	StyleDeep   Style = "deepObject"
	StyleCookie Style = "cookie" // 3.2
	StyleCSV    Style = "csv"    // Swagger 2.0
	StyleSSV    Style = "ssv"    // Swagger 2.0: space, as %20
	StyleTSV    Style = "tsv"    // Swagger 2.0
	StylePipes  Style = "pipes"  // Swagger 2.0
	StyleMulti  Style = "multi"  // Swagger 2.0
)

// Plan turns the arguments of a tools/call into an HTTP request. It is private
// to the gateway: it holds wire names, locations and the full constraints, where
// the published input schema holds what an agent needs.
type Plan struct {
	Version int     `json:"v"`
	Method  string  `json:"method"`
	Path    string  `json:"path"`            // template, "{wire name}" for parameters, no query, starts with "/"
	Query   string  `json:"query,omitempty"` // fixed pairs, already encoded, without "?"
	Params  []Param `json:"params,omitempty"`
	Body    *Body   `json:"body,omitempty"`
	Accept  string  `json:"accept,omitempty"`
	// Told are headers of the answer that the caller reads: those that the
	// specification declares and that carry information.
	Told []string `json:"told,omitempty"`
	// Scopes are the alternatives of authentication with the OAuth scopes that each
	// needs, "scheme" or "scheme scope" in an entry. They decide nothing about a request;
	// versions are compared by them. nil: no scope is named.
	Scopes [][]string `json:"scopes,omitempty"`
	// Promises are what is promised of an answer beyond the output schema, which
	// promises nothing that real answers break. They decide nothing about a request or
	// an answer; versions are compared by them.
	Promises []Promise `json:"promises,omitempty"`
}

// Promise is what is promised of one object in an answer.
type Promise struct {
	At       string   `json:"at,omitempty"`   // where in the output schema: "/items/owner", "/items" for those of a list; empty: the root
	Required []string `json:"req,omitempty"`  // members that are always there
	Null     []string `json:"null,omitempty"` // members that may be null
	Values   []Values `json:"enum,omitempty"` // members of which not every value is answered
}

// Headers is where the promise of an answer's headers is; names in lower case.
const Headers = "headers"

// Names of [Values] that are no member's.
const (
	// FreeMembers are the members of an object that no property names; their types.
	FreeMembers = "*"
	// Itself is the value where the promise is of; its values.
	Itself = ""
	// ItsTypes are the types of the value where the promise is of.
	ItsTypes = "?"
	// Formats stands before the name of a text that has one format only; the format.
	Formats = "~"
	// Limits stands before the name of a number, a text or a list that has limits; a [Schema]
	// of nothing else. Alone it says that not all of an object had room.
	Limits = "#"
	// Kinds stands before the name of the member that tells the alternatives of an object
	// apart where a discriminator alone says it; the values that it says.
	Kinds = "?"
)

// Values are the values of a member.
type Values struct {
	Name  string   `json:"n"`
	Texts []string `json:"v"` // JSON
}

// Param is one parameter.
type Param struct {
	Arg           string   `json:"arg,omitempty"` // property of the input schema; empty: hidden, Const is sent
	Name          string   `json:"name"`          // wire name
	In            Location `json:"in"`
	Style         Style    `json:"style,omitempty"`   // default by location: simple (path, header), form (query, cookie)
	Explode       bool     `json:"explode,omitempty"` // always explicit: false when absent
	AllowReserved bool     `json:"reserved,omitempty"`
	Content       string   `json:"content,omitempty"` // media type of a `content` parameter; style is unused then
	Required      bool     `json:"required,omitempty"`
	Unlisted      bool     `json:"unlisted,omitempty"` // accepted, but not in the input schema: deprecated, or no room
	Const         string   `json:"const,omitempty"`    // JSON text of a fixed value
	Nested        []Style  `json:"nested,omitempty"`   // Swagger 2.0: collection formats of items, outermost first
	Schema        *Schema  `json:"schema,omitempty"`
	// Fixed says that [Compiled.Fix] decided Const.
	Fixed bool `json:"-"`
}

// Body is the request body.
type Body struct {
	MediaType string `json:"type"`               // chosen media type, without parameters
	Sent      string `json:"sent,omitempty"`     // what is sent as Content-Type instead, with parameters; not for multipart
	Required  bool   `json:"required,omitempty"` //
	Arg       string `json:"arg,omitempty"`      // one argument is the whole body; empty: Fields are lifted to the root
	// Fields are the members of a lifted object body, in specification order.
	Fields []Field `json:"fields,omitempty"`
	// Encoding says how members of a form or multipart body are written, by wire
	// name. It is used for lifted and for whole bodies.
	Encoding []Encoding `json:"encoding,omitempty"`
	// Schema is that of the whole body, when Arg is set. Of a lifted one it says only
	// whether other members are accepted: Closed, which versions are compared by, or
	// Additional, where arguments that the plan does not name are members of a JSON body.
	Schema *Schema `json:"schema,omitempty"`
	// Needs are alternatives that only list required members of a lifted body: of
	// each group at least one list must be given whole, by wire name.
	Needs [][][]string `json:"needs,omitempty"`
	// Rules are what is asked of the members of a lifted body beside each other, by
	// wire name.
	Rules []Rule `json:"rules,omitempty"`
	// Least is how many members of a lifted body must be given (minProperties), where
	// one is sent at all.
	Least int `json:"least,omitempty"`
	// Variants are other forms of the body, which have arguments of their own
	// beside those they share: a file next to JSON. The first of them of whose own
	// arguments one is given is sent instead. Variants have no variants.
	Variants []Body `json:"variants,omitempty"`
	// Fixed are members of a body that is one argument which [Compiled.Fix] decided.
	Fixed []Field `json:"-"`
}

// Field is a member of a lifted body.
type Field struct {
	Arg      string  `json:"arg,omitempty"`  // property of the input schema; empty: hidden, Const is sent
	Else     string  `json:"else,omitempty"` // argument whose value is sent when Arg is not given: that of the path parameter of the same name
	Name     string  `json:"name"`           // wire name
	Required bool    `json:"required,omitempty"`
	Unlisted bool    `json:"unlisted,omitempty"` // as in [Param]
	Const    string  `json:"const,omitempty"`
	Schema   *Schema `json:"schema,omitempty"`
	// Fixed says that [Compiled.Fix] decided Const: it is sent where nothing else of
	// the body is given.
	Fixed bool `json:"-"`
}

// Encoding is OpenAPI's Encoding Object for one member of a form or multipart
// body.
type Encoding struct {
	Name          string  `json:"name"`
	ContentType   string  `json:"type,omitempty"`
	Style         Style   `json:"style,omitempty"` // set: style rules apply instead of ContentType
	Explode       bool    `json:"explode,omitempty"`
	AllowReserved bool    `json:"reserved,omitempty"`
	Headers       []Param `json:"headers,omitempty"` // multipart part headers, fixed values
}
