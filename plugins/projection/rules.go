package projection

import "github.com/sluicegate/sluice/plugins/engine"

// The default rules. A rule says what is left out and why an agent does not miss
// it. Everything no rule names is kept, also what the specification does not
// declare: real answers hold more than their schemas say.
var rules = struct {
	// values apply to every member by its value.
	values []valueRule
	// names apply to members by name that the schema does not name.
	names []nameRule
	// formats apply to members whose schema has one of these string formats.
	formats []formatRule
	// keep wins over all of the above.
	keep []keepRule
}{
	values: []valueRule{
		{engine.DropNull, "null says what a missing member says, in four more tokens"},
	},
	names: []nameRule{
		{name: "_links", why: "HAL hypermedia: addresses of other calls, which an agent makes as tools with ids"},
		{suffix: "_url", why: "addresses of other calls and of pages; the ids beside them are what tools take"},
	},
	formats: []formatRule{
		{"uri", "an address: long, rarely useful, and the same as an id that is kept"},
		{"url", "as uri; not a registered format, but common"},
		{"uri-template", "a pattern of addresses for programs that follow links"},
		{"uri-reference", "a relative address, meaningless without the one it was fetched from"},
		{"iri", "as uri, with characters beyond ASCII"},
	},
	keep: []keepRule{
		{onlyLinks, "an object whose only plain members are addresses exists to give them: an upload or download link"},
		{isParameter, "a member that a tool of the same API takes as an argument is an identifier, even if it is an address"},
		{noSchema, "where the specification says nothing of the answer, an address may be all there is"},
	},
}

type valueRule struct {
	bits engine.Rules
	why  string
}

type nameRule struct{ name, suffix, why string }

type formatRule struct{ format, why string }

type keepRule struct {
	when keepCase
	why  string
}

// keepCase is a condition under which addresses stay.
type keepCase int

const (
	onlyLinks keepCase = iota
	isParameter
	noSchema
)
