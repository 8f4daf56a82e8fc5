package operation

// Type is a set of JSON types.
type Type uint8

// The JSON types. Integer is a number without a fraction; Number includes it.
const (
	TypeNull Type = 1 << iota
	TypeBoolean
	TypeInteger
	TypeNumber
	TypeString
	TypeArray
	TypeObject
)

// Schema is the part of JSON Schema 2020-12 that Sluice uses, normalised from
// every OpenAPI version: references resolved, allOf merged, nullable folded into
// Type, boolean exclusive bounds turned into numbers. Numbers are kept as their
// literal text so that nothing is rounded.
//
// Inside a [Plan] a Schema is a finite tree; as [Operation.Response] it may be a
// graph with cycles, which a walker must bound.
type Schema struct {
	Type       Type       `json:"t,omitempty"` // 0: any
	Format     string     `json:"f,omitempty"`
	Enum       []string   `json:"enum,omitempty"` // JSON texts; const is an enum of one
	Properties []Property `json:"props,omitempty"`
	Required   []string   `json:"req,omitempty"`
	// Additional is the schema of other members; nil: anything.
	Additional *Schema `json:"add,omitempty"`
	// Closed: other members are not allowed (additionalProperties: false).
	Closed bool      `json:"closed,omitempty"`
	Items  *Schema   `json:"items,omitempty"`
	Prefix []*Schema `json:"prefix,omitempty"` // prefixItems
	AnyOf  []*Schema `json:"any,omitempty"`    // oneOf is read as anyOf
	// Disc is the member of an object whose value says which of AnyOf it is; each of
	// them has it with the values that are its own in Enum.
	Disc string `json:"disc,omitempty"`
	// All must hold as well: a second group of alternatives.
	All      []*Schema `json:"all,omitempty"`
	Min      string    `json:"min,omitempty"` // literal numbers
	Max      string    `json:"max,omitempty"`
	XMin     string    `json:"xmin,omitempty"` // exclusive
	XMax     string    `json:"xmax,omitempty"`
	Multiple string    `json:"mult,omitempty"`
	MinLen   int       `json:"minl,omitempty"` // strings: in code points; arrays: items; objects: members
	MaxLen   *int      `json:"maxl,omitempty"`
	Pattern  string    `json:"pat,omitempty"`  // RE2 syntax; what RE2 cannot express is left out
	Unique   bool      `json:"uniq,omitempty"` // uniqueItems
	// Media is contentMediaType, and "application/octet-stream" for format
	// binary: the value is a file (see docs/request-plans.md, "Files").
	Media string `json:"media,omitempty"`
	// Base64 says that the JSON value itself is base64 text (format byte,
	// contentEncoding base64).
	Base64 bool `json:"b64,omitempty"`
	// Rare holds what few schemas say; nil: nothing of it.
	Rare *Rare `json:"rare,omitempty"`
	// Name is the component the schema was referenced as, for messages and the
	// projection's rules.
	Name       string `json:"-"`
	ReadOnly   bool   `json:"-"`
	WriteOnly  bool   `json:"-"`
	Deprecated bool   `json:"-"`
	// Description is plain text, uncut; only response schemas carry it.
	Description string `json:"-"`
	// XML holds the XML Object where the media type is XML; nil otherwise.
	XML *XML `json:"xml,omitempty"`
}

// Rare is what few schemas say of a value.
type Rare struct {
	Except []string `json:"not,omitempty"`   // values that are not allowed: JSON texts
	Names  *Schema  `json:"names,omitempty"` // of the names of an object's members (propertyNames)
	Rules  []Rule   `json:"rules,omitempty"` // of an object's members beside each other
}

// Rule is what is asked of the members of an object beside each other.
type Rule struct {
	If    string   `json:"if,omitempty"`    // the rule is for objects that have this member; empty: for all
	Is    []string `json:"is,omitempty"`    // and for these values of it, JSON texts; empty: for any
	Else  bool     `json:"else,omitempty"`  // the rule is for the others: without the member, with Is for those with another value
	None  bool     `json:"none,omitempty"`  // with Is: the rule is for objects without the member as well
	Needs []string `json:"needs,omitempty"` // members that must be given
	Never []string `json:"never,omitempty"` // members that must not be given, all of them together
}

// Property is a member of an object, in specification order.
type Property struct {
	Name   string  `json:"n"`
	Schema *Schema `json:"s,omitempty"`
}

// XML is OpenAPI's XML Object.
type XML struct {
	Name      string `json:"name,omitempty"`
	Namespace string `json:"ns,omitempty"`
	Prefix    string `json:"prefix,omitempty"`
	Attribute bool   `json:"attr,omitempty"`
	Wrapped   bool   `json:"wrapped,omitempty"`
}
