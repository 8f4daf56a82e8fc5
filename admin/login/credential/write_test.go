package credential

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// records are those of a workspace with a toolset, and a keyring.
type records struct {
	t    *testing.T
	ws   *store.Workspace
	ring *secrets.Keyring
	ts   string
}

func newRecords(t *testing.T) *records {
	t.Helper()
	st, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "s.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	if err := st.EnsureWorkspace(t.Context(), "acme", "Acme"); err != nil {
		t.Fatal(err)
	}
	ring, err := secrets.Parse(secrets.New("MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="))
	if err != nil {
		t.Fatal(err)
	}
	r := &records{t: t, ws: st.Workspace("acme"), ring: ring}
	ts := &store.Toolset{Slug: "shop", Name: "Shop", ConnectorName: "main", SourceKind: "openapi", Connector: "shop", ConnectorDigest: "sha256:c"}
	r.update(func(tx *store.Tx) error {
		return errors.Join(
			tx.PutSpecification(t.Context(), &store.Specification{Digest: "sha256:s", Name: "shop", Content: []byte("s")}),
			tx.PutConnector(t.Context(), &store.Connector{Name: "shop"}, &store.ConnectorVersion{Digest: "sha256:c", SpecDigest: "sha256:s", Report: "{}"}),
			tx.CreateToolset(t.Context(), ts),
		)
	})
	r.ts = ts.ID
	return r
}

func (r *records) update(f func(tx *store.Tx) error) {
	r.t.Helper()
	if err := r.ws.Update(r.t.Context(), f); err != nil {
		r.t.Fatal(err)
	}
}

func (r *records) write(keep []string, creds ...Draft) error {
	return r.ws.Update(r.t.Context(), func(tx *store.Tx) error { return Write(r.t.Context(), tx, r.ring, r.ts, keep, creds) })
}

