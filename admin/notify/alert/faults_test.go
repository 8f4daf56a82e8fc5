package alert

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/notify/alert/rule"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/registry"
)

// injection is a fault that goes on while the clock of the test runs.
type injection struct {
	t     *testing.T
	h     *hall
	ts    *store.Toolset
	other *store.Toolset // of the same host
	step  int
	says  map[string]func(registry.EdgeStatus) // by the name of an edge
}

// fail reports a few calls of two tools that end in a cause.
func (x *injection) fail(cause, text string) {
	x.h.usedFor(x.ts, "list", 6, cause, text, 50*time.Millisecond)
	x.h.usedFor(x.ts, "get", 6, cause, text, 50*time.Millisecond)
}

// work reports calls that work.
func (x *injection) work() { x.h.used(x.ts, "healthy", 8, "") }

// once runs fn in the first step.
func (x *injection) once(fn func(ctx context.Context, tx *store.Tx) error) {
	if x.step == 0 {
		x.h.update(fn)
	}
}

// edge has an edge say something.
func (x *injection) edge(st registry.EdgeStatus) { x.edgeOf("eu-1", st) }

// edgeOf has the edge of a name say something.
func (x *injection) edgeOf(name string, st registry.EdgeStatus) {
	if x.says[name] == nil {
		x.says[name] = x.h.edge(name)
	}
	st.Ready, st.Epoch = true, 1
	if st.Revision == 0 {
		st.Revision = 7
	}
	x.says[name](st)
}

