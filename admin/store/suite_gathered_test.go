package store_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/secrets"
)

// testGather: what is gathered for several toolsets is what is read for each of them.
func testGather(t *testing.T, h harness) {
	w, ctx := h.open(t, nil).Workspace("one"), t.Context()
	if _, err := w.Gather(ctx, nil); err != nil {
		t.Fatalf("nothing: %v", err)
	}
	ring := keyring(t)
	bare, full := seed(t, w, "bare"), seed(t, w, "full")
	var cred store.Credential
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		first := full.First()
		if err := tx.SaveConnectors(ctx, full, []store.ToolsetConnector{first, {
			Name: "notes", SourceKind: store.SourceMCP, SourceURL: "https://mcp.example", Connector: first.Connector, ConnectorDigest: first.ConnectorDigest,
		}}); err != nil {
			return err
		}
		full.DraftDigest = "d2"
		if err := tx.SaveToolset(ctx, full); err != nil {
			return err
		}
		for _, d := range []string{"d1", "d2", "d2", "d3"} {
			if err := tx.AddTestRun(ctx, &store.TestRun{ToolsetID: full.ID, Digest: d, Outcome: "{}"}); err != nil {
				return err
			}
		}
		cred = store.Credential{ToolsetID: full.ID, Connector: "notes", AuthType: "header", Shape: "{}"}
		return errors.Join(
			tx.SealCredential(ctx, ring, &cred, secrets.New("k")),
			tx.SaveAccess(ctx, &store.ToolsetAccess{ToolsetID: full.ID, Mode: "token", Settings: "{}"}),
			tx.AddDomain(ctx, &store.Domain{Host: "all.example", Token: "t", State: "live"}),
			tx.AddDomain(ctx, &store.Domain{Host: "full.example", ToolsetID: full.ID, Token: "t", State: "live"}),
			tx.AddToolsetChange(ctx, &store.ToolsetChange{ToolsetID: full.ID, Connector: "notes", Report: `{"n":1}`}),
			tx.AddToolsetChange(ctx, &store.ToolsetChange{ToolsetID: full.ID, Connector: "notes", Report: `{"n":2}`}))
	})
	g, err := w.Gather(ctx, []store.Toolset{*bare, *full})
	if err != nil {
		t.Fatal(err)
	}
	type reader interface {
		ToolsetConnectors(context.Context, *store.Toolset) ([]store.ToolsetConnector, error)
		ConnectorVersion(context.Context, string, string) (*store.ConnectorVersion, error)
		CredentialsOf(context.Context, string, string) ([]store.Credential, error)
		OAuthToken(context.Context, string, string) (*store.OAuthToken, error)
		CredentialLogin(context.Context, string) (*store.OAuthLogin, error)
		LastTestRun(context.Context, string, string) (*store.TestRun, error)
		Access(context.Context, string) (*store.ToolsetAccess, error)
		DomainInState(context.Context, string, string) (*store.Domain, error)
		ToolsetChanges(context.Context, string, string, store.Page) ([]store.ToolsetChange, string, error)
	}
	for _, ts := range []*store.Toolset{bare, full} {
		read := func(r reader) []any {
			var out []any
			add := func(v any, err error) {
				if err != nil {
					t.Errorf("%s: %v", ts.Slug, err)
				}
				out = append(out, v)
			}
			parts, err := r.ToolsetConnectors(ctx, ts)
			add(parts, err)
			for i := range parts {
				v, err := r.ConnectorVersion(ctx, parts[i].Connector, parts[i].ConnectorDigest)
				add(v, err)
				creds, err := r.CredentialsOf(ctx, ts.ID, parts[i].Name)
				add(len(creds), err)
				for j := range creds {
					add(creds[j], nil)
				}
			}
			token, err := r.OAuthToken(ctx, cred.ID, "")
			add(token, err)
			login, err := r.CredentialLogin(ctx, cred.ID)
			add(login, err)
			test, err := r.LastTestRun(ctx, ts.ID, ts.DraftDigest)
			add(test, err)
			open, err := r.Access(ctx, ts.ID)
			add(open, err)
			for _, state := range []string{"live", "pending"} {
				d, err := r.DomainInState(ctx, ts.ID, state)
				add(d, err)
			}
			changes, _, err := r.ToolsetChanges(ctx, ts.ID, "notes", store.Page{Limit: 1})
			add(len(changes), err)
			for i := range changes {
				add(changes[i], nil)
			}
			return out
		}
		want, got := read(w), read(g)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: gathered\n%+v\nread one by one\n%+v", ts.Slug, got, want)
		}
	}
	if _, err := g.ConnectorVersion(ctx, "none", "none"); err == nil {
		t.Error("a version that is not there was gathered")
	}
	if _, err := g.OAuthToken(ctx, cred.ID, "caller"); err == nil {
		t.Error("tokens of a caller were gathered")
	}
	other, err := w.Gather(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if a, err := other.Access(ctx, full.ID); a != nil || err != nil {
		t.Errorf("what was not asked for was gathered: %+v, %v", a, err)
	}
}
