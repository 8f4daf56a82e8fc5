package login

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// open makes a room of an empty workspace, with links.
func open(t *testing.T) (*Room, *store.Workspace) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "sluice.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.EnsureWorkspace(t.Context(), "default", "default"); err != nil {
		t.Fatal(err)
	}
	ring, err := secrets.OpenFile(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	return New(Options{Store: s, Keyring: ring, LinkURL: "https://sluice.example"}), s.Workspace("default")
}

// link is the end of the link that a caller gets who needs scopes.
func link(t *testing.T, r *Room, scopes []string) string {
	t.Helper()
	row := &store.Credential{ID: "cred_1"}
	row.WorkspaceID = "default"
	user := &registry.User{Kind: registry.UserToken, ID: "act_1", Toolset: "ts_1"}
	err := r.Secrets.mustLogIn(t.Context(), row, user, scopes, problem.New(problem.Unauthenticated, "x"))
	page, ok := errors.AsType[*registry.LoginError](err)
	if !ok {
		t.Fatalf("a caller who must log in gets %v, want a link", err)
	}
	text, ok := strings.CutPrefix(page.URL, "https://sluice.example"+UserPath)
	if !ok {
		t.Fatalf("the link is %s", page.URL)
	}
	return text
}

// TestLinkScopes: a link asks for as many scopes as one refused call may want, and leaves the
// rest out.
func TestLinkScopes(t *testing.T) {
	r, _ := open(t)
	scopes := make([]string, maxLinkScopes+1)
	for i := range scopes {
		scopes[i] = fmt.Sprint("scope", i)
	}
	for _, n := range []int{maxLinkScopes, maxLinkScopes + 1} {
		got, err := r.openTicket(link(t, r, scopes[:n]))
		if err != nil || len(got.Scopes) != maxLinkScopes || got.Scopes[0] != "scope0" {
			t.Errorf("%d scopes: %v, want the first %d: %v", n, got, maxLinkScopes, err)
		}
	}
}

// TestLongestLink: a link is opened up to its longest, and one that is longer is not looked at.
func TestLongestLink(t *testing.T) {
	r, _ := open(t)
	text := link(t, r, nil)
	for _, c := range []struct {
		bytes int
		opens bool
	}{{maxTicket, true}, {maxTicket + 1, false}} {
		padded := text + strings.Repeat("\n", c.bytes-len(text)) // which a base64 decoder skips
		if _, err := r.openTicket(padded); (err == nil) != c.opens || err != nil && !problem.Is(err, problem.NotFound) {
			t.Errorf("a link of %d bytes: %v, want it to open: %t", c.bytes, err, c.opens)
		}
	}
}

// TestLongestConfirmation: the same of links of logins that an operator began.
func TestLongestConfirmation(t *testing.T) {
	r, ws := open(t)
	for _, c := range []struct {
		bytes int
		opens bool
	}{{maxConfirm, true}, {maxConfirm + 1, false}} {
		row := &store.OAuthLogin{ID: r.o.Store.NewID("login"), Purpose: store.LoginServer, State: store.LoginPending, ExpiresAt: store.Time{Time: r.o.Store.Now().Add(time.Hour)}}
		secret := strings.Repeat("s", c.bytes-len(row.ID)-1)
		err := ws.Update(t.Context(), func(tx *store.Tx) error {
			l := &record{Confirm: secrets.Wire{Secret: secrets.New(secret)}, Server: &serverLogin{}}
			return tx.SealOAuthLogin(t.Context(), r.o.Keyring, row, secrets.New(store.JSON(l)))
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.waiting(t.Context(), row.ID+"."+secret); (err == nil) != c.opens || err != nil && !problem.Is(err, problem.NotFound) {
			t.Errorf("a link with %d bytes at its end: %v, want it to open: %t", c.bytes, err, c.opens)
		}
	}
}

// TestMostUserTokens: the tokens of as many callers are kept in memory, and one more starts
// again.
func TestMostUserTokens(t *testing.T) {
	c := &New(Options{}).Secrets.users
	for i := range maxUserTokens {
		c.put(fmt.Sprint(i), Opened{Version: 1}, c.now())
	}
	if len(c.values) != maxUserTokens {
		t.Errorf("%d tokens are kept, want %d", len(c.values), maxUserTokens)
	}
	if c.put("more", Opened{Version: 1}, c.now()); len(c.values) != 1 {
		t.Errorf("%d tokens are kept after one more, want 1", len(c.values))
	}
}

// TestMaxOrigins: a credential may be sent to so many addresses, those before included;
// one more is refused before anything is written.
func TestMaxOrigins(t *testing.T) {
	r, ws := open(t)
	o := &Origins{Store: r.o.Store}
	for n, ok := range map[int]bool{registry.MaxOrigins: true, registry.MaxOrigins + 1: false} {
		bound := credential.Bound{Call: registry.Origins{"https://before.example"}}
		row := store.Credential{ID: "cred_1", Origins: bound.Text()}
		row.WorkspaceID = "default"
		in := &ConfirmOrigins{}
		for i := range n - 1 {
			in.Origins = append(in.Origins, fmt.Sprintf("https://h%d.example", i))
		}
		err := o.Confirm(t.Context(), ws, &store.Toolset{}, "c", []credential.Draft{{Row: row}}, in)
		// At the limit it gets as far as the credential, which is not in the store.
		if tooMany := problem.Is(err, problem.InvalidArgument) && strings.Contains(err.Error(), "at most"); err == nil || tooMany == ok {
			t.Errorf("%d addresses: %v", n, err)
		}
	}
}

// TestMaxRevoked: one change reports so many grants, and says how many more there were.
func TestMaxRevoked(t *testing.T) {
	g := Gone{grants: make([]grantGone, maxRevoked-1)}
	if g.full() || g.more != 0 {
		t.Errorf("before the last one: %d more", g.more)
	}
	g.grants = append(g.grants, grantGone{})
	for n := 1; n <= 2; n++ {
		if !g.full() || g.more != n || len(g.grants) != maxRevoked {
			t.Errorf("%d past the bound: %d more", n, g.more)
		}
	}
}
