package projection

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/engine"
	"github.com/sluicegate/sluice/plugins/operation"
)

func str(format string) *operation.Schema {
	return &operation.Schema{Type: operation.TypeString, Format: format}
}

func obj(props ...operation.Property) *operation.Schema {
	return &operation.Schema{Type: operation.TypeObject, Properties: props}
}

func arr(items *operation.Schema) *operation.Schema {
	return &operation.Schema{Type: operation.TypeArray, Items: items}
}

func prop(name string, s *operation.Schema) operation.Property {
	return operation.Property{Name: name, Schema: s}
}

// shopIndex is of an API that takes page_ref and repo_id, origin (any text), and
// sets a hook's url and a repo's homepage.
func shopIndex() Index {
	var index Index
	index.Add(&operation.Operation{Path: "/pages", Plan: &operation.Plan{Params: []operation.Param{
		{Arg: "page_ref", Name: "pageRef", In: operation.InQuery},
		{Arg: "repo_id", Name: "repo_id", In: operation.InPath, Schema: str("")},
		{Arg: "origin", Name: "origin", In: operation.InQuery, Schema: str("uuid")},
		{Arg: "secret", Name: "etag", In: operation.InHeader},
	}}})
	index.Add(&operation.Operation{Path: "/hooks", Plan: &operation.Plan{Body: &operation.Body{
		Fields: []operation.Field{{Arg: "whispers_url", Name: "whispers_url", Schema: str("")}, {Arg: "avatar_url", Name: "hook_avatar_url", Schema: str("uri")}, {Arg: "url", Name: "url", Schema: str("uri")}, {Arg: "repo", Name: "repo", Schema: obj(prop("homepage", str("")))}},
	}}})
	// A body that is one of two.
	duo := obj(prop("provider", obj(prop("config", obj(prop("host", str("")))))))
	index.Add(&operation.Operation{Path: "/keys", Plan: &operation.Plan{Body: &operation.Body{Schema: &operation.Schema{AnyOf: []*operation.Schema{obj(), duo}}}}})
	return index
}

