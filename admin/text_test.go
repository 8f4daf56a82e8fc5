package admin_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/publish/keyring"
)

// TestText: a NUL, or bytes that are not UTF-8, in any string of a request is the
// client's fault, named as such, and nothing is written.
func TestText(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	before := w.audits()
	at := "/v1/toolsets/" + ts.ID
	for _, row := range []struct {
		name, method, path, body string
		status                   int
	}{
		{"escaped NUL", "PATCH", at, `{"description":"a\u0000b"}`, 422},
		{"escaped NUL in a name", "PATCH", at, `{"description":"a","\u0000":1}`, 422},
		{"raw NUL", "PATCH", at, "{\"description\":\"a\x00b\"}", 400}, // RFC 8259: not JSON
		{"not UTF-8", "PATCH", at, "{\"description\":\"a\xffb\"}", 422},
		{"overlong", "PATCH", at, "{\"description\":\"a\xc0\x80b\"}", 422},
		{"surrogate in UTF-8", "PATCH", at, "{\"description\":\"a\xed\xa0\x80b\"}", 422},
		{"token name", "POST", "/v1/tokens", `{"name":"a\u0000","role":"viewer"}`, 422},
		{"access token name", "POST", at + "/access-tokens", `{"name":"\u0000"}`, 422},
		{"document", "POST", "/v1/toolsets", `{"source":{"openapi":{"document":"openapi: 3.1.0\u0000"}}}`, 422},
		{"header name", "PUT", at + "/authentication", `{"authType":"header","headerName":"X\u0000","apiKey":"k"}`, 422},
		{"NUL in the query", "GET", "/v1/toolsets?cursor=%00", "", 422},
		{"not UTF-8 in the query", "GET", "/v1/calls?toolset=%ff", "", 422},
		{"NUL in a parameter's name", "GET", "/v1/toolsets?%00=1", "", 422},
		{"NUL in the path", "GET", "/v1/toolsets/%00", "", 404},
		{"not UTF-8 in the path", "GET", "/v1/toolsets/%ff", "", 404},
		{"an escaped backslash", "PATCH", at, `{"description":"a\\u0000b"}`, 200},
		{"the digits alone", "PATCH", at, `{"description":"u0000"}`, 200},
		{"three backslashes", "PATCH", at, `{"description":"\\\u0000"}`, 422},
		{"half of a pair", "PATCH", at, `{"description":"a\ud83d"}`, 422},
		{"the other half", "PATCH", at, `{"description":"\uDE00a"}`, 422},
		{"the halves in the other order", "PATCH", at, `{"description":"\ude00\ud83d"}`, 422},
		{"half of a pair before another character", "PATCH", at, `{"description":"\ud83d\u0041"}`, 422},
		{"half of a pair in a secret", "PUT", at + "/authentication", `{"authType":"header","headerName":"X","apiKey":"k\udfff"}`, 422},
		{"a pair", "PATCH", at, `{"description":"\ud83d\ude00"}`, 200},
		{"half of a pair, with an escaped backslash", "PATCH", at, `{"description":"\\ud83d"}`, 200},
	} {
		t.Run(row.name, func(t *testing.T) {
			a := w.do(row.method, row.path, row.body, "If-Match", "*")
			if a.StatusCode != row.status {
				t.Errorf("status %d, want %d: %s", a.StatusCode, row.status, a.body)
			}
			if row.status != http.StatusOK {
				want[front.Problem](w, a, row.status)
			}
		})
	}
	// The content type of the document, none, and others are no way around.
	for _, kind := range []string{"application/merge-patch+json", "application/merge-patch+json; charset=utf-8", "application/merge-patch+json;;", ""} {
		for _, text := range []string{`{"description":"a\u0000b"}`, "{\"description\":\"a\xffb\"}", `{"description":"a\ud800b"}`} {
			want[front.Problem](w, w.do("PATCH", at, text, "If-Match", "*", "Content-Type", kind), http.StatusUnprocessableEntity)
		}
	}
	if got := len(w.audits()) - len(before); got != 4 { // those that are in order
		t.Errorf("%d records were written", got)
	}
	// Parameters of every list, with every character a database might mind.
	for _, list := range []string{"/v1/toolsets", "/v1/jobs", "/v1/audit", "/v1/calls", "/v1/connectors", "/v1/plugins", "/v1/members", "/v1/tokens", "/v1/edges", "/v1/usage"} {
		for _, v := range []string{"'", `"`, `\`, "';--", "%", "_", "\u2028", "\uFFFF", strings.Repeat("x", 300)} {
			for _, name := range []string{"cursor", "limit", "toolset", "tool", "outcome", "q", "status", "from", "name"} {
				if a := w.do("GET", list+"?"+url.Values{name: {v}}.Encode(), nil); a.StatusCode >= 500 {
					t.Errorf("%s?%s=%q: %d %s", list, name, v, a.StatusCode, a.body)
				}
			}
		}
	}
}

// TestRepeatedTokens: whoever repeats a request that made a token gets that token, and
// no second one is made; what is kept for it is sealed, and survives a rotation of the
// key-encryption key.
func TestRepeatedTokens(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	at := "/v1/toolsets/" + ts.ID
	for i, made := range [][2]string{
		{"/v1/tokens", `{"name":"n","role":"viewer"}`},
		{at + "/access-tokens", `{"name":"n"}`},
		{"/v1/edges/join-tokens", `{}`},
		{at + "/preview", `{"ttlSeconds":600}`},
		{"/v1/workspaces", `{"id":"other","name":"Other"}`},
	} {
		key := []string{"Idempotency-Key", "k" + string(rune('0'+i))}
		first := w.do("POST", made[0], made[1], key...)
		if first.StatusCode != http.StatusCreated || !strings.Contains(first.body, `"token"`) {
			t.Fatalf("%s: %d %s", made[0], first.StatusCode, first.body)
		}
		if again := w.do("POST", made[0], made[1], key...); again.StatusCode != first.StatusCode || again.body != first.body || again.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s again: %d %s", made[0], again.StatusCode, again.body)
		}
		rotated := want[keyring.RotatedKeys](w, w.do("POST", "/v1/keys/rotate", nil), 200)
		if rotated.Rewrapped == 0 {
			t.Errorf("%s: the rotation put no answer under the new key", made[0])
		}
		w.later.Add(int64(2 * time.Minute))
		if again := w.do("POST", made[0], made[1], key...); again.body != first.body {
			t.Errorf("%s after a rotation: %d %s", made[0], again.StatusCode, again.body)
		}
	}
}

// TestConditionalTest: nobody tests, and by that deploys, what they have not seen.
func TestConditionalTest(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	at := "/v1/toolsets/" + ts.ID
	seen := w.do("GET", at, nil).Header.Get("ETag")
	if a := w.do("PATCH", at, `{"description":"changed by somebody"}`, "If-Match", seen); a.StatusCode != http.StatusOK {
		t.Fatalf("patch: %d %s", a.StatusCode, a.body)
	}
	w.tester.mu.Lock()
	before := w.tester.n
	w.tester.mu.Unlock()
	a := w.do("POST", at+"/test", nil, "If-Match", seen)
	want[front.Problem](w, a, http.StatusPreconditionFailed)
	now := a.Header.Get("ETag")
	w.tester.mu.Lock()
	after := w.tester.n
	w.tester.mu.Unlock()
	if after != before || w.get(ts.ID).LiveDigest != ts.LiveDigest {
		t.Errorf("%d calls were made, live is %s", after-before, w.get(ts.ID).LiveDigest)
	}
	if a := w.do("POST", at+"/test", nil, "If-Match", now); a.StatusCode != http.StatusOK {
		t.Errorf("with the ETag of now: %d %s", a.StatusCode, a.body)
	}
}

// TestConditionalChanges: nobody reads a source again, accepts what waits, takes a newer
// entry over or adds a connector to a toolset that they have not seen.
func TestConditionalChanges(t *testing.T) {
	w := newWorld(t)
	w.fetcher.put(shopURL, movable("1", "{url: "+w.upstream.URL+"}", ""))
	body := map[string]any{"slug": "shop", "source": map[string]any{"openapi": map[string]any{"url": shopURL}}}
	want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body, "Remote", "127.0.0.1:999"), http.StatusCreated)
	const at = "/v1/toolsets/shop"
	w.fetcher.put(shopURL, strings.Replace(movable("2", "{url: "+w.upstream.URL+"}", ""), "/orders", "/invoices", 1))
	held := want[change.Refreshed](w, w.do("POST", at+"/refresh", map[string]any{"hold": true}), http.StatusOK)
	if held.Changes == nil || !held.Changes.Waits {
		t.Fatalf("held %+v", held.Changes)
	}
	seen := w.do("GET", at, nil).Header.Get("ETag")
	if a := w.do("PATCH", at, `{"description":"changed by somebody"}`, "If-Match", seen); a.StatusCode != http.StatusOK {
		t.Fatalf("patch: %d %s", a.StatusCode, a.body)
	}
	was, reads := w.get("shop"), w.fetcher.count()
	now := ""
	for _, post := range []struct {
		path string
		body any
	}{
		{"/refresh", map[string]any{"force": true}},
		{"/refresh", map[string]any{"dryRun": true}},
		{"/changes/" + held.Changes.ID + "/accept", map[string]any{}},
		{"/catalog-update", map[string]any{}},
		{"/connectors", w.petsBody("more")},
	} {
		a := w.do("POST", at+post.path, post.body, "If-Match", seen)
		want[front.Problem](w, a, http.StatusPreconditionFailed)
		if now = a.Header.Get("ETag"); now == "" || now == seen {
			t.Errorf("%s: the ETag of now is %q", post.path, now)
		}
	}
	if is := w.get("shop"); is.Digest != was.Digest || is.LiveDigest != was.LiveDigest || len(is.Connectors) != 1 || w.fetcher.count() != reads {
		t.Errorf("the toolset was changed: %+v, %d reads", is.Toolset, w.fetcher.count()-reads)
	}
	accepted := want[change.Refreshed](w, w.do("POST", at+"/changes/"+held.Changes.ID+"/accept", map[string]any{}, "If-Match", now), http.StatusOK)
	if accepted.Toolset.Digest == was.Digest {
		t.Error("with the ETag of now nothing was accepted")
	}
	if a := w.do("POST", at+"/refresh", map[string]any{}, "If-Match", "*"); a.StatusCode != http.StatusOK {
		t.Errorf("with any ETag: %d %s", a.StatusCode, a.body)
	}
}

// TestConditionalChangeMeanwhile: a change of one version is not made of the next one when
// somebody is faster while its source is read.
func TestConditionalChangeMeanwhile(t *testing.T) {
	w := newWorld(t)
	w.fetcher.put(shopURL, movable("1", "{url: "+w.upstream.URL+"}", ""))
	body := map[string]any{"slug": "shop", "source": map[string]any{"openapi": map[string]any{"url": shopURL}}}
	want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body, "Remote", "127.0.0.1:999"), http.StatusCreated)
	const at = "/v1/toolsets/shop"
	for name, tag := range map[string]string{"with an ETag": w.do("GET", at, nil).Header.Get("ETag"), "without": ""} {
		w.fetcher.put(shopURL, movable(name, "{url: "+w.upstream.URL+"}", ""))
		w.fetcher.during(func() {
			if a := w.send("PATCH", at, map[string]any{"description": name}, at); a.StatusCode != http.StatusOK {
				t.Errorf("patch: %d %s", a.StatusCode, a.body)
			}
		})
		headers, status := []string{}, http.StatusOK
		if tag != "" {
			headers, status = []string{"If-Match", tag}, http.StatusPreconditionFailed
		}
		if a := w.do("POST", at+"/refresh", map[string]any{}, headers...); a.StatusCode != status {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.body)
		}
	}
}
