package alert

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/registry"
)

// later lets time pass until the records are looked at again.
func (h *hall) later(d time.Duration) { h.pass(max(d, recordsEvery)) }

// TestRotationReminders: a key has a reminder 14 days before it is 90 days old, a day
// before, and then; a new key ends it.
func TestRotationReminders(t *testing.T) {
	h := newHall(t)
	ts := h.toolset("pets")
	h.later(rotationAge - early - time.Second)
	h.told()
	h.later(recordsEvery)
	h.told("alert.fired key.rotation_due")
	if a := h.open(); a.Severity != "info" || a.ToolsetID != ts.ID || a.Details.Command != "sluice toolset auth pets rotate --api-key-file FILE" || a.Details.Cause != "the key is 76 days old" {
		t.Errorf("%+v", a)
	}
	h.later(time.Hour)
	h.told()
	h.later(early - late)
	h.told("alert.changed key.rotation_due")
	if a := h.open(); a.Severity != "warning" {
		t.Errorf("a day before: %+v", a)
	}
	h.later(late)
	h.told("alert.changed key.rotation_due")
	h.later(30 * 24 * time.Hour)
	h.told()
	h.update(func(ctx context.Context, tx *store.Tx) error {
		row, err := tx.CredentialByID(ctx, "cred_pets")
		if err != nil {
			return err
		}
		return tx.SealCredential(ctx, h.ring, row, hiddenKey)
	})
	h.later(0)
	h.told("alert.resolved key.rotation_due")
}

// TestReminderNotices: who gets a notice of something that is due by e-mail can unsubscribe,
// until it is critical.
func TestReminderNotices(t *testing.T) {
	f := func(kind, severity, document string, want bool) {
		t.Helper()
		n, err := noticeOf(kind, &store.Alert{Kind: KindCertificate, Severity: severity, Document: document})
		if err != nil || n.Reminder != want {
			t.Errorf("%s %s %s: a reminder: %v, want %v; %v", kind, severity, document, n.Reminder, want, err)
		}
	}
	const due = `{"dueAt":"2026-03-01T12:00:00Z"}`
	f(TypeFired, notify.Info, due, true)
	f(TypeChanged, notify.Warning, due, true)
	f(TypeResolved, notify.Warning, due, true)
	f(TypeChanged, notify.Critical, due, false)
	f(TypeFired, notify.Warning, `{}`, false)
}

// TestCertificate: a client certificate that ends.
func TestCertificate(t *testing.T) {
	h := newHall(t)
	h.toolset("pets")
	h.update(func(ctx context.Context, tx *store.Tx) error {
		row, err := tx.CredentialByID(ctx, "cred_pets")
		if err != nil {
			return err
		}
		row.AuthType, row.Shape = "mtls", fmt.Sprintf(`{"certificate":{"subject":"CN=sluice","notAfter":%q}}`, h.now().Add(20*24*time.Hour).Format(time.RFC3339))
		return tx.SaveCredentialShape(ctx, row)
	})
	h.told()
	h.later(7 * 24 * time.Hour)
	h.told("alert.fired certificate.expiring")
	h.later(20 * 24 * time.Hour)
	h.told("alert.changed certificate.expiring")
	if a := h.open(); a.Severity != "critical" || !strings.Contains(a.Details.Cause, "CN=sluice") {
		t.Errorf("%+v", a)
	}
}

