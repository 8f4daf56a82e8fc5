package alert

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// Kinds of alerts whose cause is in the records.
const (
	KindRotationDue = "key.rotation_due"     // a key is older than it should be, or will be soon
	KindCertificate = "certificate.expiring" // a client certificate ends
	KindToken       = "token.expiring"       //nolint:gosec // a name: an API token ends
	KindDomain      = "domain.certificate"   // a domain gets no certificate, or it is not renewed
	KindLogin       = "login.needed"         // an authorization server gives no tokens any more
	KindEdgeSilent  = "edge.silent"          // an edge does not report
	KindEdgeBehind  = "edge.behind"          // an edge serves an older release
	KindEdgeFault   = "edge.fault"           // an edge says that something is wrong with it, or its clock is
	KindClock       = "clock.wrong"          // the clock of the control plane is off
	KindDiskLow     = "disk.low"             // the disk of the records is nearly full
	KindBackupOld   = "backup.old"           // no backup was made for long
	KindUsageLate   = "usage.late"           // an edge cannot report its usage
	KindPasskey     = "passkey.copied"       // the counter of a passkey went back: there may be a copy of it
	KindChanged     = "source.changed"       // a new version of a source waits to be accepted
	KindUnreadable  = "source.unreadable"    // a source cannot be read
	KindRolledBack  = "rollout.rolled_back"  // a roll-out ended by itself: its candidate was worse
)

var recordKinds = map[string]bool{
	KindRotationDue: true, KindCertificate: true, KindToken: true, KindPasskey: true, KindDomain: true, KindLogin: true, KindEdgeSilent: true, KindEdgeBehind: true, KindEdgeFault: true, KindClock: true, KindUsageLate: true, KindDiskLow: true, KindBackupOld: true, KindChanged: true, KindUnreadable: true,
}

const (
	// recordsEvery is how often the records are looked through: what they say is told
	// half a minute later at most.
	recordsEvery = 30 * time.Second
	// rotationAge is how old a key may become.
	rotationAge = 90 * 24 * time.Hour
	// early and late are when a reminder comes, before the time itself.
	early = 14 * 24 * time.Hour
	late  = 24 * time.Hour
	// edgeSilence is how long an edge may say nothing: it reports every 30 s.
	edgeSilence = 3 * time.Minute
	// edgeHold is how long an edge may be behind, or say that something is wrong: it
	// fetches and tries again meanwhile.
	edgeHold = 2 * time.Minute
	// sourceFailures in a row are reported.
	sourceFailures = 3
)

// records looks through what the records say of keys, logins, domains, edges and sources.
func (r *Room) records(ctx context.Context, ws *store.Workspace, have open) (*finding, error) {
	if at, ok := r.looked[ws.ID()]; ok && ws.Now().Sub(at) < recordsEvery {
		return nil, nil //nolint:nilnil // nil: nothing to write
	}
	f := &finding{covers: func(kind string) bool { return recordKinds[kind] }}
	edges := func(ctx context.Context, ws *store.Workspace) ([]condition, error) { return r.edges(ctx, ws, have) }
	certificates := func(ctx context.Context, ws *store.Workspace) ([]condition, error) { return domains(ctx, ws, have) }
	for _, look := range []func(context.Context, *store.Workspace) ([]condition, error){keys, tokens, passkeys, logins, certificates, edges, sources, r.disk, r.backups} {
		found, err := look(ctx, ws)
		if err != nil {
			return nil, err
		}
		f.conditions = append(f.conditions, found...)
	}
	r.looked[ws.ID()] = ws.Now()
	if !f.concerns(have) {
		return nil, nil //nolint:nilnil // nil: nothing to write
	}
	return f, nil
}

// pages reads a list page by page.
func pages[T any](ctx context.Context, list func(context.Context, store.Page) ([]T, string, error), each func(*T) error) error {
	for p := (store.Page{Limit: store.MaxLimit}); ; {
		rows, next, err := list(ctx, p)
		if err != nil {
			return err
		}
		for i := range rows {
			if err := each(&rows[i]); err != nil {
				return err
			}
		}
		if p.After = next; next == "" {
			return nil
		}
	}
}