// TestFaults injects one fault after the other, for six minutes each with usage, edges and
// records as they report them then: each is reported once, by the right name, with its cause.
func TestFaults(t *testing.T) {
	n := 0
	f := func(fault, kind, cause string, inject func(x *injection)) {
		n++
		t.Run(fmt.Sprintf("%02d %s", n, fault), func(t *testing.T) {
			h := newHall(t)
			if err := h.st.EnsureWorkspace(t.Context(), request.Operator, "default"); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(kind, "disk.") || strings.HasPrefix(kind, "backup.") {
				h.ws = h.st.Workspace(request.Operator)
			}
			x := &injection{t: t, h: h, ts: h.toolset("shop"), says: map[string]func(registry.EdgeStatus){}}
			var told []store.Event
			for x.step = range 12 {
				inject(x)
				for range 6 {
					told = append(told, h.round()...)
					h.pass(5 * time.Second)
				}
			}
			if len(told) != 1 || told[0].Type != TypeFired || told[0].Subject != kind {
				var got []string
				for _, e := range told {
					got = append(got, e.Type+" "+e.Subject)
				}
				t.Fatalf("told %q, want %s once", got, kind)
			}
			if a := h.open(); !strings.Contains(a.Title+" "+a.Details.Cause, cause) || a.Details.Remedy == "" {
				t.Errorf("the alert does not say %q: %s: %+v", cause, a.Title, a.Details)
			}
		})
	}
	calls := func(cause, text string) func(x *injection) { return func(x *injection) { x.fail(cause, text) } }
	f("dead upstream", rule.KindUnreachable, "shop.example cannot be reached", calls("unreachable", "it does not accept connections"))
	f("expired certificate", rule.KindUnreachable, "certificate has expired", calls("unreachable", "tls: the certificate has expired"))
	f("name that does not resolve", rule.KindUnreachable, "no such host", calls("unreachable", "no such host"))
	f("upstream that dies under load", rule.KindUnreachable, "shop.example", func(x *injection) {
		if x.step < 6 {
			x.h.used(x.ts, "list", 500, "")
			return
		}
		x.fail("unreachable", "connection reset")
	})
	f("dead upstream of two toolsets", rule.KindUnreachable, "toolsets", func(x *injection) {
		if x.other == nil {
			x.other = x.h.toolset("bank")
			x.h.update(func(ctx context.Context, tx *store.Tx) error {
				row, err := tx.Toolset(ctx, x.other.ID)
				if err != nil {
					return err
				}
				row.BaseURL = "https://shop.example/v2"
				return tx.SaveToolset(ctx, row)
			})
		}
		x.fail("unreachable", "refused")
		x.h.used(x.other, "list", 6, "unreachable")
	})
	f("timeouts", rule.KindTimeout, "does not answer in time", calls("timeout", "no answer in 30s"))
	f("half of the calls time out", rule.KindTimeout, "does not answer in time", func(x *injection) { x.fail("timeout", ""); x.work() })
	f("500s", rule.KindErrors, "http_500", calls("http_500", "internal error"))
	f("503s, a third", rule.KindErrors, "http_503", func(x *injection) { x.h.used(x.ts, "list", 4, "http_503"); x.work() })
	f("malformed answers", rule.KindErrors, "upstream_malformed", calls("upstream_malformed", "not JSON"))
	f("answers that are too large", rule.KindErrors, "upstream_too_large", calls("upstream_too_large", "more than 64 MB"))
	f("429", rule.KindLimited, "limits the calls", calls("http_429", "slow down"))
	f("slow upstream", rule.KindSlow, "is slow", func(x *injection) { x.h.usedFor(x.ts, "list", 12, "", "", 15*time.Second) })
	f("circuit open", rule.KindCircuitOpen, "turned away", calls("unavailable", "could not be reached 5 times in a row"))
	f("dead, then circuit open", rule.KindUnreachable, "cannot be reached", func(x *injection) {
		if x.step < 4 {
			x.fail("unreachable", "refused")
		} else {
			x.fail("unavailable", "could not be reached 5 times in a row")
		}
	})
	f("401", KindAuthFailed, "answered 401", func(x *injection) {
		x.h.report(x.h.calls(x.ts, "list", 401, 3)...)
		x.fail("http_401", "unauthorized")
	})
	f("403 of everything", KindAuthFailed, "answered 403", func(x *injection) {
		x.h.report(append(x.h.calls(x.ts, "list", 403, 3), x.h.calls(x.ts, "get", 403, 3)...)...)
		x.fail("http_403", "forbidden")
	})
	f("403 of one tool", rule.KindToolFailing, "http_403", func(x *injection) { x.h.used(x.ts, "admin", 6, "http_403"); x.work() })
	f("tool that is gone", rule.KindToolFailing, "http_404", func(x *injection) { x.h.used(x.ts, "list", 6, "http_404"); x.work() })
	f("tool that always times out", rule.KindToolFailing, "timeout", func(x *injection) { x.h.used(x.ts, "report", 3, "timeout"); x.h.used(x.ts, "healthy", 40, "") })
	f("wrong address", rule.KindToolFailing, "2 tools", calls("http_404", "no such page"))
	f("agents that call with wrong arguments", rule.KindErrorRate, "invalid_tool_arguments", func(x *injection) {
		for _, tool := range []string{"a", "b", "c"} {
			x.h.used(x.ts, tool, 7, "invalid_tool_arguments")
			x.h.used(x.ts, tool, 4, "")
		}
	})
	f("plugin that traps", rule.KindPlugin, "unreachable executed", func(x *injection) {
		x.h.usedFor(x.ts, "list", 6, "invalid_plugin", "wasm: unreachable executed", 50*time.Millisecond)
		x.work()
	})
	f("plugin that loops", rule.KindPlugin, "deadline", func(x *injection) {
		x.h.usedFor(x.ts, "list", 3, "invalid_plugin", "stopped at its deadline of 50 ms", 50*time.Millisecond)
		x.h.used(x.ts, "list", 5, "")
	})
	f("budget spent", rule.KindBudget, "is spent", func(x *injection) {
		limit := 100.0
		if x.step == 0 {
			if _, err := x.h.AddRule(x.t.Context(), x.h.ws, &NewRule{Name: "daily", Settings: rule.Settings{Metric: rule.Calls, Threshold: &limit, Window: rule.Day}}); err != nil {
				x.t.Fatal(err)
			}
			x.h.used(x.ts, "list", 120, "")
		}
	})
	f("own rule", rule.KindRule, "rule busy", func(x *injection) {
		limit := 10.0
		if x.step == 0 {
			if _, err := x.h.AddRule(x.t.Context(), x.h.ws, &NewRule{Name: "busy", Settings: rule.Settings{Metric: rule.Calls, Threshold: &limit}}); err != nil {
				x.t.Fatal(err)
			}
		}
		x.work()
	})
	f("edge killed", KindEdgeSilent, "says nothing", func(x *injection) {
		if x.step < 4 {
			x.edge(registry.EdgeStatus{})
		}
	})
	f("edge behind", KindEdgeBehind, "blob is damaged", func(x *injection) {
		if x.step == 0 {
			x.edge(registry.EdgeStatus{})
			if err := x.h.st.MarkRelease(x.t.Context(), "default", 1, 8); err != nil {
				x.t.Fatal(err)
			}
			x.mark(8)
		}
		x.edge(registry.EdgeStatus{Following: "blob is damaged"})
	})
	f("disk of an edge full", KindEdgeFault, "no space left", func(x *injection) { x.edge(registry.EdgeStatus{Cache: "no space left on device"}) })
	f("disk of an edge nearly full", KindEdgeFault, "128 MB are free", func(x *injection) {
		x.edge(registry.EdgeStatus{Disk: "less than 128 MB are free on the disk of its data directory"})
	})
	f("disk of an edge full, for its usage too", KindEdgeFault, "no space left", func(x *injection) {
		x.edge(registry.EdgeStatus{Cache: "no space left on device", Usage: "3 usage reports were dropped"})
	})
	f("clock of an edge is ahead", KindEdgeFault, "its clock is 20m0s ahead of that of the control plane", func(x *injection) {
		x.edge(registry.EdgeStatus{Time: x.h.now().Add(20 * time.Minute)})
	})
	f("clock of an edge is behind, so that its token is not renewed", KindEdgeFault, "its clock is 20m0s behind that of the control plane; renew the token", func(x *injection) {
		x.edge(registry.EdgeStatus{Time: x.h.now().Add(-20 * time.Minute), Following: "renew the token of this edge: the clock of the edge is 20m0s off"})
	})
	f("token of an edge that is not renewed", KindEdgeFault, "renew the token", func(x *injection) {
		x.edge(registry.EdgeStatus{Time: x.h.now(), Following: "renew the token of this edge: refused"})
	})
	f("release past its expiry", KindEdgeFault, "past its expiry", func(x *injection) { x.edge(registry.EdgeStatus{Expired: true}) })
	f("clock of the control plane is off", KindClock, "it is 5m0s behind those of 3 of 4 edges", func(x *injection) {
		for i, off := range []time.Duration{5 * time.Minute, 5*time.Minute + 50*time.Second, 5*time.Minute - 40*time.Second} {
			x.edgeOf(fmt.Sprint("eu-", i), registry.EdgeStatus{Time: x.h.now().Add(off)})
		}
		x.edgeOf("old", registry.EdgeStatus{}) // of a version that does not say its time
	})
	f("usage that cannot be posted", KindUsageLate, "does not answer", func(x *injection) { x.edge(registry.EdgeStatus{Usage: "the control plane does not answer"}) })
	f("usage dropped", KindUsageLate, "dropped", func(x *injection) { x.edge(registry.EdgeStatus{Usage: "3 usage reports were dropped"}) })
	f("disk of the control plane low", KindDiskLow, "512 MB are free", func(x *injection) {
		x.h.Space = func() (int64, bool) { return 512 << 20, true }
	})
	f("backup old", KindBackupOld, "more than 7 days ago", func(x *injection) {
		x.once(func(ctx context.Context, tx *store.Tx) error {
			return tx.Audit(ctx, &store.Audit{ActorType: "system", ActorID: "command line", Action: backupAction, Resource: request.Operator, Outcome: "ok"})
		})
		if x.step == 0 {
			x.h.pass(backupAge + time.Hour)
		}
	})
	f("key due", KindRotationDue, "due for rotation", func(x *injection) {
		if x.step == 0 {
			x.h.pass(rotationAge + time.Hour)
		}
	})
	f("token expiring", KindToken, "ends", func(x *injection) {
		x.once(func(ctx context.Context, tx *store.Tx) error {
			return tx.AddToken(ctx, &store.Token{Name: "ci", Role: store.RoleViewer, Hash: []byte(fmt.Sprintf("%032s", "ci")), ExpiresAt: store.Time{Time: x.h.now().Add(60 * 24 * time.Hour)}})
		})
		if x.step == 0 {
			x.h.pass(50 * 24 * time.Hour)
		}
	})
	f("passkey copied", KindPasskey, `passkey "Laptop" signed with a counter`, func(x *injection) {
		x.once(func(ctx context.Context, tx *store.Tx) error {
			m := &store.Member{Email: "ben@a.example", Role: store.RoleViewer}
			if err := tx.AddMember(ctx, m); err != nil {
				return err
			}
			k := &store.Passkey{MemberID: m.ID, Credential: []byte("c1"), PublicKey: []byte("k"), Host: "localhost", Name: "Laptop", SignCount: 5}
			if err := tx.AddPasskey(ctx, k); err != nil {
				return err
			}
			return tx.DoubtPasskey(ctx, k.ID)
		})
	})
	f("login needed", KindLogin, "invalid_grant", func(x *injection) {
		x.once(func(ctx context.Context, tx *store.Tx) error {
			return tx.SaveOAuthToken(ctx, &store.OAuthToken{CredentialID: "cred_shop", ID: "usr_1", Version: 1, Sealed: []byte{}, Error: "invalid_grant", ErrorAt: store.Time{Time: x.h.now()}})
		})
	})
	drift := func(breaking int) func(x *injection) {
		return func(x *injection) {
			x.once(func(ctx context.Context, tx *store.Tx) error {
				return tx.AddToolsetChange(ctx, &store.ToolsetChange{ToolsetID: x.ts.ID, Connector: "shop", Report: fmt.Sprintf(`{"added":1,"breaking":%d,"quarantined":true}`, breaking)})
			})
		}
	}
	f("drift, safe", KindChanged, "0 of them breaking", drift(0))
	f("drift, breaking", KindChanged, "2 of them breaking", drift(2))
	f("specification that cannot be read", KindUnreadable, "answered 500", func(x *injection) {
		x.once(func(ctx context.Context, tx *store.Tx) error {
			errs := []error{tx.SetSchedule(ctx, x.ts.ID, "shop", time.Hour)}
			for range sourceFailures {
				_, err := tx.SourceFailed(ctx, x.ts.ID, "shop", "it answered 500")
				errs = append(errs, err)
			}
			return errors.Join(errs...)
		})
	})
	f("canary that is rolled back", KindRolledBack, "6 of 60 calls failed", func(x *injection) {
		x.once(func(ctx context.Context, tx *store.Tx) error {
			row := &store.Trial{ToolsetID: x.ts.ID, Mode: registry.TrialCanary, Percent: 10, Changes: "{}", Thresholds: "{}"}
			return errors.Join(tx.AddTrial(ctx, row), tx.EndTrial(ctx, row, store.TrialRolledBack, "6 of 60 calls failed", 0))
		})
	})
	f("domain without a certificate", KindDomain, "cannot be reached", func(x *injection) {
		x.once(func(ctx context.Context, tx *store.Tx) error {
			return tx.AddDomain(ctx, &store.Domain{Host: "tools.example.com", Token: "x", State: "failed", Cause: "port 80 cannot be reached", Attempts: 3, VerifiedAt: store.Time{Time: x.h.now()}})
		})
		if x.step == 1 {
			x.h.pass(domainHold)
		}
	})
	f("client certificate that ends", KindCertificate, "ends", func(x *injection) {
		x.once(func(ctx context.Context, tx *store.Tx) error {
			cred := &store.Credential{ID: "cred_mtls", ToolsetID: x.ts.ID, Connector: "other", AuthType: registry.AuthMTLS, Shape: store.JSON(map[string]any{
				"certificate": map[string]any{"subject": "CN=shop", "notAfter": x.h.now().Add(10 * 24 * time.Hour)},
			})}
			return tx.SealCredential(ctx, x.h.ring, cred, hiddenKey)
		})
	})
	if n < 30 {
		t.Errorf("%d faults", n)
	}
}

// mark publishes a release to every group of edges.
func (x *injection) mark(revision uint64) {
	x.t.Helper()
	var groups []string
	edges, _, err := x.h.ws.Edges(x.t.Context(), store.Page{})
	for i := range edges {
		groups = append(groups, edges[i].Group)
	}
	for _, g := range groups {
		err = errors.Join(err, x.h.st.MarkRelease(x.t.Context(), g, 1, revision))
	}
	if err != nil {
		x.t.Fatal(err)
	}
}