func (r *records) load() []Draft {
	r.t.Helper()
	out, err := Load(r.t.Context(), r.ws, r.ts, "main")
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

// client is a new credential of a client.
func (r *records) client(id string) Draft {
	it := AuthItem{AuthType: "oauth2", Grant: "authorization_code", ClientID: "app"}
	return Draft{
		Row:    store.Credential{ID: id, ToolsetID: r.ts, Connector: "main", AuthType: "oauth2", Shape: store.JSON(it.Shape()), Origins: "first"},
		Secret: secrets.New("secret of " + id),
	}
}

// holds says what is stored of a credential: its secret, the version of its tokens and
// whether there are any, its client, its login, and how many callers have tokens.
func (r *records) holds(id string) string {
	r.t.Helper()
	ctx := r.t.Context()
	row, err := r.ws.CredentialByID(ctx, id)
	if err != nil {
		return "nothing"
	}
	secret, err := r.ring.Open(row.Record(), row.Sealed)
	if err != nil {
		r.t.Fatal(err)
	}
	out := []string{secret.Reveal(), row.Origins}
	token, err := r.ws.OAuthToken(ctx, id, "")
	if err != nil {
		r.t.Fatal(err)
	}
	if token != nil {
		text := "none"
		if len(token.Sealed) > 0 {
			opened, err := r.ring.Open(token.Record(), token.Sealed)
			if err != nil {
				r.t.Fatal(err)
			}
			text = opened.Reveal()
			var tokens Tokens
			if json.Unmarshal([]byte(text), &tokens) == nil {
				text = tokens.Access.Reveal()
			}
		}
		out = append(out, "token "+string(rune('0'+token.Version))+" "+text)
	}
	if client, err := r.ws.OAuthClient(ctx, id); err != nil {
		r.t.Fatal(err)
	} else if client != nil {
		out = append(out, "client")
	}
	if login, err := r.ws.CredentialLogin(ctx, id); err != nil {
		r.t.Fatal(err)
	} else if login != nil {
		out = append(out, "login")
	}
	users, _, err := r.ws.UserTokens(ctx, id, store.Page{Limit: 10})
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.Join(append(out, strings.Repeat("user", len(users))), ", ")
}

// fill gives a credential everything that hangs on one.
func (r *records) fill(id string) {
	r.t.Helper()
	r.update(func(tx *store.Tx) error {
		ctx := r.t.Context()
		for _, user := range []string{"", "ann"} {
			row := &store.OAuthToken{CredentialID: id, UserKey: user, Version: 3}
			row.WorkspaceID = "acme"
			var err error
			if row.Sealed, err = r.ring.Seal(row.Record(), secrets.New("access")); err != nil {
				return err
			}
			if err := tx.SaveOAuthToken(ctx, row); err != nil {
				return err
			}
		}
		if err := tx.SealOAuthClient(ctx, r.ring, id, secrets.New("client")); err != nil {
			return err
		}
		login := &store.OAuthLogin{ID: "login_" + id, Purpose: store.LoginCredential, CredentialID: id, State: store.LoginPending, ExpiresAt: store.Time{Time: time.Now().Add(time.Hour)}}
		return tx.SealOAuthLogin(ctx, r.ring, login, secrets.New("{}"))
	})
}

// TestWriteKeepsAndForgets: what hangs on a credential stays while it is the same client,
// and goes with what it was given for: tokens, the client that was registered, logins, and
// those of callers.
func TestWriteKeepsAndForgets(t *testing.T) {
	for what, c := range map[string]struct {
		change func(*Draft)
		want   string
	}{
		"nothing changes":           {func(*Draft) {}, "secret of a, first, token 3 access, client, login, user"},
		"another secret":            {func(d *Draft) { d.Secret = secrets.New("new") }, "new, first, token 3 access, client, login, user"},
		"another client":            {func(d *Draft) { d.Secret, d.Forget = secrets.New("new"), true }, "new, first, token 4 none, "},
		"callers log in no more":    {func(d *Draft) { d.Shared = true }, "secret of a, first, token 3 access, client, login, "},
		"somewhere else":            {func(d *Draft) { d.Rebound, d.Was, d.Row.Origins = true, "first", "second" }, "secret of a, second, token 3 access, client, login, user"},
		"somewhere else, not bound": {func(d *Draft) { d.Was, d.Row.Origins = "first", "second" }, "secret of a, first, token 3 access, client, login, user"},
		"a login comes with it": {func(d *Draft) {
			d.Adopted = &Adopted{Login: "login_b", Tokens: Tokens{Access: secrets.Wire{Secret: secrets.New("adopted")}}}
		}, "secret of a, first, token 4 adopted, client, user"},
		"a login of a found client": {func(d *Draft) {
			d.Forget, d.Adopted = true, &Adopted{Tokens: Tokens{Access: secrets.Wire{Secret: secrets.New("adopted")}, Client: &Client{ClientID: "x"}}}
		}, "secret of a, first, token 5 adopted, client, "},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRecords(t)
			if err := r.write(nil, r.client("a"), r.client("b")); err != nil {
				t.Fatal(err)
			}
			r.fill("a")
			r.fill("b")
			other := r.holds("b")
			creds := r.load()
			if len(creds) != 2 || creds[0].token == nil || creds[0].Login == nil || creds[0].Row.ID != "a" {
				t.Fatalf("%+v", creds)
			}
			c.change(&creds[0])
			if err := r.write([]string{"a", "b"}, creds[0]); err != nil {
				t.Fatal(err)
			}
			if got := r.holds("a"); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if creds[0].Adopted != nil && creds[0].Adopted.Login != "" {
				other = strings.Replace(other, ", login", "", 1) // that login is over
			}
			if got := r.holds("b"); got != other {
				t.Errorf("another credential: %s, want %s", got, other)
			}
		})
	}
}