// reminder is the stage of a reminder and its severity; "": it is too soon.
func reminder(now, due time.Time) (stage, severity string) {
	switch left := due.Sub(now); {
	case left <= 0:
		return "due", notify.Warning
	case left <= late:
		return "1 day", notify.Warning
	case left <= early:
		return "14 days", notify.Info
	}
	return "", ""
}

// when says in words how far a time is, to the day.
func when(now, due time.Time) string {
	if !due.After(now) {
		return "since " + due.Format(time.DateOnly)
	}
	return "on " + due.Format(time.DateOnly)
}

// keys are the keys and certificates of toolsets that end, or should be replaced.
func keys(ctx context.Context, ws *store.Workspace) (out []condition, err error) {
	now := ws.Now()
	known := map[string]*store.Toolset{}
	toolset := func(id string) (*store.Toolset, error) {
		ts := known[id]
		if ts != nil {
			return ts, nil
		}
		ts, err := ws.Toolset(ctx, id)
		if problem.Is(err, problem.NotFound) {
			return &store.Toolset{ID: id, Slug: id}, nil
		}
		if err == nil {
			known[id] = ts
		}
		return ts, err
	}
	err = pages(ctx, ws.Credentials, func(row *store.Credential) error {
		c := condition{kind: KindRotationDue, toolset: row.ToolsetID, details: Details{Connector: row.Connector, Sent: sent([]store.Credential{*row}), DueAt: row.RotatedAt.Add(rotationAge)}}
		sh := credentialShapeOf(row)
		switch {
		case sh.Certificate != nil:
			c.kind, c.details.DueAt = KindCertificate, sh.Certificate.NotAfter
		case oauthType(row.AuthType) || row.Last4 == "":
			return nil // it renews itself, or there is none
		}
		if c.stage, c.severity = reminder(now, c.details.DueAt); c.stage == "" {
			return nil
		}
		ts, err := toolset(row.ToolsetID)
		if err != nil {
			return err
		}
		d := &c.details
		d.Toolset = ts.Slug
		c.key = c.kind + "/" + row.ID
		if d.Command = "sluice toolset auth " + d.Toolset + " rotate --api-key-file FILE"; c.kind == KindCertificate {
			if c.stage == "due" {
				c.severity = notify.Critical
			}
			c.title = fmt.Sprintf("the client certificate of toolset %s ends %s", d.Toolset, when(now, d.DueAt))
			d.Cause, d.Remedy, d.Command = "certificate "+sh.Certificate.Subject, "get a new certificate and set it", certificateCommand(d.Toolset)
		} else {
			c.title = fmt.Sprintf("the key of toolset %s is due for rotation %s", d.Toolset, when(now, d.DueAt))
			d.Cause, d.Remedy = fmt.Sprintf("the key is %d days old", int(now.Sub(row.RotatedAt.Time)/(24*time.Hour))), "make a new key where the API is, and set it here"
		}
		d.Command += other(ts, row.Connector)
		out = append(out, c)
		return nil
	})
	return out, err
}

// tokens are API tokens that end soon and lived long enough for a reminder.
func tokens(ctx context.Context, ws *store.Workspace) (out []condition, err error) {
	now := ws.Now()
	err = pages(ctx, ws.Tokens, func(row *store.Token) error {
		if row.ExpiresAt.IsZero() || !row.RevokedAt.IsZero() || !row.ExpiresAt.After(now) {
			return nil
		}
		stage, severity := reminder(now, row.ExpiresAt.Time)
		life := row.ExpiresAt.Sub(row.CreatedAt.Time)
		if stage == "" || life < 2*late || stage == "14 days" && life < 2*early {
			return nil
		}
		out = append(out, condition{
			key: KindToken + "/" + row.ID, kind: KindToken, severity: severity, stage: stage, title: fmt.Sprintf("API token %s ends %s", row.Name, when(now, row.ExpiresAt.Time)),
			details: Details{
				Cause: "token " + row.ID + " of role " + row.Role + " expires", Remedy: "make another one, put it where this is used, and revoke this one",
				Command: "sluice token create NAME --role " + row.Role, DueAt: row.ExpiresAt.Time,
			},
		})
		return nil
	})
	return out, err
}

