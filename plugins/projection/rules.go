package projection

import (
	"slices"
	"strings"

	"github.com/sluicegate/sluice/plugins/engine"
)

// The default rules. A rule says what is left out and why an agent does not miss
// it. What no rule names is kept, also what the specification does not declare:
// real answers hold more than their schemas say. No rule by name or schema touches
// a member that [Essential] names, but for those in names that say so; and none
// touches an identifier (see keep).
var rules = struct {
	// values apply to every member by its value.
	values []valueRule
	// names apply to members by their exact name.
	names []nameRule
	// selves apply to addresses under members of these names, also those of pages.
	selves []nameRule
	// suffixes apply to the end of names.
	suffixes []suffixRule
	// words apply to declared members one of whose words is among these.
	words []wordRule
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
		{addressRule, "an address that programs follow, under a name that says so: of the API itself, a template, the picture of a person; the ids beside it are what tools take"},
	},
	names: []nameRule{
		{"etag", "a version for conditional requests, which no tool takes"},
		{"_etag", "as etag, in another spelling"},
		{"eTag", "as etag, in another spelling"},
		{"@odata.etag", "as etag, in another spelling"},
		{"@odata.context", "OData: where the metadata of the answer is"},
		{"__deferred", "OData 2: where members are that were not asked for"},
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
	},
	selves: []nameRule{
		{"api_url", "the address of the object for programs"},
		{"apiUrl", "as api_url"},
		{"api_detail_url", "as api_url"},
		{"resource_uri", "as api_url"},
		{"image_24", "a small picture of a person"},
		{"image_32", "as image_24"},
		{"image_48", "as image_24"},
		{"image_72", "as image_24"},
		{"image_192", "as image_24"},
		{"image_512", "as image_24"},
		{"image_1024", "as image_24"},
		{"image_original", "as image_24"},
	},
	suffixes: []suffixRule{
		{"avatar_url", "the picture of a person"},
		{"avatarUrl", "as avatar_url"},
		{"AvatarUrl", "as avatar_url"},
		{"icon_url", "a picture for a page"},
		{"iconUrl", "as icon_url"},
		{"IconUrl", "as icon_url"},
		{"profile_image_url", "the picture of a person"},
		{"profile_image_url_https", "as profile_image_url"},
	},
	words: []wordRule{
		{"avatar", "the picture of a person", true},
		{"icon", "a picture for a page", false},
		{"favicon", "a picture for a page", false},
		{"gravatar", "the picture of a person", true},
	},
	schemas: []schemaRule{
		{isConstant, "the specification allows this one value, which says what kind of thing it is"},
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
		{isPage, "an address that its name calls a page, a file or a place to go is what people ask for, also one of an API: html_url, permalink, download_url, invoice_pdf"},
		{isWritable, "an address that a caller sets on this resource is content: a webhook's target, a homepage"},
		{nextPage, "the address of the next page holds the cursor that the next call needs"},
		{loneAddress, "an object of which nothing but addresses is left exists to give them: a picture made, a file to download"},
	},
}

// addressRule is the rule by value for addresses.
const addressRule = engine.DropURL | engine.KeepPages | engine.OnlyNamed | engine.KeepAsked

type valueRule struct {
	bits engine.Rules
	why  string
}

type (
	nameRule   struct{ name, why string }
	suffixRule struct{ suffix, why string }
	wordRule   struct {
		word, why string
		all       bool // also what is not an address
	}
)

type schemaRule struct {
	when schemaCase
	why  string
}

// schemaCase is what a schema says of a member.
type schemaCase int

const (
	isConstant schemaCase = iota // and its name is one of kindNames
)

type keepRule struct {
	when keepCase
	why  string
}

// keepCase is a condition under which a member stays.
type keepCase int

const (
	isParameter keepCase = iota
	isPage
	isWritable
	nextPage
	loneAddress
)

// toldWords are words of names whose members somebody may want although a rule
// leaves them out: an answer says so in its last line. What is left out without a
// word is noise: null and empty members, addresses of APIs, templates, pictures of
// people, versions, second identifiers, constants.
var toldWords = set(`icon icons favicon managed`)

// told reports whether an answer says that a member of that name was left out.
func told(name string) bool {
	for _, w := range words(name) {
		if _, ok := toldWords[w]; ok {
			return true
		}
	}
	return false
}

// secondID is an identifier of another API where a schema has it beside an id. Alone, and where
// no schema tells, it may be the only one.
const (
	secondID    = "node_id"
	secondIDWhy = "a second identifier, of another API, beside id"
)

// kindNames say what kind of thing an object is. Constants of other names are kept: a
// unit or a country that the specification knows one of is what people ask for.
var kindNames = []string{"object", "__typename", "_class", "@type", "@context"}

// numbersKept is how many numbers of an embedding stay: enough to see its scale.
const numbersKept = 3