// TestDomainCertificate: a certificate of a domain that should have been renewed, in the parts of
// its life, and one that the authority does not give. What it says while it is asked again is not
// taken for the end of it.
func TestDomainCertificate(t *testing.T) {
	h := newHall(t)
	const day = 24 * time.Hour
	domain := &store.Domain{Host: "tools.example.com", Token: "x", State: "verified", VerifiedAt: store.Time{Time: h.now()}}
	h.update(func(ctx context.Context, tx *store.Tx) error { return tx.AddDomain(ctx, domain) })
	set := func(change func(*store.Domain)) {
		t.Helper()
		h.update(func(ctx context.Context, tx *store.Tx) error {
			row, err := tx.Domain(ctx, domain.Host)
			if err != nil {
				return err
			}
			change(row)
			return tx.SaveDomain(ctx, row)
		})
	}
	renewed := func(life time.Duration) {
		t.Helper()
		set(func(d *store.Domain) {
			d.State, d.Cause, d.Attempts, d.NotBefore, d.NotAfter = "live", "", 0, store.Time{Time: h.now()}, store.Time{Time: h.now().Add(life)}
		})
	}
	failed := func(d *store.Domain) {
		d.State, d.Cause, d.Attempts = "failed", "the gateways cannot be reached", d.Attempts+1
	}
	seen := func(severity, title, cause string) {
		t.Helper()
		if a := h.open(); a.Severity != severity || !strings.HasPrefix(a.Title, title) || a.Details.Cause != cause || a.Details.Remedy == "" || a.Details.Command != "sluice domain list" {
			t.Errorf("%+v", a)
		}
	}
	h.later(0)
	h.told()
	set(failed)
	h.later(0)
	h.told()
	h.later(domainHold - recordsEvery)
	h.told()
	set(func(d *store.Domain) { d.State, d.Cause = "issuing", "" })
	h.later(recordsEvery)
	h.told("alert.fired domain.certificate")
	seen(notify.Critical, "domain tools.example.com gets no certificate", "the gateways cannot be reached")
	set(func(d *store.Domain) { d.State, d.Attempts = "verified", 0 })
	h.later(0)
	h.told()
	renewed(90 * day)
	h.later(0)
	h.told("alert.resolved domain.certificate")
	h.later(76*day - time.Minute)
	h.told()
	h.later(time.Minute)
	h.told("alert.fired domain.certificate")
	seen(notify.Warning, "the certificate of domain tools.example.com ends on ", "it ends at "+h.now().Add(14*day-recordsEvery).Format(time.RFC3339))
	set(func(d *store.Domain) { d.Cause = "the certificate is not renewed: wait" })
	h.later(13 * day)
	h.told("alert.changed domain.certificate")
	seen(notify.Critical, "the certificate of domain tools.example.com ends on ", "the certificate is not renewed: wait")
	h.later(day)
	h.told()
	seen(notify.Critical, "the certificate of domain tools.example.com has expired", "the certificate is not renewed: wait")
	set(func(d *store.Domain) { d.State, d.Cause = "issuing", "" })
	h.later(0)
	h.told()
	seen(notify.Critical, "the certificate of domain tools.example.com has expired", "the certificate is not renewed: wait")
	renewed(6 * day)
	h.later(0)
	h.told("alert.resolved domain.certificate")
	h.later(5*day - recordsEvery)
	h.told("alert.fired domain.certificate")
	seen(notify.Warning, "the certificate of domain tools.example.com ends on ", "it ends at "+h.now().Add(day).Format(time.RFC3339))
	h.later(day / 2)
	h.told("alert.changed domain.certificate")
	h.update(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteDomain(ctx, domain.Host) })
	h.later(0)
	h.told("alert.resolved domain.certificate")
}

// TestExpiringToken: an API token that lived long enough has reminders, and they are over
// when it is.
func TestExpiringToken(t *testing.T) {
	h := newHall(t)
	add := func(name string, life time.Duration) {
		t.Helper()
		h.update(func(ctx context.Context, tx *store.Tx) error {
			return tx.AddToken(ctx, &store.Token{Name: name, Role: store.RoleViewer, Hash: []byte(fmt.Sprintf("%032s", name)), ExpiresAt: store.Time{Time: h.now().Add(life)}})
		})
	}
	add("short", time.Hour)
	add("long", 60*24*time.Hour)
	h.told()
	h.later(50 * 24 * time.Hour)
	h.told("alert.fired token.expiring")
	h.later(9*24*time.Hour + time.Hour)
	h.told("alert.changed token.expiring")
	h.later(24 * time.Hour)
	h.told("alert.resolved token.expiring")
}

// TestLogin: an authorization server that gives no tokens any more.
func TestLogin(t *testing.T) {
	h := newHall(t)
	h.toolset("pets")
	row := &store.OAuthToken{CredentialID: "cred_pets", ID: "usr_1", Version: 1, Sealed: []byte{}, Error: "invalid_grant", ErrorAt: store.Time{Time: h.now()}}
	h.update(func(ctx context.Context, tx *store.Tx) error { return tx.SaveOAuthToken(ctx, row) })
	h.told("alert.fired login.needed")
	if a := h.open(); a.Details.Cause != "invalid_grant" || a.Details.Command != "sluice toolset auth pets login" {
		t.Errorf("%+v", a)
	}
	row.Error = ""
	h.update(func(ctx context.Context, tx *store.Tx) error { return tx.SaveOAuthToken(ctx, row) })
	h.later(0)
	h.told("alert.resolved login.needed")
}

