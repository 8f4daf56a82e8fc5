package alert

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/registry"
)

// TestClocks: an edge is reported whose clock is more than a minute from that of the control
// plane; when most edges agree, and it is not with the control plane, its clock is.
func TestClocks(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		name string
		offs []time.Duration
		told map[string]string // by the edge, "": the control plane
	}{
		{name: "a minute", offs: []time.Duration{time.Minute, -time.Minute}},
		{name: "one of one", offs: []time.Duration{61 * time.Second}, told: map[string]string{"a": "its clock is 1m1s ahead of that of the control plane"}},
		{name: "one of two", offs: []time.Duration{0, -time.Hour}, told: map[string]string{"b": "its clock is 1h0m0s behind that of the control plane"}},
		{name: "two that differ", offs: []time.Duration{time.Hour, -time.Hour}, told: map[string]string{
			"a": "its clock is 1h0m0s ahead of that of the control plane", "b": "its clock is 1h0m0s behind that of the control plane",
		}},
		{name: "all", offs: []time.Duration{time.Hour, time.Hour + time.Second}, told: map[string]string{"": "it is 1h0m1s behind those of 2 of 2 edges, which agree with each other"}},
		{name: "all but one", offs: []time.Duration{-time.Hour, 0, -time.Hour}, told: map[string]string{
			"": "it is 1h0m0s ahead of those of 2 of 3 edges, which agree with each other", "b": "its clock is 1h0m0s ahead of those of the other edges",
		}},
		{name: "half of them", offs: []time.Duration{time.Hour, time.Hour, 0, 0}, told: map[string]string{
			"a": "its clock is 1h0m0s ahead of that of the control plane", "b": "its clock is 1h0m0s ahead of that of the control plane",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHall(t)
			h.pass(at.Sub(h.now()))
			for i, off := range c.offs {
				h.edge(string(rune('a' + i)))(registry.EdgeStatus{Ready: true, Time: h.now().Add(off)})
			}
			found, err := h.edges(t.Context(), h.ws, open{})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for i := range found {
				got[found[i].details.Edge] = found[i].details.Cause
			}
			if len(got) != len(c.told) {
				t.Errorf("told %q, want %q", got, c.told)
			}
			for edge, cause := range c.told {
				if got[edge] != cause {
					t.Errorf("edge %q: %q, want %q", edge, got[edge], cause)
				}
			}
		})
	}
}

// TestLateBehindAnotherFault: usage is late, too, when it is another fault of the edge that is
// reported: what it would say of an upstream is not known.
func TestLateBehindAnotherFault(t *testing.T) {
	h := newHall(t)
	ts := h.toolset("shop")
	says := h.edge("eu-1")
	full := registry.EdgeStatus{Ready: true, Cache: "no space left on device", Usage: "3 usage reports were dropped"}
	says(full)
	h.used(ts, "list", 20, "http_500")
	h.told()
	h.pass(edgeHold)
	says(full)
	h.told("alert.fired edge.fault", "alert.fired upstream.errors")
	for range 20 {
		h.pass(2 * time.Minute)
		says(full)
		h.told()
	}
	says(registry.EdgeStatus{Ready: true})
	h.later(0)
	h.told("alert.resolved edge.fault")
	h.pass(2 * time.Minute)
	says(registry.EdgeStatus{Ready: true})
	h.told("alert.resolved upstream.errors")
}

// TestCommands: the command of a remedy names the connector when it is not the first of its
// toolset, and nobody logs in for a grant of the client itself.
func TestCommands(t *testing.T) {
	for _, c := range []struct {
		connector, authType, shape string
		error                      string // of an authorization server
		want                       string
	}{
		{"pets", "header", `{"headerName":"K"}`, "", "sluice toolset auth pets rotate --api-key-file FILE"},
		{"more", "header", `{"headerName":"K"}`, "", "sluice toolset auth pets rotate --api-key-file FILE --connector more"},
		{"more", "mtls", `{"certificate":{"subject":"CN=a","notAfter":"2026-03-01T00:00:00Z"}}`, "", "sluice toolset auth pets set --auth mtls --client-cert FILE --client-key FILE --connector more"},
		{"pets", "oauth2", `{"grant":"authorization_code"}`, "invalid_grant", "sluice toolset auth pets login"},
		{"more", "oidc", `{"grant":"authorization_code"}`, "invalid_grant", "sluice toolset auth pets login --connector more"},
		{"more", "oauth2", `{"grant":"client_credentials"}`, "invalid_client", "sluice toolset auth pets rotate --api-key-file FILE --connector more"},
	} {
		h := newHall(t)
		ts := h.toolset("pets")
		h.update(func(ctx context.Context, tx *store.Tx) error {
			row, err := tx.CredentialByID(ctx, "cred_pets")
			if c.connector == "more" {
				row = &store.Credential{ID: "cred_more", ToolsetID: ts.ID, Connector: "more", AuthType: c.authType, Shape: c.shape, Last4: "0000"}
				return errors.Join(err, tx.SealCredential(ctx, h.ring, row, hiddenKey))
			}
			row.AuthType, row.Shape = c.authType, c.shape
			return errors.Join(err, tx.SaveCredentialShape(ctx, row))
		})
		if c.error != "" {
			h.update(func(ctx context.Context, tx *store.Tx) error {
				return tx.SaveOAuthToken(ctx, &store.OAuthToken{CredentialID: "cred_" + c.connector, ID: "usr_1", Version: 1, Sealed: []byte{}, Error: c.error, ErrorAt: store.Time{Time: h.now()}})
			})
		}
		h.pass(rotationAge - time.Hour)
		find := logins
		if c.error == "" {
			find = keys
		}
		found, err := find(t.Context(), h.ws)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for i := range found {
			if found[i].details.Connector == c.connector {
				got = append(got, found[i].details.Command)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint([]string{c.want}) {
			t.Errorf("%s %s: %q, want %q", c.connector, c.authType, got, c.want)
		}
	}
}

// TestCommandsOfSources: so do those of sources.
func TestCommandsOfSources(t *testing.T) {
	h := newHall(t)
	ts := h.toolset("pets")
	h.update(func(ctx context.Context, tx *store.Tx) error {
		errs := []error{
			tx.AddToolsetChange(ctx, &store.ToolsetChange{ToolsetID: ts.ID, Connector: "more", Report: `{"added":1,"quarantined":true}`}),
			tx.SetSchedule(ctx, ts.ID, "more", time.Hour),
		}
		for range sourceFailures {
			_, err := tx.SourceFailed(ctx, ts.ID, "more", "it answered 500")
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
	found, err := sources(t.Context(), h.ws)
	if err != nil || len(found) != 2 {
		t.Fatalf("%+v, %v", found, err)
	}
	if got, want := found[0].details.Command, "sluice toolset diff pets --connector more; sluice toolset accept pets --connector more"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := found[1].details.Command, "sluice toolset refresh pets --connector more"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