// nextNames name addresses of a next page; linkNames hold hypermedia, of which
// only what leads to the next page is kept.
var (
	nextNames = []string{"next", "more_url", "next_uri", "nextUri", "nextPageUrl", "next_cursor_url", "next_page", "nextPage", "next_url", "nextUrl", "nextLink", "next_link", "next_page_url", "next_page_uri", "next_href", "@odata.nextLink", "continue"}
	linkNames = []string{"_links", "links"}
)

// entryName holds what OData 2 says of an object, and entryBook what only programs need of it.
const entryName = "__metadata"

var entryBook = []string{"id", "uri", "type"}

// relNames are relations of hypermedia that programs follow.
var relNames = []string{"first", "last", "prev", "previous", "curies", "parent", "up", "collection", "related", "edit", "update", "delete", "describedby", "avatar", "icon"}

// selfName is the relation to the object itself.
const selfName = "self"

// apiGlobs are what addresses of an API look like in the condition on a list of
// links; the engine's own rule looks closer.
var apiGlobs = []string{"*://api.*", "*://*.api.*", "*://api-*", "*/api/*", "*://*/v1/*", "*://*/v2/*", "*://*/v3/*", "*{*"}

// followedWords say of a relation of hypermedia that programs follow it, though an address
// in a member that is called so is what people ask for.
var followedWords = set(`sign signing esign signature activate activation accept decline reset restore reschedule polling poll data manifest session dial dialin room
	hls dash mpd mp4 mp3 webm m3u8 srt vtt subtitles captions rtmp whip whep ingest system namespace log logs artifact artifacts answer hangup ring source files details`)

// pictureWords are words of names of pictures and of documents, beside which the address
// of the thing itself is none the worse.
var pictureWords = set(`image photo picture cover banner poster logo artwork screenshot thumbnail thumbnails thumb thumbs badge icon documentation docs help faq guide privacy terms license support`)

// valueNames hold what a caller has stored: an address there is content, as all else is.
var valueNames = strings.Fields(`value Value stringValue string_value oldValue old_value newValue new_value default defaultValue default_value valueUri valueUrl valueCanonical`)

// thingWords name things of which the address is all: one that is called no more than
// url is the picture, the file or the target itself.
var thingWords = set(`webhook hook callback redirect monitor bookmark article feed image photo picture cover banner poster logo artwork
	screenshot thumbnail thumb video audio file attachment document qr qrcode label form ui website homepage token authorization userinfo jwks sso slo acs
	download upload export report invoice receipt statement pdf preview request result setting config configuration link site button`)

// storedWords name objects whose members callers have named and filled, where no schema
// declares any.
var storedWords = set(`field property custom customfield metadata meta variable var parameter param env environment setting annotation label answer input output attribute argument extra cell column`)

// documentNames hold what callers have stored whole, as search engines give it back: no
// name in it is one of the API, however deep.
var documentNames = []string{"_source", "_doc", "document", "doc"}

// placeWords name objects whose members are addresses, each a place to go or to send
// to: the addresses are what the object is for, also those of an API.
var placeWords = set(`dsn endpoint url uri`)

// identityWords are last words of names that tell a thing from others of its kind.
var identityWords = set(`id ids uuid guid uid sid key sha hash name login username slug number count`)

// codeNames do so when they are all of a name: a status_code is not a code of a thing.
var codeNames = []string{"code", "no", "ref", "reference", "rel"}

// bareNames are names of addresses that say nothing else, folded as fileNames are.
var bareNames = []string{"url", "uri", "link"}

// thingNames are more of them, of what is a picture, a file or a target: there an href is
// no address of the object for programs.
var thingNames = append(slices.Clone(bareNames), "href")

// filesNames are usual names of lists of files, and fileAddresses of where a file is: a
// schema often does not declare them in each answer in which they come.
var (
	filesNames    = []string{"attachments", "Attachments", "files"}
	fileAddresses = []string{"url", "Url", "uri", "href", "link", "download_url", "content_url"}
)

// fileWords name a file, which is at its own address.
var fileWords = set(`file attachment document image photo video audio media`)

// fileNames are members of files, beside whose url the file is.
var fileNames = []string{"filename", "mimetype", "contenttype", "mediatype", "filetype", "doctype", "format"}

// relatedNames are of addresses of something else that has to do with a thing; the relation
// "related" of hypermedia is one of the API.
var relatedNames = strings.Fields(`related_url relatedUrl RelatedUrl RelatedURL related_link relatedLink`)

// iconNames hold pictures for a page, or the name of one.
var iconNames = []string{"icon", "icons"}

// iconTexts are what an icon says in words, which stays when its picture goes.
var iconTexts = []string{"emoji", "name", "text", "title", "label", "alt", "description", "hash", "dhash"}

// undescribedNames are names of addresses that stay in answers that no schema describes,
// beside those that say which address it is (engine.Own).
var undescribedNames = strings.Fields(`url uri link URL URI Url Uri Link @href`)