func TestDefault(t *testing.T) {
	index, method := shopIndex(), ""
	f := func(path string, response *operation.Schema, in, want string) {
		t.Helper()
		table, err := Compile(&operation.Operation{Method: method, Path: path, Response: response}, index, &engine.Memory{})
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := engine.Reference(nil, table, []byte(in), engine.Limits{})
		if err != nil || string(got) != want {
			t.Fatalf("got  %s, %v\nwant %s", got, err, want)
		}
	}
	integer := &operation.Schema{Type: operation.TypeInteger}
	of := func(name string, s *operation.Schema) *operation.Schema {
		return obj(prop("a", obj(prop("b", obj(prop(name, s))))))
	}
	deep := func(s *operation.Schema) *operation.Schema { return of("c", s) }
	user := obj(prop("id", integer), prop("site", str("uri")), prop("avatar_url", str("")), prop("name", str("")))
	issue := obj(prop("id", integer), prop("title", str("")), prop("url", str("uri")), prop("user", user), prop("pageRef", str("uri")))

	// Addresses go at every level, null and empty go, undeclared members stay.
	f("/issues", arr(issue),
		`[{"id":1,"title":"a","url":"https://x/1","html_url":"https://x","extra":{"k":null,"a_url":"u","v":1,"w":{"x":""}},"user":{"id":2,"site":"https://s","avatar_url":"v","name":null},"_links":{"self":1},"pageRef":"https://x/?p=2"}]`,
		`[{"id":1,"title":"a","url":"https://x/1","html_url":"https://x","extra":{"a_url":"u","v":1},"user":{"id":2,"site":"https://s"},"_links":{"self":1},"pageRef":"https://x/?p=2"}]`)
	// A picture goes, but for what a tool takes.
	f("/issues", arr(obj(prop("id", integer), prop("avatars", obj(prop("width", integer), prop("repo_id", str("")))), prop("avatar", obj(prop("width", integer))))),
		`[{"id":1,"avatars":{"width":9,"repo_id":"r","alt":"x"},"avatar":{"width":9}}]`, `[{"id":1,"avatars":{"repo_id":"r"}}]`)
	f("/issues", arr(obj(prop("id", integer), prop("icon", obj(prop("emoji", str("")), prop("repo_id", str("")))))),
		`[{"id":1,"icon":{"emoji":"x","repo_id":"r","alt":"x","url":"https://x"}}]`, `[{"id":1,"icon":{"emoji":"x","repo_id":"r"}}]`)
	f("/issues", arr(obj(prop("id", integer), prop("icon", obj(prop("text", str("")), prop("textColor", str("")), prop("url", str("")))))),
		`[{"id":1,"icon":{"text":"5","textColor":"FFF","url":"https://x"}}]`, `[{"id":1,"icon":{"text":"5"}}]`)
	f("/issues", arr(obj(prop("id", integer), prop("vehicleIcon", obj(prop("name", str("")), prop("color", str("")))))), `[{"id":1,"vehicleIcon":{"name":"bus","color":"FFF"}}]`, `[{"id":1,"vehicleIcon":{"name":"bus"}}]`)
	// A setting called after pictures is not a picture, and a small picture is asked for.
	f("/pages", obj(prop("id", integer), prop("avatarOption", &operation.Schema{Type: operation.TypeString, Enum: []string{`"LOGO"`, `"PHOTO"`}}), prop("avatarHue", str(""))),
		`{"id":1,"avatarOption":"LOGO","avatarHue":"x"}`, `{"id":1,"avatarOption":"LOGO"}`)
	f("/videos", obj(prop("id", integer), prop("thumbnail_url", str("")), prop("thumbnail", obj(prop("width", integer)))),
		`{"id":1,"thumbnail_url":"https://api.x/v1/1.jpg","thumbnail":{"width":9}}`, `{"id":1,"thumbnail_url":"https://api.x/v1/1.jpg","thumbnail":{"width":9}}`)
	// An etag that is an object is a feature, and a node_id without an id no second one.
	f("/config", obj(prop("etag", obj(prop("supported", nil))), prop("patch", obj(prop("supported", nil)))), `{"etag":{"supported":false},"patch":{"supported":true}}`, `{"etag":{"supported":false},"patch":{"supported":true}}`)
	f("/events", arr(obj(prop("type", integer), prop("node_id", integer))), `[{"type":2,"node_id":1}]`, `[{"type":2,"node_id":1}]`)
	// The addresses of what is made of places to go stay.
	dsn := obj(prop("public", str("")), prop("csp", str("")))
	f("/keys", arr(obj(prop("id", str("")), prop("dsn", dsn), prop("endpoints", obj(prop("token", obj(prop("url", str("")))))))),
		`[{"id":"1","dsn":{"public":"https://a@x.example/1","csp":"https://x.example/api/1/csp/"},"endpoints":{"token":{"url":"https://api.x.example/v3/token"}}}]`,
		`[{"id":"1","dsn":{"public":"https://a@x.example/1","csp":"https://x.example/api/1/csp/"},"endpoints":{"token":{"url":"https://api.x.example/v3/token"}}}]`)
	f("/keys", nil, `[{"id":"1","dsn":{"csp":"https://x.example/api/1/csp/","id":2}}]`, `[{"id":"1","dsn":{"csp":"https://x.example/api/1/csp/","id":2}}]`)
	sso := obj(prop("acs", obj(prop("url", str("")))), prop("first", obj(prop("href", str("")))))
	f("/idps", arr(obj(prop("id", str("")), prop("a", obj(prop("endpoints", sso))))),
		`[{"id":"1","a":{"endpoints":{"acs":{"url":"https://api.x.example/v3/acs"},"first":{"href":"https://api.x.example/v3/first"}}}}]`,
		`[{"id":"1","a":{"endpoints":{"acs":{"url":"https://api.x.example/v3/acs"},"first":{"href":"https://api.x.example/v3/first"}}}}]`)
	// An href is where a file is, of what is called after one.
	download := obj(prop("pdf", str("")), prop("href", str("")))
	f("/labels", obj(prop("id", integer), prop("label_download", download), prop("form_download", download), prop("carrier", download)),
		`{"id":1,"label_download":{"pdf":"https://api.x/v1/1.pdf","href":"https://api.x/v1/1.pdf"},"form_download":{"href":"https://api.x/v1/2.pdf"},"carrier":{"pdf":"no","href":"https://api.x/v1/3"}}`,
		`{"id":1,"label_download":{"pdf":"https://api.x/v1/1.pdf","href":"https://api.x/v1/1.pdf"},"form_download":{"href":"https://api.x/v1/2.pdf"},"carrier":{"pdf":"no"}}`)
	// A schema that says nothing is none; files stay where a schema says nothing of them.
	for _, nothing := range []*operation.Schema{nil, {}, {Type: operation.TypeObject}, arr(&operation.Schema{}), arr(arr(nil))} {
		f("/x", nothing, `{"id":1,"a":{"b":{"c":{"webhook":"https://api.x/v1/in","icon":"ok","url":"https://api.x/v2/c"}}}}`, `{"id":1,"a":{"b":{"c":{"webhook":"https://api.x/v1/in","icon":"ok","url":"https://api.x/v2/c"}}}}`)
	}
	f("/invoices", obj(prop("Invoices", arr(obj(prop("InvoiceID", str("")))))), `{"Invoices":[{"InvoiceID":"1","Attachments":[{"FileName":"a.jpg","Url":"https://api.x/api.x/2.0/a.jpg","self":"https://api.x/v2/a"}]}]}`,
		`{"Invoices":[{"InvoiceID":"1","Attachments":[{"FileName":"a.jpg","Url":"https://api.x/api.x/2.0/a.jpg"}]}]}`)
	f("/clips", nil, `{"id":1,"files":[{"id":2,"fileDownloadUrl":"https://x/api/v1/2","others_url":"https://x/api/v1/3"}]}`, `{"id":1,"files":[{"id":2,"fileDownloadUrl":"https://x/api/v1/2"}]}`)
	f("/mails", obj(prop("id", integer), prop("attachments", arr(obj(prop("id", integer), prop("object", &operation.Schema{Type: operation.TypeString, Enum: []string{`"file"`}}))))),
		`{"id":1,"attachments":[{"id":2,"object":"file","url":"https://api.x/v1/2"}]}`, `{"id":1,"attachments":[{"id":2,"url":"https://api.x/v1/2"}]}`)
	// The address of a thing stays where its schema declares none, but not beside one that it declares.
	f("/hits", obj(prop("hits", arr(obj(prop("objectID", str("")))))), `{"hits":[{"objectID":"1","url":"https://api.x/v1/1"}]}`, `{"hits":[{"objectID":"1","url":"https://api.x/v1/1"}]}`)
	f("/hits", obj(prop("hits", arr(obj(prop("objectID", str("")), prop("page_url", str("")))))), `{"hits":[{"objectID":"1","url":"https://api.x/v1/1"}]}`, `{"hits":[{"objectID":"1"}]}`)
	// What is called after no part of the API is none of its things, declared or not.
	f("/hits", arr(of("flaw", obj(prop("id", integer), prop("url", str(""))))), `[{"a":{"b":{"flaw":{"id":1,"url":"https://api.x/v1/1"}}}}]`, `[{"a":{"b":{"flaw":{"id":1,"url":"https://api.x/v1/1"}}}}]`)
	f("/hits", obj(prop("result", obj(prop("id", integer), prop("hit_url", str("")), prop("sales_url", str(""))))), `{"result":{"id":1,"sheets":[{"id":2,"url":"https://api.x/v1/1","self":"https://api.x/v1/1"}]}}`, `{"result":{"id":1,"sheets":[{"id":2,"url":"https://api.x/v1/1"}]}}`)
	// So does one that its name says people ask for, wherever, and one that a body of the API has.
	f("/hits", deep(obj(prop("id", integer))), `{"a":{"b":{"c":{"id":1,"recording_url":"https://api.x/v1/1","doc@odata.mediaReadLink":"https://api.x/v1/2","xbes_url":"https://api.x/v1/3"}}}}`, `{"a":{"b":{"c":{"id":1,"recording_url":"https://api.x/v1/1","doc@odata.mediaReadLink":"https://api.x/v1/2"}}}}`)
	f("/calls", deep(obj(prop("id", integer))), `{"a":{"b":{"c":{"id":1,"whispers_url":"https://api.x/v1/1","hook_avatar_url":"https://api.x/v1/2"}}}}`, `{"a":{"b":{"c":{"id":1,"whispers_url":"https://api.x/v1/1"}}}}`)
	// In what somebody has stored no name is one of the API: of fields on the first level, of a document on all.
	stored := `{"id":1,"X":{"etag":"e","self":"https://api.x/v1/1","icon":"i","user":{"avatar":"a","n":null}}}`
	for name, inside := range map[string]string{"fields": `"user":{}`, "_source": `"user":{"avatar":"a"}`, "metadata": `"user":{}`} {
		want := strings.ReplaceAll(`{"id":1,"X":{"etag":"e","self":"https://api.x/v1/1","icon":"i",`+inside+`}}`, `,"user":{}`, "")
		f("/x", obj(prop("id", integer), prop(name, &operation.Schema{Type: operation.TypeObject})), strings.ReplaceAll(stored, "X", name), strings.ReplaceAll(want, "X", name))
	}
	f("/x", nil, strings.ReplaceAll(stored, "X", "_source"), `{"id":1,"_source":{"etag":"e","self":"https://api.x/v1/1","icon":"i","user":{"avatar":"a"}}}`)
	f("/fields", &operation.Schema{Type: operation.TypeObject, Additional: str("")}, `{"etag":"e","self":"https://api.x/v1/1","vector":[1,2,3,4,5,6,7,8,9,10]}`, `{"etag":"e","self":"https://api.x/v1/1","vector":[1,2,3,"…[+7]"]}`)
	// A file's address, however its members are spelt.
	f("/invoices", obj(prop("Attachments", arr(obj(prop("FileName", str("")), prop("Url", str("")))))), `{"Attachments":[{"FileName":"a","Url":"https://api.x/v2/a"}]}`, `{"Attachments":[{"FileName":"a","Url":"https://api.x/v2/a"}]}`)
	// A version stays where a tool takes it, in each spelling.
	versions := `{"value":[{"id":1,"@odata.etag":"W/1","etag":"2","eTag":"3"}]}`
	f("/rows", nil, versions, `{"value":[{"id":1}]}`)
	index.Add(&operation.Operation{Path: "/rows/{id}", Plan: &operation.Plan{Params: []operation.Param{{Arg: "if_match", Name: "If-Match", In: operation.InHeader}}}})
	f("/rows", nil, versions, versions)
	index = shopIndex()
	// An address that is all there is stays, near the top.
	f("/files", obj(prop("upload_url", str("uri"))), `{"upload_url":"https://x","b64":null}`, `{"upload_url":"https://x"}`)
	f("/images", nil, `{"created":5,"data":[{"url":"https://x","b64":null}]}`, `{"created":5,"data":[{"url":"https://x"}]}`)
	f("/images", nil, `{"id":5,"a":{"b":{"c":{"href":"https://api.x/1"}}}}`, `{"id":5}`)
	// What is known by name goes, but not what says what people ask for.
	f("/files", nil, `{"id":1,"etag":"abc","node_id":"MDQ6","avatarUrls":{"16x16":"https://p"},"icon_type":"svg","managedFields":[{"manager":"x"}],"avatar_template":"/p/{size}"}`,
		`{"id":1,"node_id":"MDQ6","icon_type":"svg"}`)
	f("/files", obj(prop("id", integer), prop("user_avatar_hash", str("")), prop("icon_type", str("")), prop("color_icon", str(""))),
		`{"id":1,"user_avatar_hash":"ab","icon_type":"svg","color_icon":"red"}`, `{"id":1,"icon_type":"svg","color_icon":"red"}`)
	// A number named like an address is none.
	f("/files", obj(prop("count_url", integer), prop("a", str(""))), `{"a":"b","count_url":7}`, `{"a":"b","count_url":7}`)
	// What a tool takes stays, whatever it holds: by its name, behind its resource's
	// name, and where no schema speaks of it.
	f("/repos", arr(obj(prop("id", str("")), prop("name", str("")))), `[{"id":"https://api.x/1","self_url":"https://api.x"}]`, `[{"id":"https://api.x/1"}]`)
	// An address of an API under a name that does not say so is part of what the thing is: of its zone, its source.
	f("/machines", obj(prop("id", integer), prop("zone", str("")), prop("log", obj(prop("id", integer), prop("source", str(""))))),
		`{"id":1,"zone":"https://api.x/v1/zones/a","more":"https://api.x/v1","zoneLink":"https://api.x/v1/z","zonesLink":"https://api.x/v1/z","log":{"id":2,"source":"https://api.y/v1/log","Self":"https://api.x/v1/log"}}`,
		`{"id":1,"zone":"https://api.x/v1/zones/a","more":"https://api.x/v1","zoneLink":"https://api.x/v1/z","log":{"id":2,"source":"https://api.y/v1/log"}}`)
	// The bare address of what nothing recognizes as a thing of the API is content, however deep; of
	// what has an id or a name it is, in a list, where the API has it.
	f("/rows", deep(obj(prop("label", str("")), prop("url", str("")))), `{"a":{"b":{"c":{"label":"Open","url":"https://api.y/v1/go"}}}}`, `{"a":{"b":{"c":{"label":"Open","url":"https://api.y/v1/go"}}}}`)
	f("/rows", deep(obj(prop("label", str("")), prop("href", str("")))), `{"a":{"b":{"c":{"label":"Open","href":"https://api.y/v1/go"}}}}`, `{"a":{"b":{"c":{"label":"Open","href":"https://api.y/v1/go"}}}}`)
	f("/rows", arr(of("key", obj(prop("name", str("")), prop("url", str(""))))), `[{"a":{"b":{"key":{"name":"Open","url":"https://api.y/v1/go"}}}}]`, `[{"a":{"b":{"key":{"name":"Open"}}}}]`)
	f("/rows", deep(obj(prop("status_code", integer), prop("url", str("")))), `{"a":{"b":{"c":{"status_code":5,"url":"https://api.y/v1/go"}}}}`, `{"a":{"b":{"c":{"status_code":5,"url":"https://api.y/v1/go"}}}}`)
	f("/rows", arr(of("key", obj(prop("code", str("")), prop("url", str(""))))), `[{"a":{"b":{"key":{"code":"x","url":"https://api.y/v1/go"}}}}]`, `[{"a":{"b":{"key":{"code":"x"}}}}]`)
	f("/rows", deep(obj(prop("id", integer), prop("format", str("")), prop("url", str("")))), `{"a":{"b":{"c":{"id":1,"format":"CSV","url":"https://api.y/v1/rows"}}}}`, `{"a":{"b":{"c":{"id":1,"format":"CSV","url":"https://api.y/v1/rows"}}}}`)
	// Of an object of which its schema says nothing more, too, and of what is below a stored one.
	f("/rows", deep(&operation.Schema{Type: operation.TypeObject}), `{"a":{"b":{"c":{"d":{"id":1,"URL":"https://api.y/v1/go","edit_link":"https://api.y/v1/e"}}}}}`, `{"a":{"b":{"c":{"d":{"id":1,"URL":"https://api.y/v1/go"}}}}}`)
	f("/rows", obj(prop("id", integer), prop("fields", &operation.Schema{Type: operation.TypeObject})), `{"id":1,"fields":{"Button":{"id":2,"url":"https://api.y/v1/go"}}}`, `{"id":1,"fields":{"Button":{"id":2,"url":"https://api.y/v1/go"}}}`)
	// What a schema says of a list called value counts, as in answers of OData.
	f("/sites", obj(prop("value", arr(obj(prop("id", integer), prop("definition", obj(prop("agreement_url", str("")), prop("avatar", str("")))))))),
		`{"value":[{"id":1,"definition":{"agreement_url":"https://api.y/v1/a","avatar":"x"}}]}`, `{"value":[{"id":1,"definition":{"agreement_url":"https://api.y/v1/a"}}]}`)
	f("/trips", nil, `[{"id":1,"origin":"https://api.x/1","goals_link":"https://api.x/2","links":{"origin":"https://api.x/1","self":"https://x"}}]`,
		`[{"id":1,"origin":"https://api.x/1","links":{"origin":"https://api.x/1","self":"https://x"}}]`)
	// An address with a name of its own is what an answer gives, declared or not, however deep and
	// beside however many others: not one that leads to what a tool gives, but for that of what was
	// just made.
	link := obj(prop("id", integer), prop("rescue_link", str("")), prop("sales_url", str("")), prop("deep", obj(prop("a", obj(prop("b", obj(prop("rescue_link", str("")))))))))
	in := `{"id":1,"rescue_link":"https://api.x/v1/r","keys_url":"https://api.x/v1/keys","sales_url":"https://api.x/v1/s","page_url":"https://api.x/v1/p","lakes_url":"https://api.x/v1/l",` +
		`"lake_url":"https://api.x/v1/l","deep":{"a":{"b":{"rescue_link":"https://api.x/v1/r","undeclared":{"selfUrl":"https://api.x/v1/b","fishUri":"https://api.x/v1/f"}}}}}`
	out := `{"id":1,"rescue_link":"https://api.x/v1/r","sales_url":"https://api.x/v1/s","lake_url":"https://api.x/v1/l","deep":{"a":{"b":{"rescue_link":"https://api.x/v1/r","undeclared":{"fishUri":"https://api.x/v1/f"}}}}}`
	f("/keys", obj(prop("data", link)), `{"data":`+in+`}`, `{"data":`+out+`}`)
	f("/keys", arr(link), `[`+in+`]`, `[`+out+`]`)
	f("/keys", obj(prop("id", integer), prop("keys_url", str("")), prop("key_link", &operation.Schema{})), `{"id":1,"keys_url":"https://api.x/v1/k","key_link":"https://api.x/v1/l"}`, `{"id":1,"key_link":"https://api.x/v1/l"}`)
	method = "POST"
	f("/keys", obj(prop("id", integer), prop("keys_url", str("")), prop("key_url", str("")), prop("page_url", str(""))), `{"id":1,"keys_url":"https://api.x/v1/k","key_url":"https://api.x/v1/k","page_url":"https://api.x/v1/p","deleteUrl":"https://api.x/v1/d"}`,
		`{"id":1,"key_url":"https://api.x/v1/k","deleteUrl":"https://api.x/v1/d"}`)
	method = ""
	// The picture beside it is no better address of a thing, the page is.
	f("/sources", arr(obj(prop("id", integer), prop("url", str("")), prop("typeLogoUrl", str("")))), `[{"id":1,"url":"https://api.x/v1/"}]`, `[{"id":1,"url":"https://api.x/v1/"}]`)
	f("/sources", arr(obj(prop("id", integer), prop("url", str("")), prop("html_url", str("")))), `[{"id":1,"url":"https://api.x/v1/"}]`, `[{"id":1}]`)
	// What callers have stored under names of their own is content, and so is a value.
	texts := &operation.Schema{Type: operation.TypeObject, Additional: str("")}
	f("/x", obj(prop("images", texts), prop("more", obj())), `{"images":{"1:2":"https://api.x/v1/i"},"more":{"id":1,"self_link":"https://api.x/v1/i"}}`, `{"images":{"1:2":"https://api.x/v1/i"},"more":{"id":1}}`)
	f("/x", arr(obj(prop("id", integer), prop("fields", obj()), prop("parameters", arr(obj(prop("name", str("")), prop("value", str(""))))))),
		`[{"id":1,"fields":{"Link":"https://api.x/v1/i","author":{"self":"https://api.x/v1/a","id":2}},"parameters":[{"name":"to","value":"https://api.x/v1/t"}]}]`,
		`[{"id":1,"fields":{"Link":"https://api.x/v1/i","author":{"id":2}},"parameters":[{"name":"to","value":"https://api.x/v1/t"}]}]`)
	f("/x", nil, `{"fields":{"site":{"stringValue":"https://api.x/v1/"}}}`, `{"fields":{"site":{"stringValue":"https://api.x/v1/"}}}`)
	method = "POST"
	f("/keys", obj(prop("id", integer), prop("key_url", str("")), prop("deleteUrl", str("")), prop("next_page_link", str(""))), `{"id":1,"key_url":"https://api.x/v1/k","deleteUrl":"https://api.x/v1/d","next_page_link":"https://api.x/v1/n"}`,
		`{"id":1,"key_url":"https://api.x/v1/k","deleteUrl":"https://api.x/v1/d","next_page_link":"https://api.x/v1/n"}`)
	method = ""
	// The form of a file names an address of it, and a node_id beside a key is the first id.
	f("/keys", obj(prop("id", integer), prop("xml_url", str("")), prop("media_url", str(""))), `{"id":1,"xml_url":"https://api.x/v1/k","media_url":"https://api.x/v1/m"}`,
		`{"id":1,"xml_url":"https://api.x/v1/k","media_url":"https://api.x/v1/m"}`)
	f("/parts", obj(prop("key", str("")), prop("node_id", str(""))), `{"key":"a","node_id":"1:2"}`, `{"key":"a","node_id":"1:2"}`)
	f("/parts", obj(prop("id", str("")), prop("node_id", str(""))), `{"id":"a","node_id":"1:2"}`, `{"id":"a"}`)
	// Nor is it a second one in what no schema describes. An address of something related is none of the API.
	f("/parts", nil, `{"id":"a","at":{"node_id":"1:2"}}`, `{"id":"a","at":{"node_id":"1:2"}}`)
	f("/parts", arr(deep(obj(prop("id", integer)))), `[{"a":{"b":{"c":{"id":1,"RelatedURL":"https://api.y/v1/p","related_url":"https://api.y/v1/p"}}}}]`, `[{"a":{"b":{"c":{"id":1,"RelatedURL":"https://api.y/v1/p","related_url":"https://api.y/v1/p"}}}}]`)
	// What a caller sets is content.
	hook := obj(prop("id", integer), prop("url", str("uri")), prop("keys_url", str("uri")), prop("repo", obj(prop("homepage", str("")), prop("name", str("")))))
	f("/hooks", arr(hook), `[{"id":1,"url":"https://api.mine","keys_url":"https://api.x","repo":{"name":"r","homepage":"https://h"}}]`,
		`[{"id":1,"url":"https://api.mine","repo":{"name":"r","homepage":"https://h"}}]`)
	f("/hooks", arr(hook), `[{"id":1,"url":null}]`, `[{"id":1}]`)
	f("/keys", arr(obj(prop("id", integer), prop("provider", obj(prop("config", obj(prop("host", str("")), prop("origin_host", str("")), prop("parent", str("")))))))),
		`[{"id":1,"provider":{"config":{"host":"https://api-1.two.example","parent":"https://api-1.two.example"}}}]`, `[{"id":1,"provider":{"config":{"host":"https://api-1.two.example"}}}]`)
	// The way to the next page stays.
	f("/files", nil, `{"next":"https://x?page=2","previous":"https://api.x?page=0","links":{"self":"https://x","next":"https://x?c=1"},"_links":{"self":{"href":"https://x"},"next":{"href":"https://x?c=2"}}}`,
		`{"next":"https://x?page=2","links":{"self":"https://x","next":"https://x?c=1"},"_links":{"self":{"href":"https://x"},"next":{"href":"https://x?c=2"}}}`)
	// That of the thing itself goes where it is one of an API, and stays where a file is.
	f("/files", nil, `[{"id":1,"_links":{"self":"https://x.example/g/r/1"}},{"id":2,"_links":{"self":{"href":"https://api.x/2","type":"application/hal+json"}}},{"id":3,"files":[{"key":"a","links":{"self":"https://x/api/files/a","all":"https://x/api/files"}}]}]`,
		`[{"id":1,"_links":{"self":"https://x.example/g/r/1"}},{"id":2},{"id":3,"files":[{"key":"a","links":{"self":"https://x/api/files/a"}}]}]`)
	kept := obj(prop("key", str("")), prop("links", obj(prop("self", str("")))))
	f("/files", arr(obj(prop("id", integer), prop("document", kept), prop("row", kept))), `[{"id":1,"document":{"key":"a","links":{"self":"https://x/api/a"}},"row":{"key":"a","links":{"self":"https://x/api/a"}}}]`,
		`[{"id":1,"document":{"key":"a","links":{"self":"https://x/api/a"}},"row":{"key":"a"}}]`)
	// Of what was made, those that are texts stay as those that are objects do.
	method = "POST"
	f("/files", obj(prop("id", integer), prop("links", obj())), `{"id":1,"links":{"bucket":"https://x/api/files/1","edit":"https://x/api/1/edit"}}`, `{"id":1,"links":{"bucket":"https://x/api/files/1"}}`)
	method = ""
	f("/files", nil, `{"id":1,"links":{"pages":{"first":"https://api.x?page=1","next":"https://api.x?page=2"}}}`, `{"id":1,"links":{"pages":{"next":"https://api.x?page=2"}}}`)
	// So do declared relations that people follow.
	f("/files", obj(prop("id", integer), prop("_links", obj(prop("clientRedirectUri", obj(prop("href", str("")))), prop("users", obj(prop("href", str(""))))))),
		`{"id":1,"_links":{"clientRedirectUri":{"href":"https://x/oauth2/v1/cb"},"users":{"href":"https://x/api/v1/users"}}}`, `{"id":1,"_links":{"clientRedirectUri":{"href":"https://x/oauth2/v1/cb"}}}`)
	f("/files", nil, `{"id":1,"links":[{"rel":"self","href":"https://x"},{"rel":"next","href":"https://x?c=1"}]}`, `{"id":1,"links":[{"rel":"next","href":"https://x?c=1"}]}`)
	f("/files", nil, `{"id":1,"links":[{"rel":"self","href":"https://x","method":"GET"}]}`, `{"id":1}`)
	f("/files", nil, `{"id":1,"links":[{"rel":"tickets","type":"ticket","id":"t1","templated":false},{"rel":"self","id":"s","uri":"https://x"}]}`, `{"id":1,"links":[{"rel":"tickets","type":"ticket","id":"t1","templated":false}]}`)
	f("/files", nil, `{"id":1,"links":[{"rel":"self","url":"https://x"},{"rel":"all","url":"https://api.x/all"},{"rel":"pay","url":"https://x/pay"},{"name":"Site","url":"https://api.y/v1/s"}]}`,
		`{"id":1,"links":[{"rel":"pay","url":"https://x/pay"},{"name":"Site","url":"https://api.y/v1/s"}]}`)
	paid := `{"id":1,"links":[{"rel":"self","href":"https://api.x/1","method":"GET"},{"rel":"payer","href":"https://x/pay"},{"rel":"capture","href":"https://api.x/1/capture","method":"POST"}]}`
	hypermedia := arr(obj(prop("rel", str("")), prop("href", str("uri")), prop("method", str(""))))
	f("/files", nil, paid, `{"id":1,"links":[{"rel":"payer","href":"https://x/pay"}]}`)
	f("/files/{id}", nil, paid, paid)
	f("/files/{id}", nil, `{"data":`+paid+`}`, `{"data":`+paid+`}`)
	f("/files/{id}/", nil, paid, paid)
	// Links that the schema of one thing leaves out are those of the thing as well.
	f("/files/{id}", obj(prop("id", integer)), paid, paid)
	f("/files/{id}", obj(prop("data", obj(prop("id", integer), prop("links", hypermedia)))), `{"data":`+paid+`}`, `{"data":`+paid+`}`)
	f("/files", arr(obj(prop("id", integer))), "["+paid+"]", `[{"id":1,"links":[{"rel":"payer","href":"https://x/pay"}]}]`)
	// In a list the relation or the media type says that people open it.
	f("/files", nil, `{"id":1,"links":[{"rel":"approve","href":"https://api.x/a"},{"rel":"bill","href":"https://api.x/b","type":"application/pdf"},{"rel":"edit","href":"https://api.x/e"},{"rel":"about","href":"/about","type":"text/html; charset=utf-8"}]}`,
		`{"id":1,"links":[{"rel":"approve","href":"https://api.x/a"},{"rel":"bill","href":"https://api.x/b","type":"application/pdf"},{"rel":"about","href":"/about","type":"text/html; charset=utf-8"}]}`)
	f("/files", nil, `{"id":1,"_links":{"self":{"href":"https://api.x/1"},"redirect":{"href":"https://api.x/3ds/1"},"actions":{"href":"https://api.x/1/actions"}}}`,
		`{"id":1,"_links":{"redirect":{"href":"https://api.x/3ds/1"}}}`)
	f("/files", obj(prop("id", integer), prop("links", hypermedia)), paid, paid)
	f("/files", arr(obj(prop("id", integer), prop("links", hypermedia))), "["+paid+"]", `[{"id":1,"links":[{"rel":"payer","href":"https://x/pay"}]}]`)
	f("/files", nil, `{"id":1,"links":{"self":"https://api.x/1","all":"https://api.x/all","download_location":"https://api.x/1/download","photoUrl":"https://api.x/1/photo"}}`,
		`{"id":1,"links":{"download_location":"https://api.x/1/download","photoUrl":"https://api.x/1/photo"}}`)
	f("/files", arr(obj(prop("id", integer))), `[{"id":1,"deep":{"id":2,"image_url":"https://api.x/v1/i","redirect_uri":"https://api.y/v1/cb","others_url":"https://api.x/v1/t"}}]`,
		`[{"id":1,"deep":{"id":2,"image_url":"https://api.x/v1/i","redirect_uri":"https://api.y/v1/cb"}}]`)
	f("/files", nil, `{"id":1,"deep":{"id":2,"metadataUrl":"https://api.x/v1/m","locationUri":"https://api.x/v1/l","@href":"https://api.x/v1/h","othersUrl":"https://api.x/v1/t"}}`,
		`{"id":1,"deep":{"id":2,"metadataUrl":"https://api.x/v1/m","locationUri":"https://api.x/v1/l","@href":"https://api.x/v1/h"}}`)
	// Constants go; what is deprecated stays as long as it comes.
	old := obj(prop("id", integer), prop("old", &operation.Schema{Type: operation.TypeString, Deprecated: true}),
		prop("old_name", &operation.Schema{Type: operation.TypeString, Deprecated: true}), prop("object", &operation.Schema{Type: operation.TypeString, Enum: []string{`"file"`}}))
	f("/files", old, `{"id":1,"old":"a","old_name":"b","object":"file"}`, `{"id":1,"old":"a","old_name":"b"}`)
	// In a union, the constant tells which of it.
	f("/files", &operation.Schema{AnyOf: []*operation.Schema{old, user}}, `{"id":1,"object":"file"}`, `{"id":1,"object":"file"}`)
	// Embeddings keep their first numbers; other numbers stay.
	f("/vectors", nil, `{"id":1,"embedding":[0.1111,0.2222,0.3333,0.4444,0.5555,0.6666],"weights":[0.1111,0.2222,0.3333,0.4444,0.5555,0.6666]}`,
		`{"id":1,"embedding":[0.1111,0.2222,0.3333,"…[+3]"],"weights":[0.1111,0.2222,0.3333,0.4444,0.5555,0.6666]}`)
	number := &operation.Schema{Type: operation.TypeNumber}
	values := &operation.Schema{Type: operation.TypeArray, Items: number, Description: "The vector data of the record."}
	f("/vectors", obj(prop("values", values), prop("scores", arr(number))), `{"values":[1.111,2.222,3.333,4.444,5.555,6.666],"scores":[1.111,2.222,3.333,4.444,5.555,6.666]}`,
		`{"values":[1.111,2.222,3.333,"…[+3]"],"scores":[1.111,2.222,3.333,4.444,5.555,6.666]}`)
	// An address that stands for another thing is what tells which: called after what the
	// API has, or by its description; so does a relation, where no id does.
	born := &operation.Schema{Type: operation.TypeString, Description: "The URL of the planet."}
	f("/people", arr(obj(prop("id", integer), prop("hook", str("")), prop("homeworld", born), prop("goal", str("")), prop("page_url", born))),
		`[{"id":1,"hook":"https://api.x/v1/hooks/3","homeworld":"https://api.x/v1/planets/1","goal":"https://api.x/v1/goals/1","page_url":"https://api.x/v1/planets/1"}]`,
		`[{"id":1,"hook":"https://api.x/v1/hooks/3","homeworld":"https://api.x/v1/planets/1","goal":"https://api.x/v1/goals/1"}]`)
	owned := prop("_links", obj(prop("repo", obj(prop("href", str("")))), prop("goals", obj(prop("href", str(""))))))
	f("/keys", arr(obj(prop("id", integer), owned)), `[{"id":1,"_links":{"repo":{"href":"https://x/api/v1/repos/3"},"goals":{"href":"https://x/api/v1/goals"}}}]`,
		`[{"id":1,"_links":{"repo":{"href":"https://x/api/v1/repos/3"}}}]`)
	f("/keys", arr(obj(prop("id", integer), prop("repoId", integer), owned)), `[{"id":1,"repoId":3,"_links":{"repo":{"href":"https://x/api/v1/repos/3"}}}]`, `[{"id":1,"repoId":3}]`)
	// What no schema describes is shortened below names whose addresses stay, too.
	for _, name := range []string{"value", "content", "location", "default"} {
		f("/x", nil, `{"`+name+`":[{"id":1,"k":null,"tags":[],"value":"https://api.x/v1/things/1","self_url":"https://api.x/v1/things/1","at":{"lat":1,"zip":null}}]}`,
			`{"`+name+`":[{"id":1,"value":"https://api.x/v1/things/1","at":{"lat":1}}]}`)
	}
	f("/x", obj(prop("id", integer)), `{"id":1,"value":{"k":null,"self_link":"https://api.x/v1/things/1","w":2}}`, `{"id":1,"value":{"w":2}}`)
	// Alternatives that have a member in common keep what each of them keeps in it.
	oidc := obj(prop("kind", str("")), prop("endpoints", obj(prop("token", obj(prop("url", str("")))))))
	saml := obj(prop("kind", str("")), prop("endpoints", obj(prop("sso", obj(prop("url", str("")))))))
	for _, s := range []*operation.Schema{{AnyOf: []*operation.Schema{oidc, saml}}, {AnyOf: []*operation.Schema{saml, oidc}}} {
		f("/idps", obj(prop("id", integer), prop("protocol", s)), `{"id":1,"protocol":{"endpoints":{"token":{"url":"https://api.x/v3/token"}}}}`,
			`{"id":1,"protocol":{"endpoints":{"token":{"url":"https://api.x/v3/token"}}}}`)
	}
	// Maps and alternatives.
	f("/x", &operation.Schema{Type: operation.TypeObject, Additional: user}, `{"k":{"id":1,"avatar_url":"https://s"}}`, `{"k":{"id":1}}`)
	f("/x", &operation.Schema{AnyOf: []*operation.Schema{user, issue}}, `{"id":1,"url":"https://api.u","site":"https://s","href":"https://api.u"}`, `{"id":1,"url":"https://api.u","site":"https://s"}`)
}