// passkeys are those whose counter went back. They are refused from then on, unless their
// counter is ahead again, and stay doubted until somebody removes them.
func passkeys(ctx context.Context, ws *store.Workspace) (out []condition, err error) {
	rows, err := ws.DoubtedPasskeys(ctx)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		k := &rows[i]
		m, err := ws.Member(ctx, k.MemberID)
		if problem.Is(err, problem.NotFound) {
			continue // both were removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		out = append(out, condition{
			key: KindPasskey + "/" + k.ID, kind: KindPasskey, severity: notify.Critical, stage: k.DoubtedAt.Format(time.RFC3339Nano), since: k.DoubtedAt.Time,
			title: fmt.Sprintf("a passkey of %s may have been copied", m.Email),
			details: Details{
				Cause:  fmt.Sprintf("passkey %.100q signed with a counter that is not above that of an earlier login, as a copy of it does; the login was refused", k.Name),
				LastAt: k.DoubtedAt.Time, Remedy: "remove the passkey, which ends the sessions that passkeys of the member opened; look at what they did in the audit log, and make a new one",
				Command: "sluice member passkey remove " + shellWord(m.Email) + " " + k.ID,
			},
		})
	}
	return out, nil
}

// logins are credentials whose authorization server gives no tokens any more.
func logins(ctx context.Context, ws *store.Workspace) (out []condition, err error) {
	rows, err := ws.RefusedTokens(ctx)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		t := &rows[i]
		cred, err := ws.CredentialByID(ctx, t.CredentialID)
		if err != nil {
			return nil, err
		}
		ts, err := ws.Toolset(ctx, cred.ToolsetID)
		if err != nil {
			return nil, err
		}
		remedy, command := renewal(cred, ts.Slug)
		out = append(out, condition{
			key: KindLogin + "/" + t.CredentialID, kind: KindLogin, severity: notify.Critical, toolset: ts.ID, since: t.ErrorAt.Time,
			title: fmt.Sprintf("toolset %s needs a login: its authorization server gives no access token", ts.Slug),
			details: Details{
				Cause: t.Error, Remedy: remedy, Command: command + other(ts, cred.Connector), Toolset: ts.Slug, Connector: cred.Connector,
			},
		})
	}
	return out, nil
}

// sources are sources of toolsets that changed and wait, or cannot be read.
func sources(ctx context.Context, ws *store.Workspace) (out []condition, err error) {
	waiting, err := ws.WaitingChanges(ctx)
	if err != nil {
		return nil, err
	}
	for i := range waiting {
		row := &waiting[i]
		var report struct {
			Waits                             bool `json:"quarantined"`
			Added, Removed, Changed, Breaking int
		}
		if err := json.Unmarshal([]byte(row.Report), &report); err != nil || !report.Waits {
			continue
		}
		ts, err := ws.Toolset(ctx, row.ToolsetID)
		if err != nil {
			return nil, err
		}
		at, severity := other(ts, row.Connector), notify.Info
		if report.Breaking > 0 {
			severity = notify.Warning
		}
		out = append(out, condition{
			key: KindChanged + "/" + row.ToolsetID + "/" + row.Connector, kind: KindChanged, severity: severity, stage: row.ID, toolset: ts.ID, since: row.CreatedAt.Time,
			title: fmt.Sprintf("the source of toolset %s changed, and the change waits to be accepted", ts.Slug),
			details: Details{
				Cause:  fmt.Sprintf("%d tools added, %d removed, %d changed, %d of them breaking", report.Added, report.Removed, report.Changed, report.Breaking),
				Remedy: "look at the change, then accept it", Command: "sluice toolset diff " + ts.Slug + at + "; sluice toolset accept " + ts.Slug + at, Toolset: ts.Slug, Connector: row.Connector,
			},
		})
	}
	failing, err := ws.FailingSources(ctx, sourceFailures)
	if err != nil {
		return nil, err
	}
	for i := range failing {
		row := &failing[i]
		ts, err := ws.Toolset(ctx, row.ToolsetID)
		if err != nil {
			return nil, err
		}
		out = append(out, condition{
			key: KindUnreadable + "/" + row.ToolsetID + "/" + row.Connector, kind: KindUnreadable, severity: notify.Warning, toolset: ts.ID,
			title: fmt.Sprintf("the source of toolset %s cannot be read", ts.Slug),
			details: Details{
				Cause: row.Fault, Remedy: "check its address; the live revision stays unchanged", Command: "sluice toolset refresh " + ts.Slug + other(ts, row.Connector), Toolset: ts.Slug, Connector: row.Connector,
			},
		})
	}
	return out, nil
}
