package admin_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/member/people"
	"github.com/sluicegate/sluice/internal/secrets"
)

// Members: what they may is what their tokens may, at once.
func TestMembers(t *testing.T) {
	w := newWorld(t)
	add := func(email, role string) people.Member {
		t.Helper()
		return want[people.Member](w, w.do("POST", "/v1/members", map[string]any{"email": email, "role": role}), http.StatusCreated)
	}
	anna, ben := add("Anna@example.com", "admin"), add("ben@example.com", "editor")
	if anna.Email != "anna@example.com" || !strings.HasPrefix(anna.ID, "mem_") {
		t.Fatalf("%+v", anna)
	}
	want[front.Problem](w, w.do("POST", "/v1/members", `{"email":"ANNA@example.com","role":"viewer"}`), http.StatusConflict)
	for _, bad := range []string{`{"email":"anna","role":"viewer"}`, `{"email":"Ann <a@example.com>","role":"viewer"}`, `{"email":"a@example.com\nb","role":"viewer"}`} {
		if p := want[front.Problem](w, w.do("POST", "/v1/members", bad), http.StatusBadRequest); p.Errors[0].Pointer != "#/email" {
			t.Errorf("%s: %+v", bad, p)
		}
	}
	want[front.Problem](w, w.do("POST", "/v1/members", `{"email":"c@example.com","role":"root"}`), http.StatusUnprocessableEntity)

	token := func(by []string, body string) secrets.Secret {
		t.Helper()
		return secrets.New(want[people.APIToken](w, w.do("POST", "/v1/tokens", body, by...), http.StatusCreated).Token)
	}
	annas := token(nil, `{"name":"laptop","role":"admin","member":"anna@example.com"}`)
	bens := token(nil, `{"name":"laptop","role":"editor","member":"`+ben.ID+`"}`)
	if p := want[front.Problem](w, w.do("POST", "/v1/tokens", `{"name":"x","role":"admin","member":"ben@example.com"}`), http.StatusBadRequest); p.Errors[0].Pointer != "#/role" {
		t.Errorf("%+v", p)
	}
	want[front.Problem](w, w.do("POST", "/v1/tokens", `{"name":"x","role":"viewer","member":"nobody@example.com"}`), http.StatusBadRequest)
	if me := want[admin.Me](w, w.do("GET", "/v1/me", nil, bearer(bens)...), 200); me.Role != "editor" || me.Member != "ben@example.com" {
		t.Errorf("%+v", me)
	}
	// What a member makes is theirs.
	made := want[people.APIToken](w, w.do("POST", "/v1/tokens", `{"name":"ci","role":"viewer"}`, bearer(annas)...), http.StatusCreated)
	if made.Member != anna.ID {
		t.Errorf("%+v", made)
	}
	want[front.Problem](w, w.do("GET", "/v1/members", nil, bearer(bens)...), http.StatusForbidden)

	// A change needs the version it was made of.
	at := "/v1/members/ben@example.com"
	read := w.do("GET", at, nil)
	tag := read.Header.Get("ETag")
	want[front.Problem](w, w.do("PATCH", at, `{"role":"viewer"}`), http.StatusPreconditionRequired)
	if m := want[people.Member](w, w.do("PATCH", at, `{"role":"viewer","name":" Ben "}`, "If-Match", tag), 200); m.Role != "viewer" || m.Name != "Ben" {
		t.Errorf("%+v", m)
	}
	if a := w.do("PATCH", at, `{"role":"admin"}`, "If-Match", tag); a.StatusCode != http.StatusPreconditionFailed || a.Header.Get("ETag") == tag {
		t.Errorf("%d %v", a.StatusCode, a.Header)
	}
	want[front.Problem](w, w.do("DELETE", at, nil), http.StatusPreconditionRequired)
	want[front.Problem](w, w.do("DELETE", at, nil, "If-Match", tag), http.StatusPreconditionFailed)
	// Demoted, removed: the token with the next request.
	want[front.Problem](w, w.do("POST", "/v1/connectors/preview", `{}`, bearer(bens)...), http.StatusForbidden)
	if a := w.do("DELETE", at, nil, "If-Match", "*"); a.StatusCode != http.StatusNoContent {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	want[front.Problem](w, w.do("GET", "/v1/me", nil, bearer(bens)...), http.StatusUnauthorized)
	want[front.Problem](w, w.do("GET", at, nil), http.StatusNotFound)

	// The last administrator, also by their own hand.
	at = "/v1/members/" + anna.ID
	for _, a := range []answer{w.do("DELETE", at, nil, "If-Match", "*"), w.do("PATCH", at, `{"role":"publisher"}`, append(bearer(annas), "If-Match", "*")...)} {
		want[front.Problem](w, a, http.StatusConflict)
	}
	add("eve@example.com", "admin")
	if a := w.do("DELETE", at, nil, append(bearer(annas), "If-Match", "*")...); a.StatusCode != http.StatusNoContent {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	want[front.Problem](w, w.do("GET", "/v1/me", nil, bearer(secrets.New(made.Token))...), http.StatusUnauthorized)
	items := want[admin.List[people.Member]](w, w.do("GET", "/v1/members", nil), 200).Items
	if len(items) != 1 || items[0].Email != "eve@example.com" {
		t.Errorf("%+v", items)
	}
	var members []string
	for _, a := range w.audits() {
		if strings.HasPrefix(a, "member.") {
			members = append(members, a)
		}
	}
	if !slices.Equal(members, []string{"member.add", "member.add", "member.update", "member.remove", "member.add", "member.remove"}) {
		t.Errorf("audit %v", members)
	}
}