// TestWhy: every member that goes has a reason, and it is the rule's.
func TestWhy(t *testing.T) {
	s := arr(obj(prop("id", nil), prop("object", &operation.Schema{Type: operation.TypeString, Enum: []string{`"a"`}})))
	root := New(&operation.Operation{Path: "/x", Response: s}, Index{}).Root()
	for _, c := range [][3]string{
		{"object", "other", "the specification allows this one value, which says what kind of thing it is"},
		{"etag", "other", "a version for conditional requests, which no tool takes"},
		{"a", "null", "null says what a missing member says, in four more tokens"},
		{"a", "url", rules.values[2].why},
		{"self", "url", rules.values[2].why},
		{"api_url", "url", "the address of the object for programs"},
		{"icon", "url", "a picture for a page"},
		{"image_avatar_url", "other", "the picture of a person"},
		{"_links", "other", linksWhy},
		{"a", "other", insideWhy},
	} {
		if got := root.Why(c[0], c[1]); got != c[2] {
			t.Errorf("%s (%s): %q, want %q", c[0], c[1], got, c[2])
		}
	}
	if got := root.Member("x").Member("y").Why("etag", "other"); got == "" {
		t.Error("no reason deep inside")
	}
}

// TestBounds: cycles and wide graphs end, with a program that compiles.
func TestBounds(t *testing.T) {
	node := obj(prop("link", str("uri")), prop("name", str("")))
	node.Properties = append(node.Properties, prop("children", arr(node)), prop("parent", node))
	loop := arr(nil)
	loop.Items = loop
	wide := obj()
	for i := range 3 * maxNodes {
		wide.Properties = append(wide.Properties, prop(fmt.Sprint("p", i), obj(prop("a", str("")), prop(fmt.Sprint("u", i), &operation.Schema{Type: operation.TypeString, Enum: []string{`"a"`}}))))
	}
	for name, s := range map[string]*operation.Schema{"cycle": node, "array of itself": loop, "wide": wide} {
		table, err := Compile(&operation.Operation{Response: s}, Index{}, &engine.Memory{})
		if err != nil || len(table) > 512<<10 {
			t.Errorf("%s: %d bytes, %v", name, len(table), err)
		}
	}
}