// undescribedRels are relations of hypermedia that stay in such answers, beside pageRels. Of a
// described one the words of its names tell.
var undescribedRels = spellings(strings.Fields(`webhook webhook_url webhookUrl callback callback_url callbackUrl redirect redirect_url redirect_uri redirectUrl
	target_url targetUrl notification_url notificationUrl request_url requestUrl destination_url endpoint endpoint_url base_url baseUrl issuer identifier audience jwks_uri
	token_endpoint authorization_endpoint userinfo_endpoint openapi content long_url longUrl original_url originalUrl signed_url signedUrl put_url form_url formUrl
	photo photo_url picture image image_url imageUrl thumbnail thumbnail_url thumbnailUrl thumb_url upload export preview preview_url previewUrl report_url reportUrl export_url exportUrl
	sso_url single_sign_on_url login_url loginUrl signup_url registration_url confirmation_url verification_url verify_url payment_url approval_url cancel_url return_url success_url
	recording_url recordingUrl stream_url streamUrl qr qr_code calendar feed homepage website Website status_url result_url media_url pdf tracking tracking_url play_url
	public_url share_url label_url logo logo_url cover cover_url tarball url uri link URL URI
	install_url installUrl setup_url setupUrl guide_url guideUrl invite_url inviteUrl iss
	external_url externalUrl signature_url signatureUrl sign_url signUrl signing_url signingUrl attachment_url attachmentUrl document_url documentUrl file_uri fileUrl
	receiptUrl invoice_url invoiceUrl pdf_url pdfUrl csv_url csvUrl joinUrl join_uri video_url videoUrl audio_url audioUrl media_uri mediaUrl source_url sourceUrl
	accept_url acceptUrl recovery_link reset_url resetUrl targetLink thumbnailLink shareUrl labelUrl publicUrl logoUrl checkoutUrl hostedUrl login_uri successUrl returnUrl cancelUrl
	download_location location_uri metadata_url metadata_uri canonical_url retry_url @href
	results_url files_url runbook_url details_url export_uri report_uri checkout_uri payment_uri invoice_uri receipt_uri tracking_uri status_uri recording_uri preview_uri playback_url final_url`))

// spellings adds camelCase to names in snake_case.
func spellings(names []string) []string {
	out := slices.Clone(names)
	for _, n := range names {
		first, rest, more := strings.Cut(n, "_")
		for more {
			var word string
			word, rest, more = strings.Cut(rest, "_")
			first += strings.ToUpper(word[:1]) + word[1:]
		}
		if !slices.Contains(out, first) {
			out = append(out, first)
		}
	}
	return out
}

// openNames are bare addresses in objects that a schema declares and says no more of: few, as
// each program with such an object has them.
var openNames = []string{"url", "Url", "URL", "uri", "link"}

// pageRels are relations of hypermedia that people follow, though their addresses be
// relative or look like those of an API.
var pageRels = strings.Fields(`html web webui alternate permalink download checkout payment approve approval invoice receipt documentation join share
	upload export preview view pdf file content media image document transcript recording thumbnail location callback enclosure
	authorize login signin install qrcode metadata archive redirect scaRedirect scaOAuth payer-action challenge consent verify confirm mandate track tracking play watch badge
	price_check priceCheck payment_options paymentOptions book reserve hold resume`)

// bookNames are members of a link that programs need to follow it: of one that is left
// out nothing is left to follow.
var bookNames = []string{"hints", "templated", "method"}

// addressWords are the last words of names that say that the value is an address,
// so that the value is not the thing itself.
var addressWords = set(`url urls uri uris href hrefs link links self endpoint endpoints ref iri`)

// wayWords are of addresses that lead around in an API, or to a picture of a person.
var wayWords = set(`self api rest resource first last prev previous prior next page parent up related collection edit update delete avatar gravatar icon favicon schema template
	profile events list detail me node object ref rel`)

func set(words string) map[string]struct{} {
	m := map[string]struct{}{}
	for w := range strings.FieldsSeq(words) {
		m[w] = struct{}{}
	}
	return m
}

// page reports whether a name says that its address is what people ask for.
func page(name string) bool {
	return engine.Asked(name) || fold(name) == "requesturl" // but not "pull_request_url": what is asked, not who asks
}

// addressNames are names under which an answer may hold an address that a tool
// takes, without a schema that says so.
var addressNames = map[string]struct{}{
	"url": {}, "urls": {}, "uri": {}, "uris": {}, "href": {}, "link": {}, "links": {}, "origin": {}, "destination": {}, "source": {}, "target": {},
	"callback": {}, "webhook": {}, "endpoint": {}, "website": {}, "homepage": {}, "site": {}, "host": {}, "domain": {}, "iri": {}, "ref": {},
}

// thingObjects are usual names of objects that are no more than where something is, for answers
// that no schema describes: there an href is no address of the object for programs.
var thingObjects = strings.Fields(`download file attachment document image photo picture video audio report export invoice receipt statement label webhook target
	form_download label_download file_download formDownload labelDownload fileDownload`)

// placeNames are usual names of such objects, for answers that no schema describes.
var placeNames = []string{"dsn", "endpoints", "urls", "external_urls"}

// versionNames are versions where they are text, and may be anything where they are
// objects: etag is a feature of SCIM.
var versionNames = map[string]bool{"etag": true, "_etag": true, "eTag": true, "@odata.etag": true}
