package engine

import "errors"

// Version is the engine version that [Link] uses, and the table version that
// [Compile] writes.
const Version = 1

// Output is the form of a program's result.
type Output uint8

// JSON is the input's JSON, minified, with what the program leaves out removed.
const JSON Output = 0

// Documents says how many JSON documents the input holds.
type Documents uint8

// The document modes.
const (
	// OneDocument: exactly one JSON text (RFC 8259), white space around it.
	OneDocument Documents = 0
	// DocumentStream: any number of JSON texts: newline delimited, JSON text
	// sequences (RFC 7464) or simply concatenated. They are treated, and written,
	// as the elements of one array.
	DocumentStream Documents = 1
)

// Rules are bits that leave out members of an object by their value. They apply
// to each member that is kept, named or not, except to fields marked Exempt, and
// never to elements of arrays: positions keep their meaning.
type Rules uint16

// The rules.
const (
	DropNull  Rules = 1 << 0 // the value null
	DropEmpty Rules = 1 << 1 // what would be written as "", [] or {}
	DropURL   Rules = 1 << 2 // a string that is one http:// or https:// URL: no space, no escape but \/
	DropFalse Rules = 1 << 3 // the value false

	// KeepLone keeps addresses where they are all there is: when everything in an
	// object is left out, the first MaxLone members that DropURL or a suffix left
	// out and that hold a URL are kept after all.
	KeepLone Rules = 1 << 4

	// KeepPages narrows DropURL to addresses that programs follow and people do not
	// open: those of APIs, templates, pictures of people (docs/response-programs.md §1).
	// Without DropURL it means nothing.
	KeepPages Rules = 1 << 5

	// OnlyNamed narrows DropURL, where KeepPages does, to members whose names say that
	// their values are addresses (docs/response-programs.md §1). Without KeepPages it
	// means nothing.
	OnlyNamed Rules = 1 << 6

	// KeepAsked narrows DropURL further, where OnlyNamed does, to members whose names have no
	// word that says that people ask for their addresses ([Asked]). Without OnlyNamed it
	// means nothing.
	KeepAsked Rules = 1 << 7

	// KeyLinks leaves out hypermedia by name: "_links", "*_url". Only members that
	// no field names are concerned. It is shorthand: Compile writes a dropped
	// field and a suffix.
	KeyLinks Rules = 1 << 15
)

const (
	dropBits = DropNull | DropEmpty | DropURL | DropFalse
	ruleBits = dropBits | KeepLone | KeepPages | OnlyNamed | KeepAsked
)

// Program says what to keep of an answer.
type Program struct {
	Root      *Node     // of the whole answer; nil keeps all of it (minified)
	Output    Output    // Default: JSON.
	Documents Documents // Default: OneDocument.
}

// Node says what to keep of one value. Arrays are transparent: a node that meets
// an array applies to its elements. A nil *Node keeps the whole value. Nodes may
// refer to themselves, as schemas do.
type Node struct {
	Fields   []Field // members by name; at most MaxFields
	Rest     *Node   // what to keep of other members; ignored when DropRest is set. Default: all.
	DropRest bool    // leave other members out
	Rules    Rules

	// DropSuffixes leaves out members that no field names and whose name ends in
	// one of these. At most 32, each 1 to 64 bytes.
	DropSuffixes []string

	// The row rules concern the array the node meets first, not arrays inside it.
	Where  *Predicate // rows to keep. Default: all.
	Offset uint32     // rows to leave out first, counted after Where
	Limit  uint32     // rows to keep at most, counted after Offset; 0 = no limit

	// MaxString caps a string this node meets, in bytes between its quotes as they
	// arrived; 0 = no cap. A longer one is cut before a whole character or escape
	// and ends in a mark "…[+N]" that tells the bytes cut.
	MaxString uint32

	// MaxNumbers caps arrays that hold numbers only, such as embeddings, at any
	// depth of arrays this node meets; 0 = no cap. A longer one keeps its first
	// MaxNumbers elements and ends in a string "…[+N]" that tells the elements cut.
	MaxNumbers uint32
}

// Field is one named member of an object. Of several members with the same name
// the first decides. Names are compared after their escapes are decoded.
type Field struct {
	Name   string
	Drop   bool // leave it out
	Exempt bool // the node's Rules do not apply
	// KeepURL says that DropURL of the node's Rules does not apply; the others do.
	KeepURL bool
	// NoPages says that KeepPages of the node's Rules does not apply.
	NoPages bool
	// Told says that members it leaves out are counted in Stats.Told.
	Told bool
	Node *Node // what to keep of it. Default: all.
}