// TestAddresses: at most maxAddresses names of parameters are looked for everywhere.
func TestAddresses(t *testing.T) {
	var x Index
	for i := range maxAddresses + 1 {
		x.Add(&operation.Operation{Plan: &operation.Plan{Params: []operation.Param{{Arg: "a", Name: fmt.Sprintf("p%03d_url", i), In: operation.InQuery}}}})
		if want := min(i+1, maxAddresses); len(x.addresses()) != want {
			t.Fatalf("%d names of %d", len(x.addresses()), i+1)
		}
	}
}

func TestEssential(t *testing.T) {
	for _, yes := range []string{"id", "node_id", "orderId", "full_name", "createdAt", "created_at", "total", "unit_amount", "TITLE", "due_date"} {
		if !Essential(yes) {
			t.Errorf("%q is not essential", yes)
		}
	}
	for _, no := range []string{"", "language", "html_url", "fork", "sha", "format"} {
		if Essential(no) {
			t.Errorf("%q is essential", no)
		}
	}
}

func TestIdentifies(t *testing.T) {
	x := shopIndex()
	f := func(resource, name string, typ operation.Type, want bool) {
		t.Helper()
		if got := x.Identifies(resource, name, typ); got != want {
			t.Fatalf("%s.%s is %t", resource, name, got)
		}
	}
	f("", "repo_id", operation.TypeString, true)
	f("", "repoId", operation.TypeString, true)
	f("repo", "id", operation.TypeString, true)
	f("repo", "id", operation.TypeInteger, false) // a text in the path
	f("user", "id", operation.TypeString, false)
	f("box", "box_page_ref", operation.TypeInteger, true) // of any type
	f("", "etag", operation.TypeString, false)            // in a header
}

