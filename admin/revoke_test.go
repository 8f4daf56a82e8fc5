package admin_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/request/audit"
	"github.com/sluicegate/sluice/internal/oauth/oauthtest"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// revocations waits until the audit log has n of them, and returns the newest.
func (w *world) revocations(n int) (newest audit.AuditRecord) {
	w.t.Helper()
	w.until("the authorization server was told", func() bool {
		found := 0
		for _, r := range want[admin.List[audit.AuditRecord]](w, w.do("GET", "/v1/audit?limit=100", nil), 200).Items {
			if r.Action == "authentication.tokens.revoke" {
				if found++; found == 1 {
					newest = r
				}
			}
		}
		return found == n
	})
	return newest
}

// bad waits until a token is good nowhere.
func (w *world) bad(as *oauthtest.Server, token secrets.Secret) {
	w.t.Helper()
	w.until("the token is revoked", func() bool { return !as.Valid("Bearer " + token.Reveal()) })
}

// TestTokensAreRevoked: what is forgotten here ends at the authorization server too: the
// login of one caller, of the holder of an access token, of all with the configuration,
// and of a toolset that is deleted. Others stay.
func TestTokensAreRevoked(t *testing.T) {
	w, as, ts, cred, ann, bob := userWorld(t)
	path := "/v1/toolsets/" + ts.ID
	logIn := func(cred string, user registry.User, name string) secrets.Secret {
		t.Helper()
		query, cookies := w.press(as, w.link(cred, user), name)
		if got := w.back(query, cookies); got != http.StatusOK {
			t.Fatalf("the way back: %d", got)
		}
		held, err := w.srv.Secrets().UserSecret(t.Context(), cred, user, 0, nil)
		token := held.Value
		if err != nil || !as.Valid("Bearer "+token.Reveal()) {
			t.Fatal(err)
		}
		return token
	}
	first, second := logIn(cred, ann, oauthtest.OtherUser), logIn(cred, bob, oauthtest.User)
	list := want[struct{ Items []login.UserLogin }](w, w.do("GET", path+"/authentication/users", nil), 200).Items
	if a := w.do("DELETE", path+"/authentication/users/"+list[0].ID, nil); a.StatusCode != http.StatusNoContent {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	w.bad(as, first)
	if r := w.revocations(1); r.Outcome != "ok" || !strings.Contains(string(r.After), `"revoked":1`) {
		t.Errorf("audited %+v", r)
	}
	if !as.Valid("Bearer " + second.Reveal()) {
		t.Error("bob's token is bad")
	}
	for _, f := range as.Revocations() {
		if f.Get("token") == "" || f.Get("token_type_hint") == "" {
			t.Errorf("told %v", f)
		}
	}
	if a := w.do("DELETE", path+"/access-tokens/"+bob.ID, nil); a.StatusCode != http.StatusNoContent {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	w.bad(as, second)
	w.revocations(2)

	// All of a configuration that goes: the operator's login and those of callers. One that
	// changes as which client it asks is another.
	_, query, cookies := w.login(as, path+"/authentication")
	if status, _ := w.callback(query, cookies...); status != http.StatusOK {
		t.Fatalf("the way back: %d", status)
	}
	held, err := w.srv.Secrets().Secret(t.Context(), cred)
	own := held.Value
	if err != nil {
		t.Fatal(err)
	}
	again := logIn(cred, ann, oauthtest.OtherUser)
	conf := person(as)
	conf["perUser"], conf["scopes"] = true, []string{"openid", "offline_access", "profile"}
	want[credential.Authentication](w, w.do("PUT", path+"/authentication", conf), 200)
	w.bad(as, own)
	w.bad(as, again)
	if r := w.revocations(3); !strings.Contains(string(r.After), `"revoked":2`) {
		t.Errorf("audited %s", r.After)
	}

	// A server that fails: what was asked for here is done all the same, and the log says so.
	third := logIn(cred, ann, oauthtest.OtherUser)
	as.Set(oauthtest.Features{RevokeStatus: http.StatusInternalServerError})
	if a := w.do("DELETE", path+"/authentication", nil); a.StatusCode != http.StatusNoContent {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	if r := w.revocations(4); r.Outcome != "failed" || r.Reason == "" || !strings.Contains(string(r.After), `"failed":1`) || strings.Contains(string(r.After), third.Reveal()) {
		t.Errorf("audited %+v", r)
	}
	as.Set(oauthtest.Features{})

	// A toolset that is deleted.
	cred = want[credential.Authentication](w, w.do("PUT", path+"/authentication", conf), 200).CredentialID
	fourth := logIn(cred, ann, oauthtest.OtherUser)
	w.remove(ts.ID)
	w.bad(as, fourth)
	w.revocations(5)
	w.holdsNone(as, first, second, own, again, third, fourth)
}