// TestEdges: an edge that is behind, one that says what is wrong, and one that is silent
// are each reported once; a control plane that was down hears none at first.
func TestEdges(t *testing.T) {
	h := newHall(t)
	e := &store.Edge{Name: "eu-1", SealKey: []byte{1}, SignKey: []byte{2}, TokenHash: []byte{3}}
	e.SetLabels("one", nil)
	h.update(func(ctx context.Context, tx *store.Tx) error {
		join := &store.JoinToken{Name: "j", Hash: []byte{9}}
		return errors.Join(tx.AddJoinToken(ctx, join), tx.Enrol(ctx, join.ID, e))
	})
	report := func(st registry.EdgeStatus) {
		t.Helper()
		if err := h.st.ReportEdge(t.Context(), "one", e.ID, store.JSON(st)); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.st.MarkRelease(t.Context(), e.Group, 1, 7); err != nil {
		t.Fatal(err)
	}
	good := registry.EdgeStatus{Ready: true, Epoch: 1, Revision: 7}
	report(good)
	h.told()
	behind := registry.EdgeStatus{Ready: true, Epoch: 1, Revision: 6, Following: "blob sha256:1 is damaged"}
	report(behind)
	h.later(0)
	h.told()
	h.later(edgeHold)
	report(behind)
	h.told("alert.fired edge.behind")
	if a := h.open(); a.Details.Edge != "eu-1" || !strings.Contains(a.Details.Cause, "1.6, the newest is 1.7: blob sha256:1 is damaged") {
		t.Errorf("%+v", a)
	}
	report(good)
	h.later(0)
	h.told("alert.resolved edge.behind")
	full := good
	full.Cache = "no space left on device"
	h.later(flapWindow)
	report(full)
	h.told()
	h.later(edgeHold)
	report(full)
	h.told("alert.fired edge.fault")
	report(good)
	h.later(0)
	h.told("alert.resolved edge.fault")
	h.later(edgeSilence)
	h.told("alert.fired edge.silent")
	h.Room = New(Room{Store: h.st}) // a restart: it is silent still
	h.told()
	report(good)
	h.later(0)
	h.told("alert.resolved edge.silent")
	h.later(time.Hour)
	h.Room = New(Room{Store: h.st}) // a control plane that was down hears it in a moment
	h.told()
	h.later(0)
	report(good)
	h.later(0)
	h.told()
}

// TestSources: a change that waits, the next one, and its end; and a source that cannot
// be read.
func TestSources(t *testing.T) {
	h := newHall(t)
	ts := h.toolset("pets")
	change := func(waits bool, breaking int) {
		t.Helper()
		h.pass(time.Second)
		h.update(func(ctx context.Context, tx *store.Tx) error {
			return tx.AddToolsetChange(ctx, &store.ToolsetChange{ToolsetID: ts.ID, Connector: "pets", Report: fmt.Sprintf(`{"added":1,"removed":2,"changed":3,"breaking":%d,"quarantined":%v}`, breaking, waits)})
		})
		h.later(0)
	}
	change(true, 0)
	h.told("alert.fired source.changed")
	change(true, 2)
	h.told("alert.changed source.changed")
	if a := h.open(); a.Severity != "warning" || a.Details.Cause != "1 tools added, 2 removed, 3 changed, 2 of them breaking" {
		t.Errorf("%+v", a)
	}
	change(false, 0)
	h.told("alert.resolved source.changed")
	h.update(func(ctx context.Context, tx *store.Tx) error { return tx.SetSchedule(ctx, ts.ID, "pets", time.Hour) })
	for range sourceFailures {
		h.later(0)
		h.told()
		h.update(func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.SourceFailed(ctx, ts.ID, "pets", "it answered 500")
			return err
		})
	}
	h.later(0)
	h.told("alert.fired source.unreadable")
	h.update(func(ctx context.Context, tx *store.Tx) error { return tx.SourceChecked(ctx, ts.ID, "pets") })
	h.later(0)
	h.told("alert.resolved source.unreadable")
}

// TestRolledBackAtOnce: a roll-back is reported in the round after it, not with the records,
// which are looked through every half minute; another roll-out ends it as soon.
func TestRolledBackAtOnce(t *testing.T) {
	h := newHall(t)
	ts := h.toolset("shop")
	h.told() // the records were looked through now
	trial := func(state string) {
		h.update(func(ctx context.Context, tx *store.Tx) error {
			row := &store.Trial{ToolsetID: ts.ID, Mode: registry.TrialCanary, Percent: 10, Changes: "{}", Thresholds: "{}"}
			if err := tx.AddTrial(ctx, row); err != nil || state == "" {
				return err
			}
			return tx.EndTrial(ctx, row, state, "6 of 60 calls failed", 0)
		})
	}
	h.pass(time.Second)
	trial(store.TrialAborted)
	h.told()
	h.pass(time.Second)
	trial(store.TrialRolledBack)
	h.told("alert.fired rollout.rolled_back")
	h.told()
	h.pass(time.Second)
	trial("")
	h.told("alert.resolved rollout.rolled_back")
}
