package enginepool

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/engine"
)

// TestAddressNames drops the address of an API under a name that says that it is one, and
// under no other, in both implementations.
func TestAddressNames(t *testing.T) {
	names := map[string]bool{
		"zone": false, "": false, "ur": false, "l": false, "urlx": false, "id": false, "paren": false, "revious": false, "urlé": false, `ur\u006d`: false, "dıref": true,
		`ur\u006c`: true, `\u0040id`: true, "URL": true, "HtmlUrl": true, "sELF": true, "a-very-long-name-of-more-than-one-word_href": true,
		strings.Repeat("n", engine.MaxName-3) + "url": true, strings.Repeat("n", engine.MaxName-2) + "url": false,
		"[rl": false, "U@L": false, "ur,": false,
	}
	for w := range strings.FieldsSeq("url urls uri uris iri href hrefs link links self ref @id first last prev previous parent avatar icon") {
		names[w], names["x"+strings.ToUpper(w)] = true, true
	}
	namesDropped(t, engine.OnlyNamed, names)
}

// TestAskedNames keeps the address of an API under a name with a word that says that people
// ask for it, or that says which it is, and under no other, in both implementations.
func TestAskedNames(t *testing.T) {
	names := map[string]bool{
		"url": true, "items_url": true, "reports_url": true, "xlogs_url": true, "LOGURL": true, "2fas_url": true, "__url": true, "Self": true,
		"item_url": false, "logxUrl": false, "LOgUrl": false, "2fa_url": false, "éa_url": false, "items_list_count_url": true, "items_in_url": false, "deleteUrl": false, "self_item_url": true,
		"address_url": false, "corpus_url": false, "axis_url": false, "sms_url": false, "item_self": true, "item@odata.editLink": true, "ITEMSUrl": true, "MYitemsURL": true,
		strings.Repeat("n", 15) + "s_url": true, strings.Repeat("n", 16) + "s_url": false, strings.Repeat("n_", 250) + "url": false,
		"recording_url": false, "answerUrl": false, "PDFUrl": false, "invoicePDFUrl": false, "log.href": false, "a:log:url": false, `l\u006fg_url`: false, "Content@odata.mediaReadLink": false,
		"é log url": false, "élog_url": false, "a_waytoolongawordforthis_url": false, "mp4Url": false, "mp_4_url": false,
	}
	count := 0
	for w := range strings.FieldsSeq(engine.AskedWords) {
		count++
		names["x_"+w+"_url"], names[w+"Url"], names["my"+strings.ToUpper(w[:1])+w[1:]+"URL"] = false, false, false
		names["self_"+w+"s0_url"], names["self_x"+w+"_url"], names["self_"+w[:len(w)-1]+"0_url"] = true, true, true
	}
	if count < 200 {
		t.Errorf("%d words", count)
	}
	for w := range strings.FieldsSeq("api association avatar collection curies edit favicon first gravatar icon index last list navigation odata page parent prev previous related resource self up") {
		names["item_"+w+"_url"], names[w+"ItemUrl"] = true, true
		names["item_"+w+"x_url"] = false
	}
	namesDropped(t, engine.OnlyNamed|engine.KeepAsked, names)
}

// namesDropped tells under which names the address of an API is left out.
func namesDropped(t *testing.T, more engine.Rules, names map[string]bool) {
	t.Helper()
	h := newPool(t, Options{})
	root := &engine.Node{Rules: engine.DropURL | engine.KeepPages | more}
	root.Rest = root
	program := &engine.Program{Root: root}
	table, err := engine.Compile(program)
	if err != nil {
		t.Fatal(err)
	}
	for name, dropped := range names {
		in := fmt.Sprintf(`{"%s":"https://api.x/1"}`, name)
		want := in
		if dropped {
			want = "{}"
		}
		got, _, err := engine.Reference(nil, table, []byte(in), engine.Limits{})
		if err != nil || string(got) != want {
			t.Errorf("reference: %s gives %s, %v", in, got, err)
		}
		agree(t, h, program, []byte(in), engine.Limits{})
	}
}
