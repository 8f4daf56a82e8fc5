package projection

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/engine"
	"github.com/sluicegate/sluice/plugins/operation"
)

// TestPages: of answers shaped like those of well-known APIs, what people ask for
// stays and the addresses of programs go, with a schema that declares every member
// as text and with none.
func TestPages(t *testing.T) {
	for _, c := range []struct{ name, in, gone string }{
		{"calendar event", `{"kind":"calendar#event","htmlLink":"https://www.google.com/calendar/event?eid=x","hangoutLink":"https://meet.google.com/abc","creator":{"email":"a@x","self":true},"conferenceData":{"entryPoints":[{"entryPointType":"video","uri":"https://meet.google.com/abc"}]},"selfLink":"https://www.googleapis.com/calendar/v3/e/1"}`, "selfLink"},
		{
			"git project", `{"id":4,"web_url":"https://gitlab.example.com/d/p","ssh_url_to_repo":"git@gitlab.example.com:d/p.git","http_url_to_repo":"https://gitlab.example.com/d/p.git","avatar_url":"https://gitlab.example.com/u/a.png","star_count":0,"_links":{"self":"https://gitlab.example.com/api/v4/projects/4","issues":"https://gitlab.example.com/api/v4/projects/4/issues"}}`,
			"avatar_url _links",
		},
		{"artist", `{"external_urls":{"spotify":"https://open.spotify.com/artist/0"},"followers":{"href":null,"total":306565},"genres":["rock"],"href":"https://api.spotify.com/v1/artists/0","popularity":59,"publisher":"P","tracks":{"href":"https://api.spotify.com/v1/albums/4/tracks","total":11}}`, "href followers.href tracks.href"},
		{"status", `{"id":"1","uri":"https://m.example/users/g/statuses/1","url":"https://m.example/@g/1","account":{"acct":"g@other.example","username":"g","url":"https://m.example/@g","avatar":"https://files.m.example/a.png"},"poll":{"votes_count":10,"expired":false}}`, "account.avatar"},
		{"page", `{"object":"page","url":"https://www.notion.so/P-1","public_url":"https://j.notion.site/P-1","archived":false}`, ""},
		{"task", `{"gid":"1","permalink_url":"https://app.asana.com/0/1/2","completed":false}`, ""},
		{"invoice", `{"id":"in_1","hosted_invoice_url":"https://invoice.stripe.com/i/x","invoice_pdf":"https://pay.stripe.com/invoice/x/pdf?s=ap","receipt_url":"https://pay.stripe.com/receipts/x","url":"https://checkout.stripe.com/c/pay/x"}`, ""},
		{"sandbox invoice", `{"id":"in_1","invoice_pdf":"https://api.pay.example/v1/invoices/1/pdf","self":"https://pay.example/in_1"}`, ""},
		{"message", `{"sid":"SM1","uri":"/2010-04-01/Accounts/AC/Messages/SM1.json","num_media":"0","error_code":30003,"subresource_uris":{"media":"/2010/Media.json"}}`, ""},
		{"incident", `{"incident":{"id":"P1","self":"https://api.pagerduty.com/incidents/P1","html_url":"https://acme.pagerduty.com/incidents/P1","service":{"id":"S","summary":"Web","self":"https://api.pagerduty.com/services/S","html_url":"https://acme.pagerduty.com/services/S"}}}`, "incident.self incident.service.self"},
		{"ticket", `{"ticket":{"id":1,"url":"https://acme.zendesk.com/api/v2/tickets/1.json","via":{"channel":"web"},"satisfaction_rating":{"score":"good"}}}`, ""},
		{"group of errors", `{"id":"1","permalink":"https://sentry.io/organizations/a/issues/1/","userCount":0,"logger":"x"}`, ""},
		{"file", `{"url":"https://www.dropbox.com/s/x/a.txt?dl=0","link_permissions":{"can_revoke":false}}`, ""},
		{"video", `{"id":"v","snippet":{"title":"t","thumbnails":{"high":{"url":"https://i.ytimg.com/vi/v/hq.jpg"}}},"statistics":{"viewCount":"5"}}`, ""},
		{"order to approve", `{"id":"O","links":[{"rel":"self","href":"https://api-m.paypal.com/v2/checkout/orders/O","method":"GET"},{"rel":"approve","href":"https://www.paypal.com/checkoutnow?token=O","method":"GET"}]}`, ""},
		{"payment", `{"id":"tr_1","_links":{"self":{"href":"https://api.mollie.com/v2/payments/tr_1","type":"application/hal+json"},"checkout":{"href":"https://www.mollie.com/checkout/x","type":"text/html"}}}`, "_links.self"},
		{"wiki page", `{"id":"1","_links":{"webui":"/spaces/S/pages/1","tinyui":"/x/1","self":"https://acme.atlassian.net/wiki/rest/api/content/1"}}`, "_links.self"},
		{"pull request", `{"id":1,"links":{"self":{"href":"https://api.bitbucket.org/2.0/r"},"html":{"href":"https://bitbucket.org/r/1"},"avatar":{"href":"https://bitbucket.org/a"},"diff":{"href":"https://api.bitbucket.org/2.0/d"}}}`, "links.self links.avatar links.diff"},
		{"work item", `{"id":7,"url":"https://dev.azure.com/o/p/_apis/wit/workItems/7","_links":{"html":{"href":"https://dev.azure.com/o/p/_workitems/edit/7"}}}`, "url"},
		{"release", `{"html_url":"https://github.com/o/api/releases/tag/v1.0.0","upload_url":"https://uploads.github.com/r/1/assets{?name,label}","url":"https://api.github.com/repos/o/api/releases/1","tag_name":"v1.0.0"}`, "url"},
		{"download", `{"id":1,"archive_download_url":"https://api.github.com/repos/o/r/actions/artifacts/1/zip","expired":false,"size_in_bytes":0}`, ""},
		{"errors", `{"errors":[{"reason":"quotaExceeded","domain":"usage","help":"https://console.cloud.google.com/apis/x"}]}`, ""},
		{"list of tickets", `{"tickets":[{"id":1,"url":"https://acme.zendesk.com/api/v2/tickets/1.json","via":{"source":{"check":{"id":2,"url":"https://acme.zendesk.com/api/v2/tickets/2.json"}}}}]}`, "tickets.via.source.check.url"},
		{"attachments", `{"a":{"b":{"c":[{"id":"1","filename":"a.jpg","url":"https://v5.files.example/v3/u/a.jpg"}],"d":[{"id":"1","self_url":"https://v5.files.example/v3/u/a.jpg"}],"image":{"url":"https://api.x.example/1.jpg"}}}}`, "a.b.d.self_url"},
		{"target of a hook", `{"a":{"b":{"c":{"id":1,"target_url":"https://api.acme.example/in","request_url":"https://api.acme.example/in","parent_request_url":"https://api.acme.example/v1/pulls/1"}}}}`, "a.b.c.parent_request_url"},
		{"icons", `{"icon":"10d","a":{"icon":{"type":"emoji","emoji":"x"},"b":{"icon":"https://pages.example/i.png","icons":{"image_48":"https://pages.example/i.png","emoji":":x:"}}}}`, "a.icon.type a.b.icon a.b.icons.image_48"},
		{"build to install", `{"buildId":"1","installUrl":"https://builds.example/api/0/files/1/?format=apk","downloadCount":0,"checksUrl":"https://builds.example/api/0/checks/1"}`, "checksUrl"},
		{"a host for each customer", `{"id":1,"login":"https://{yourDomain}/home/app/1","events_url":"https://{yourDomain}/api/v1/users","detail_url":"https://acme.example/home/{page}","list_url":"https://acme.example{/step}"}`, "events_url list_url"},
		{"factor", `{"id":"f","_links":{"qrcode":{"href":"https://acme.example/api/v1/users/1/factors/f/qr/x","type":"image/png"},"authorize":{"href":"https://acme.example/oauth2/v1/authorize?idp=1"},"metadata":{"href":"https://acme.example/api/v1/apps/1/sso/saml/metadata","type":"application/xml"},"poll":{"href":"https://acme.example/api/v1/users/1/factors/f/poll","hints":{"allow":["POST"]}}}}`, "_links.poll"},
		{"issuer", `{"iss":"https://api.acme.example","aud":"x","sub":"https://api.acme.example/users/1"}`, ""},
		{
			"OData 2", `{"d":{"results":[{"__metadata":{"id":"https://s4.example/S/Order('1')","uri":"https://s4.example/S/Order('1')","type":"S.Order","etag":"W/1","media_src":"https://s4.example/S/Order('1')/$value"},"Order":"1","to_Item":{"results":[{"Item":"10","to_Line":{"__deferred":{"uri":"https://s4.example/S/Order('1')/to_Line"}}}]}}]}}`,
			"d.results.__metadata.id d.results.__metadata.uri d.results.__metadata.type d.results.__metadata.etag d.results.to_Item.results.to_Line",
		},
		{"resource", `{"comments":[{"id":1,"resourceUrl":"https://en.wikipedia.example/wiki/x"}]}`, ""},
		{"hotel rate", `{"rate":{"id":"1","links":{"self":{"href":"https://api.h.example/v3/r"},"price_check":{"href":"https://api.h.example/v3/r/1?token=q"},"amenities":{"href":"https://api.h.example/v3/r/a"}}}}`, "rate.links.self rate.links.amenities"},
		{"filters", `{"host_filters":["a"],"deleted":false,"count":0}`, ""},
	} {
		var doc any
		if err := json.Unmarshal([]byte(c.in), &doc); err != nil {
			t.Fatal(c.name, err)
		}
		for what, s := range map[string]*operation.Schema{"no schema": nil, "schema": schemaOf(doc)} {
			gone := strings.Fields(c.gone)
			if s == nil { // nothing tells whether a url is the thing or the address of its object
				gone = slices.DeleteFunc(gone, func(name string) bool { return name == "url" || strings.HasSuffix(name, ".url") })
			}
			var index Index
			index.Add(&operation.Operation{Path: "/checks/{id}"})
			table, err := Compile(&operation.Operation{Method: "GET", Path: "/x/{id}", Response: s}, index, &engine.Memory{})
			if err != nil {
				t.Fatal(c.name, err)
			}
			got, _, err := engine.Reference(nil, table, []byte(c.in), engine.Limits{})
			if err != nil {
				t.Fatal(c.name, err)
			}
			var left any
			if err := json.Unmarshal(got, &left); err != nil {
				t.Fatal(c.name, err)
			}
			lost := missing(nil, doc, left, "")
			slices.Sort(lost)
			want := slices.Sorted(slices.Values(gone))
			if !slices.Equal(lost, want) {
				t.Errorf("%s, %s: gone %v, want %v\n%s", c.name, what, lost, want, got)
			}
		}
	}
}

