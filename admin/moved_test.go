package admin_test

import (
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/view"
)

// open is a specification that wants no credential, of which one operation may have a server
// of its own. What it says of itself is wording.
func open(wording, server, ofOperation string) string {
	if ofOperation != "" {
		ofOperation = "\n      servers: [{url: " + ofOperation + "}]"
	}
	return `openapi: 3.0.3
info: {title: Shop, version: "1"}
servers: [{url: ` + server + `}]
paths:
  /pets:
    get:
      operationId: listPets
      description: ` + wording + ofOperation + `
      responses: {"200": {description: OK}}
`
}

// What agents send goes to no address that nobody named, with a credential or without: a
// specification that is added again waits as one that is read again does, however often.
func TestMovedWithoutCredentialWaits(t *testing.T) {
	for _, way := range []struct {
		name  string
		again func(k *kept, spec string)
	}{
		{"refresh", func(k *kept, spec string) {
			k.fetcher.put(shopURL, spec)
			if r := want[change.Refreshed](k.world, k.as("POST", "/v1/toolsets/shop/refresh", map[string]any{}), 200); r.Deployed || r.Changed && !strings.Contains(r.Waiting, k.evil.URL) {
				k.t.Errorf("refreshed: deployed %v, waiting %q", r.Deployed, r.Waiting)
			}
		}},
		{"creation again, from its URL", func(k *kept, spec string) {
			k.fetcher.put(shopURL, spec)
			k.createdAgain(map[string]any{"url": shopURL}, nil)
		}},
		{"creation again, untested", func(k *kept, spec string) {
			k.fetcher.put(shopURL, spec)
			k.createdAgain(map[string]any{"url": shopURL}, map[string]any{"deploy": map[string]any{"untestedReason": "x"}})
		}},
		{"addition again", func(k *kept, spec string) {
			k.fetcher.put(shopURL, spec)
			body := map[string]any{"name": k.get("shop").Connectors[0].Name, "source": map[string]any{"openapi": map[string]any{"url": shopURL}}}
			r := want[change.AddedConnector](k.world, k.as("POST", "/v1/toolsets/shop/connectors", body), 200)
			if r.Test == nil || r.Test.Passed || !strings.Contains(r.Test.Reason, k.evil.URL) {
				k.t.Errorf("added again: %+v", r.Test)
			}
		}},
	} {
		for _, operation := range []bool{false, true} {
			name := way.name
			if operation {
				name += ", one operation"
			}
			t.Run(name, func(t *testing.T) {
				k := newOpen(t)
				spec := func(wording string) string {
					if operation {
						return open(wording, k.upstream.URL, k.evil.URL)
					}
					return open(wording, k.evil.URL, "")
				}
				for _, wording := range []string{"one", "one", "two"} {
					way.again(k, spec(wording))
					if got := k.get("shop"); got.LiveDigest != k.live {
						t.Fatalf("%s: revision %d is live", wording, got.Revision)
					}
				}
				if n, _ := k.evil.loot(); n != 0 {
					t.Errorf("%d requests went to the new address", n)
				}
				// Whoever looked at it deploys it.
				if a := k.as("POST", "/v1/toolsets/shop/deploy", map[string]any{"reason": "they moved"}); a.StatusCode != http.StatusOK || k.get("shop").LiveDigest == k.live {
					t.Errorf("deployed: %s", a.body)
				}
			})
		}
	}
}

// What waits of one connector does not go live with another one of the toolset.
func TestMovedWaitsBesideOthers(t *testing.T) {
	k := newOpen(t)
	const others = "https://specs.example/others.yaml"
	pets := strings.NewReplacer("title: Shop", "title: Pets", "listPets", "listDogs")
	k.fetcher.put(others, pets.Replace(open("zero", k.upstream.URL, "")))
	body := map[string]any{"name": "pets", "source": map[string]any{"openapi": map[string]any{"url": others}}}
	made := want[change.AddedConnector](k.world, k.do("POST", "/v1/toolsets/shop/connectors", body, "Remote", "127.0.0.1:999"), 201)
	if k.live = k.get("shop").LiveDigest; made.Toolset.Changed || len(k.get("shop").Connectors) != 2 {
		t.Fatalf("added %+v", made.Test)
	}
	first := k.get("shop").Connectors[0].Name
	k.fetcher.put(shopURL, open("zero", k.evil.URL, ""))
	refresh := func(connector string) change.Refreshed {
		return want[change.Refreshed](k.world, k.as("POST", "/v1/toolsets/shop/refresh", map[string]any{"connector": connector}), 200)
	}
	if r := refresh(first); r.Deployed {
		t.Fatalf("%+v", r)
	}
	k.fetcher.put(others, pets.Replace(open("one", k.upstream.URL, "")))
	if r := refresh("pets"); !r.Changed || r.Deployed || !strings.Contains(r.Waiting, k.evil.URL) {
		t.Errorf("refreshed: %+v", r)
	}
	k.fetcher.put(others, pets.Replace(open("two", k.upstream.URL, "")))
	r := want[change.AddedConnector](k.world, k.as("POST", "/v1/toolsets/shop/connectors", body), 200)
	if n, _ := k.evil.loot(); r.Test == nil || r.Test.Passed || k.get("shop").LiveDigest != k.live || n != 0 {
		t.Errorf("added again: %+v, %d requests went to the new address", r.Test, n)
	}
}

