package projection

import "github.com/sluicegate/sluice/plugins/engine"

// The default rules. A rule says what is left out and why an agent does not miss
// it. What no rule names is kept, also what the specification does not declare:
// real answers hold more than their schemas say. No rule by name, schema or
// reduction touches a member that [Essential] names, but for those in names that
// say so; and none touches an identifier (see keep).
var rules = struct {
	// values apply to every member by its value.
	values []valueRule
	// names apply to members by their exact name.
	names []nameRule
	// suffixes apply to the end of names.
	suffixes []suffixRule
	// words apply to declared members one of whose words is among these.
	words []wordRule
	// formats apply to members of resources with an identifier whose schema has one of
	// these string formats; rules by value see absolute addresses only.
	formats []formatRule
	// schemas apply to declared members by what their schema says.
	schemas []schemaRule
	// numbers name members whose arrays of numbers are cut.
	numbers []nameRule
	// keep wins over all of the above.
	keep []keepRule
}{
	values: []valueRule{
		{engine.DropNull, "null says what a missing member says, in four more tokens"},
		{engine.DropEmpty, "an empty string, list or object says what a missing member says"},
		{engine.DropURL, "an address of another call or of a page; the ids beside it are what tools take"},
	},
	names: []nameRule{
		{"etag", "a version for conditional requests, which no tool takes"},
		{"_etag", "as etag, in another spelling"},
		{"eTag", "as etag, in another spelling"},
		{"@odata.etag", "as etag, in another spelling"},
		{"@odata.context", "OData: where the metadata of the answer is"},
		{"node_id", "a second identifier, of another API, beside id"},
		{"selfLink", "the address of the object itself, relative where a URL is not"},
		{"self_link", "as selfLink"},
		{"managedFields", "which program last wrote each field: bookkeeping between programs, often longer than the object"},
		{"gravatar_url", "the picture of a person"},
		{"avatarUrls", "pictures of a person in several sizes"},
		{"avatar_urls", "as avatarUrls"},
		{"avatarUrl", "the picture of a person"},
		{"avatarHash", "the picture of a person, as a part of its address"},
		{"avatar_hash", "as avatarHash"},
		{"avatar_template", "the address of a picture with its size left open"},
		{"acting_avatar_template", "as avatar_template"},
		{"avatar", "the picture of a person"},
		{"avatars", "pictures of a person"},
		{"icon", "a picture for a page"},
		{"icons", "pictures for a page"},
		{"iconUrl", "a picture for a page"},
		{"thumbnail", "a small picture for a page"},
		{"thumbnails", "small pictures for a page"},
	},
	suffixes: []suffixRule{
		{"_url", "an address, relative where the rule by value does not see it"},
		{"_href", "as _url, in another spelling"},
	},
	words: []wordRule{
		{"avatar", "the picture of a person"},
		{"icon", "a picture for a page"},
		{"favicon", "a picture for a page"},
		{"thumbnail", "a small picture for a page"},
		{"gravatar", "the picture of a person"},
	},
	formats: []formatRule{
		{"uri-template", "a pattern of addresses for programs that follow links"},
		{"uri-reference", "a relative address, meaningless without the one it was fetched from"},
	},
	schemas: []schemaRule{
		{isDeprecated, "deprecated: the specification says not to use it"},
		{isConstant, "the specification allows this one value, so it tells nothing"},
		{isRepeated, "a whole resource inside another: its identifier, name and state stay, a call with them gives the rest"},
	},
	numbers: []nameRule{
		{"embedding", "an embedding: thousands of tokens that no language model can read; its first numbers and its length stay"},
		{"embeddings", "as embedding, in another spelling"},
		{"vector", "as embedding, in another spelling"},
		{"vectors", "as embedding, in another spelling"},
		{"_vectors", "as embedding, in another spelling"},
		{"dense_vector", "as embedding, in another spelling"},
	},
	keep: []keepRule{
		{isParameter, "a member that a tool of the same API takes as an argument is an identifier, even if it is an address"},
		{isWritable, "an address that a caller sets on this resource is content: a webhook's target, a homepage"},
		{nextPage, "the address of the next page holds the cursor that the next call needs"},
		{loneAddress, "an object of which nothing but addresses is left exists to give them: a picture made, a file to download"},
	},
}

type valueRule struct {
	bits engine.Rules
	why  string
}

type (
	nameRule   struct{ name, why string }
	suffixRule struct{ suffix, why string }
	wordRule   struct{ word, why string }
	formatRule struct{ format, why string }
)

type schemaRule struct {
	when schemaCase
	why  string
}

// schemaCase is what a schema says of a member.
type schemaCase int

const (
	isDeprecated schemaCase = iota
	isConstant
	isRepeated
)

type keepRule struct {
	when keepCase
	why  string
}

// keepCase is a condition under which a member stays.
type keepCase int

const (
	isParameter keepCase = iota
	isWritable
	nextPage
	loneAddress
)

// numbersKept is how many numbers of an embedding stay: enough to see its scale.
const numbersKept = 3

// nextNames name addresses of a next page; linkNames hold hypermedia, of which
// only what leads to the next page is kept.
var (
	nextNames = []string{"next", "next_page", "nextPage", "next_url", "nextUrl", "nextLink", "next_link", "next_page_url", "next_page_uri", "next_href", "@odata.nextLink", "continue"}
	linkNames = []string{"_links", "links"}
)

// addressNames are names under which an answer may hold an address that a tool
// takes, without a schema that says so.
var addressNames = map[string]struct{}{
	"url": {}, "urls": {}, "uri": {}, "uris": {}, "href": {}, "link": {}, "links": {}, "origin": {}, "destination": {}, "source": {}, "target": {},
	"callback": {}, "webhook": {}, "endpoint": {}, "website": {}, "homepage": {}, "site": {}, "host": {}, "domain": {}, "iri": {}, "ref": {},
}