// TestLinksOfWhatWasMade: who makes a thing is told once how to go on with it, but not what else
// the API has of it.
func TestLinksOfWhatWasMade(t *testing.T) {
	in := `{"id":"8","links":{"self":{"href":"https://api.h.example/v3/i/8"},"retrieve":{"method":"GET","href":"https://api.h.example/v3/i/8?token=r"},"resume":{"method":"PUT","href":"https://api.h.example/v3/i/8?token=p"},"guests":{"href":"https://api.h.example/v3/i/8/guests"}}}`
	var doc any
	if err := json.Unmarshal([]byte(in), &doc); err != nil {
		t.Fatal(err)
	}
	var index Index
	index.Add(&operation.Operation{Path: "/v3/i/{id}/guests"})
	for _, c := range []struct{ method, links string }{
		{"POST", `"retrieve":{"method":"GET","href":"https://api.h.example/v3/i/8?token=r"},"resume":{"method":"PUT","href":"https://api.h.example/v3/i/8?token=p"}`},
		{"GET", `"resume":{"method":"PUT","href":"https://api.h.example/v3/i/8?token=p"}`},
	} {
		table, err := Compile(&operation.Operation{Method: c.method, Path: "/v3/i", Response: schemaOf(doc)}, index, &engine.Memory{})
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := engine.Reference(nil, table, []byte(in), engine.Limits{})
		if want := `{"id":"8","links":{` + c.links + `}}`; err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", c.method, got, err, want)
		}
	}
}