// Cmp is the comparison of a [Predicate].
type Cmp uint8

// The comparisons. Order is by code points for strings (so ISO 8601 times of one
// zone order), by exact decimal value for numbers; values of other or different
// kinds have no order and every ordering of them is false.
const (
	CmpNone     Cmp = iota // not a comparison: see And, Or, Not
	CmpExists              // the path leads to a value, also to null
	CmpEq                  // same kind and value; 1.0 equals 1
	CmpLt                  // less
	CmpLe                  // less or equal
	CmpGt                  // greater
	CmpGe                  // greater or equal
	CmpContains            // a string with Value inside it
	CmpPrefix              // a string that starts with Value
	CmpGlob                // a string that Value matches, where * is any run of bytes and ? any one byte
)

// Predicate tells whether to keep a row. Exactly one of And, Or, Not and Cmp is
// used. Arrays on the path are transparent: it holds when any element does.
type Predicate struct {
	And []*Predicate
	Or  []*Predicate
	Not *Predicate

	Cmp   Cmp
	Path  []string // member names; empty = the row itself
	Value string   // JSON literal of a scalar (`"open"`, `5`, `true`, `null`); a string for Contains, Prefix, Glob; "" for Exists
}

// Bounds of a program. They keep a table small enough to be written into the
// engine on each call, and its check linear.
const (
	MaxTable    = 1 << 20 // bytes of a compiled program
	MaxNodes    = 1 << 14 // nodes after equal ones were joined
	MaxFields   = 1024    // fields of a node: the engine keeps a bit for each on its stack
	MaxName     = 512     // bytes of a name; longer names in an answer match no field and no suffix
	MaxSuffixes = 32      // suffixes of a node
	MaxSuffix   = 64      // bytes of a suffix
	MaxOps      = 1024    // predicate terms of a program
	MaxOpDepth  = 32      // nesting of predicates
	MaxPath     = 16      // names in a predicate's path
	MaxValue    = 1024    // bytes of a predicate's literal
	MaxLone     = 4       // members that KeepLone keeps of an object: an address and its variants
)

// Bounds of a run.
const (
	DefaultMaxDepth = 128      // as internal/jsonscan; real answers stay below 30
	HardMaxDepth    = 256      // what the engine's stack is sized for
	DefaultMaxInput = 64 << 20 // the hard cap of upstream answers
)

// Limits bounds a run. The zero value means the defaults.
type Limits struct {
	MaxInput int    // bytes. Default: DefaultMaxInput.
	MaxDepth int    // nested arrays and objects that are kept or looked into. Default: DefaultMaxDepth; at most HardMaxDepth.
	Fuel     uint64 // units of work (docs/response-programs.md §7). Default: DefaultFuel of the input's length.
}

// DefaultFuel is the fuel of a run when none is given: above the one unit a byte
// that a program without predicates can use, and enough for some fifty
// comparisons on every row.
func DefaultFuel(inputBytes int) uint64 { return 4*uint64(inputBytes) + 4096 }

// Stats tells what a run did. All are counts, sizes in bytes.
type Stats struct {
	In            uint64 // bytes of input
	Out           uint64 // bytes appended
	FieldsDropped uint64 // members left out; what follows the last wanted field of an object is not looked at and not counted
	Told          uint64 // of these, left out by a field that is Told, with another value than null, "", [] and {}
	ToldAt        uint32 // where in the program the name of the first of them begins; 0 when there is none
	ToldLen       uint32 // length of that name in bytes
	Rows          uint64 // rows seen by nodes with row rules, and numbers of arrays that MaxNumbers cut
	RowsDropped   uint64 // of these, left out by Where
	RowsCut       uint64 // of these, left out by Offset, Limit and MaxNumbers
	StringsCut    uint64 // strings cut by MaxString
	BytesCut      uint64 // bytes cut from them
	Fuel          uint64 // fuel used
}

// Errors of a run. What was appended before them is discarded.
var (
	// ErrNotJSON: the input is not JSON as far as the program looks (docs/response-programs.md §5).
	ErrNotJSON = errors.New("engine: input is not valid JSON")
	// ErrDepth: arrays and objects are nested deeper than Limits.MaxDepth.
	ErrDepth = errors.New("engine: input is nested too deeply")
	// ErrFuel: Limits.Fuel was used up.
	ErrFuel = errors.New("engine: out of fuel")
	// ErrTooLarge: the input is longer than Limits.MaxInput.
	ErrTooLarge = errors.New("engine: input too large")
)

// ErrTable is wrapped by the errors of [Check].
var ErrTable = errors.New("engine: malformed program")