// TestRulesHaveReasons: a rule without a reason is not readable data.
func TestRulesHaveReasons(t *testing.T) {
	whys := []string{linksWhy, insideWhy}
	for _, r := range rules.values {
		whys = append(whys, r.why)
	}
	for _, r := range append(rules.names, rules.numbers...) {
		whys = append(whys, r.why)
	}
	for _, r := range rules.selves {
		whys = append(whys, r.why)
	}
	for _, r := range rules.suffixes {
		whys = append(whys, r.why)
	}
	for _, r := range rules.words {
		whys = append(whys, r.why)
	}
	for _, r := range rules.schemas {
		whys = append(whys, r.why)
	}
	for _, r := range rules.keep {
		whys = append(whys, r.why)
	}
	if len(whys) < 20 {
		t.Errorf("%d rules", len(whys))
	}
	for _, w := range whys {
		if len(w) < 10 {
			t.Errorf("reason %q", w)
		}
	}
}

func TestOverlap(t *testing.T) {
	s := obj(prop("a", nil), prop("b", nil))
	f := func(s *operation.Schema, names []string, want float64, known bool) {
		t.Helper()
		if got, ok := Overlap(&operation.Operation{Response: s}, names); got != want || ok != known {
			t.Fatalf("got %v, %t", got, ok)
		}
	}
	f(arr(s), []string{"a", "x", "y", "z"}, 0.25, true)
	f(&operation.Schema{AnyOf: []*operation.Schema{s, obj(prop("x", nil))}}, []string{"a", "x", "y", "z"}, 0.5, true)
	f(s, nil, 0, false)
	f(nil, []string{"a"}, 0, false)
	f(obj(), []string{"a"}, 0, false)
}

// TestManyLinks: an answer with many kinds of links keeps the rules that its schema gives.
func TestManyLinks(t *testing.T) {
	var members []operation.Property
	for i := range 60 {
		page := fmt.Sprintf("page%d_html", i)
		members = append(members, prop(fmt.Sprintf("m%d", i), obj(prop("id", str("")), prop("_links", obj(prop(page, obj(prop("href", str("")))))))))
	}
	table, err := Compile(&operation.Operation{Path: "/all", Response: obj(members...)}, Index{}, &engine.Memory{})
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := engine.Reference(nil, table, []byte(`{"m59":{"id":"a","_links":{"page59_html":{"href":"https://api.x/v1/p"},"self":{"href":"https://api.x/v1/a"}}}}`), engine.Limits{})
	if want := `{"m59":{"id":"a","_links":{"page59_html":{"href":"https://api.x/v1/p"}}}}`; err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}