// schemaOf declares every member of a document.
func schemaOf(v any) *operation.Schema {
	switch v := v.(type) {
	case map[string]any:
		s := obj()
		for k, e := range v {
			s.Properties = append(s.Properties, prop(k, schemaOf(e)))
		}
		return s
	case []any:
		return arr(schemaOf(v[0]))
	case string:
		return str("")
	}
	return nil
}

// missing lists the members that are not in what is left, the outermost of each;
// of a list that became shorter its first elements.
func missing(out []string, before, after any, at string) []string {
	switch b := before.(type) {
	case map[string]any:
		a, _ := after.(map[string]any)
		for k, v := range b {
			if _, is := a[k]; !is {
				out = append(out, at+k)
				continue
			}
			out = missing(out, v, a[k], at+k+".")
		}
	case []any:
		a, _ := after.([]any)
		for i := range b {
			if j := i - len(b) + len(a); j < 0 {
				out = append(out, at+string(rune('0'+i)))
			} else {
				out = missing(out, b[i], a[j], at)
			}
		}
	}
	return out
}

// TestETagForIfMatch: where a tool takes If-Match, the version in an answer is what it
// wants to be given.
func TestETagForIfMatch(t *testing.T) {
	response := &operation.Schema{Type: operation.TypeObject, Properties: []operation.Property{{Name: "id", Schema: &operation.Schema{Type: operation.TypeInteger}}, {Name: "etag", Schema: &operation.Schema{Type: operation.TypeString}}}}
	for header, want := range map[string]string{"If-Match": `{"id":1,"etag":"v7"}`, "if-match": `{"id":1,"etag":"v7"}`, "If-None-Match": `{"id":1}`} {
		var index Index
		index.Add(&operation.Operation{Path: "/things/{id}", Plan: &operation.Plan{Params: []operation.Param{{Arg: "version", Name: header, In: operation.InHeader}}}})
		table, err := Compile(&operation.Operation{Path: "/things", Response: response}, index, &engine.Memory{})
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := engine.Reference(nil, table, []byte(`{"id":1,"etag":"v7"}`), engine.Limits{})
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", header, got, err, want)
		}
	}
}