// An address that the request itself names, or its authentication is for, is the word of who
// asks; one operation's is not.
func TestMovedToNamedAddress(t *testing.T) {
	k := newOpen(t)
	body := map[string]any{"slug": "shop", "baseUrl": k.evil.URL, "source": map[string]any{"openapi": map[string]any{"url": shopURL}}}
	if r := want[change.CreatedToolset](k.world, k.as("POST", "/v1/toolsets", body), 200); r.Changed || r.Test == nil || !r.Test.Passed {
		t.Errorf("named: changed %v, %+v", r.Changed, r.Test)
	}
	if n, _ := k.evil.loot(); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// What breaks a tool and waits in the draft does not go live with the next version that breaks
// nothing more.
func TestBreakingWaitsOverRefreshes(t *testing.T) {
	k := newOpen(t)
	breaking := func(wording string) string {
		return strings.Replace(open(wording, k.upstream.URL, ""), "responses:", "parameters: [{name: shelf, in: query, required: true, schema: {type: string}}]\n      responses:", 1)
	}
	for _, wording := range []string{"one", "two", "three"} {
		k.fetcher.put(shopURL, breaking(wording))
		r := want[change.Refreshed](k.world, k.as("POST", "/v1/toolsets/shop/refresh", map[string]any{"deploy": map[string]any{"untestedReason": "x"}}), 200)
		if r.Deployed || !strings.Contains(r.Waiting, "breaking") || k.get("shop").LiveDigest != k.live {
			t.Errorf("%s: deployed %v, waiting %q", wording, r.Deployed, r.Waiting)
		}
	}
	k.fetcher.put(shopURL, breaking("four"))
	r := want[change.Refreshed](k.world, k.as("POST", "/v1/toolsets/shop/refresh", map[string]any{"acceptBreaking": true, "deploy": map[string]any{"untestedReason": "x"}}), 200)
	if !r.Deployed {
		t.Errorf("accepted: %q", r.Waiting)
	}
	k.fetcher.put(shopURL, breaking("five"))
	if r := want[change.Refreshed](k.world, k.as("POST", "/v1/toolsets/shop/refresh", map[string]any{"deploy": map[string]any{"untestedReason": "x"}}), 200); !r.Deployed {
		t.Errorf("wording: %q", r.Waiting)
	}
	// A version that takes the break back goes live.
	k.fetcher.put(shopURL, strings.ReplaceAll(breaking("six"), "shelf", "room"))
	want[change.Refreshed](k.world, k.as("POST", "/v1/toolsets/shop/refresh", map[string]any{"deploy": map[string]any{"untestedReason": "x"}}), 200)
	k.fetcher.put(shopURL, breaking("seven"))
	if r := want[change.Refreshed](k.world, k.as("POST", "/v1/toolsets/shop/refresh", map[string]any{"acceptBreaking": false, "deploy": map[string]any{"untestedReason": "x"}}), 200); r.Deployed {
		t.Errorf("a change that breaks the draft went live: %+v", r.Changes)
	}
}

// newOpen is a live toolset without a credential.
func newOpen(t *testing.T) *kept {
	t.Helper()
	w := newWorld(t)
	w.upstream.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, `[{"id":7}]`) })
	k := &kept{world: w, evil: newThief(t), editor: w.withRole("default", "editor").Reveal()}
	w.fetcher.put(shopURL, open("zero", w.upstream.URL, ""))
	body := map[string]any{"slug": "shop", "source": map[string]any{"openapi": map[string]any{"url": shopURL}}}
	made := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body, "Remote", "127.0.0.1:999"), 201)
	if made.Status != "live" {
		t.Fatalf("created %+v", made.Test)
	}
	k.live = made.LiveDigest
	// The thief's address may be called: only the rule keeps requests away from it.
	body = map[string]any{"slug": "evil", "baseUrl": k.evil.URL, "source": map[string]any{"openapi": map[string]any{"document": open("zero", k.evil.URL, "")}}, "deploy": map[string]any{"skip": true}}
	want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body, "Remote", "127.0.0.1:999"), 201)
	return k
}

// createdAgain adds the source of the toolset once more, which must wait.
func (k *kept) createdAgain(openapi, more map[string]any) {
	k.t.Helper()
	body := map[string]any{"slug": "shop", "source": map[string]any{"openapi": openapi}}
	maps.Copy(body, more)
	r := want[change.CreatedToolset](k.world, k.as("POST", "/v1/toolsets", body), 200)
	if r.Test == nil || r.Test.Passed || r.Test.Possible || !strings.Contains(r.Test.Reason, k.evil.URL) {
		k.t.Errorf("created again: %+v", r.Test)
	}
	if a := want[view.Toolset](k.world, k.as("GET", "/v1/toolsets/shop", nil), 200); !a.Changed {
		k.t.Error("the new version is not in the draft")
	}
}