// TestWriteOfNewCredentials: one without a secret is sealed too, so that there is something
// to open; what is not to be kept goes; a change of what was changed meanwhile is refused.
func TestWriteOfNewCredentials(t *testing.T) {
	r := newRecords(t)
	public := r.client("public")
	public.Secret, public.Rebound, public.Was = secrets.Secret{}, true, "anything"
	login := r.client("login")
	login.Adopted = &Adopted{Tokens: Tokens{Access: secrets.Wire{Secret: secrets.New("adopted")}}, Expires: time.Unix(2e9, 0)}
	forget := r.client("forget")
	forget.Forget = true
	if err := r.write(nil, public, login, forget); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"public": ", first, ", "login": "secret of login, first, token 1 adopted, ", "forget": "secret of forget, first, "} {
		if got := r.holds(id); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
	if token, err := r.ws.OAuthToken(t.Context(), "login", ""); err != nil || !token.ExpiresAt.Time.Equal(time.Unix(2e9, 0)) {
		t.Errorf("the token ends at %v, %v", token.ExpiresAt, err)
	}
	creds := r.load()
	stale := creds[0]
	stale.Rebound, stale.Was, stale.Row.Origins = true, "third", "second"
	if err := r.write([]string{"public"}, stale); !problem.Is(err, problem.Conflict) {
		t.Errorf("origins that were changed meanwhile: %v", err)
	}
	if r.holds("login") == "nothing" {
		t.Error("a change that was refused removed a credential")
	}
	if err := r.write([]string{"public"}); err != nil || r.holds("login") != "nothing" || r.holds("public") == "nothing" {
		t.Errorf("%v; %s; %s", err, r.holds("login"), r.holds("public"))
	}
	gone := stale
	gone.Rebound, gone.Row.ID, gone.Secret = false, "nowhere", secrets.Secret{}
	if err := r.write([]string{"public"}, gone); !problem.Is(err, problem.NotFound) {
		t.Errorf("one that is gone: %v", err)
	}
}

// TestLoadTells which credentials a connector has; only clients have tokens and logins; what
// cannot be read is an error.
func TestLoadTells(t *testing.T) {
	r := newRecords(t)
	header := Draft{Row: store.Credential{ID: "h", ToolsetID: r.ts, Connector: "main", AuthType: "header", Shape: "{}"}, Secret: secrets.New("x")}
	elsewhere := r.client("elsewhere")
	elsewhere.Row.Connector = "other"
	if err := r.write(nil, header, r.client("c"), elsewhere); err != nil {
		t.Fatal(err)
	}
	r.fill("c")
	r.fill("h")
	for _, d := range r.load() {
		if isClient := d.Row.ID == "c"; (d.token != nil) != isClient || (d.Login != nil) != isClient || d.Row.ID == "elsewhere" {
			t.Errorf("%s: token %v, login %v", d.Row.ID, d.token, d.Login)
		}
	}
	for fails := range 3 {
		if out, err := Load(t.Context(), broken{fails}, r.ts, "main"); err == nil || out != nil {
			t.Errorf("%d: %v, %v", fails, out, err)
		}
	}
}

// broken are records that fail at some question.
type broken struct{ at int }

func (b broken) say(at int) error {
	if b.at == at {
		return context.DeadlineExceeded
	}
	return nil
}

func (b broken) CredentialsOf(context.Context, string, string) ([]store.Credential, error) {
	return []store.Credential{{AuthType: "oauth2"}}, b.say(0)
}

func (b broken) OAuthToken(context.Context, string, string) (*store.OAuthToken, error) {
	return nil, b.say(1)
}

func (b broken) CredentialLogin(context.Context, string) (*store.OAuthLogin, error) {
	return nil, b.say(2)
}

// TestAudited: the audit log has the shape of credentials and of a new secret a fingerprint,
// and nothing of a secret.
func TestAudited(t *testing.T) {
	r := newRecords(t)
	a, b := r.client("a"), r.client("b")
	b.Secret = secrets.Secret{}
	fingerprint := r.ring.Fingerprint(a.Secret)
	for n, want := range map[int][]string{0: {`{"authType":"none"}`}, 1: {`"credentialId":"a"`, `"origins":"first"`, `"fingerprint":"` + fingerprint}, 2: {`"authType":"list","items":[{`, `"credentialId":"b"`}} {
		text := store.JSON(Audited(r.ring, []Draft{a, b}[:n]))
		if strings.Contains(text, `"list"`) != (n > 1) {
			t.Errorf("%d credentials: %s", n, text)
		}
		for _, part := range want {
			if !strings.Contains(text, part) || strings.Contains(text, "secret of") || strings.Count(text, "fingerprint") != min(n, 1) {
				t.Errorf("%d credentials: %s lacks %s", n, text, part)
			}
		}
	}
}
