package passkey

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// Life is how long a challenge may be answered: finding a security key takes a minute.
const Life = 5 * time.Minute

// MaxPasskeys of one member: more devices than anybody has.
const MaxPasskeys = 20

// known are the transports of WebAuthn §5.8.4; what else a browser says is not kept.
var known = []string{"usb", "nfc", "ble", "smart-card", "hybrid", "internal"}

// Room registers passkeys and checks what they sign. It may be used by many goroutines.
type Room struct {
	store   *store.Store
	log     *slog.Logger
	pending pending
}

// New returns a room for these records.
func New(st *store.Store, log *slog.Logger) *Room {
	return &Room{store: st, log: log, pending: pending{now: st.Now, all: map[string]waiting{}}}
}

// BeginSignIn makes a challenge for whoever has kept, a secret of the browser.
func (m *Room) BeginSignIn(base string, kept secrets.Secret) (*SignInChallenge, error) {
	_, party, err := partyAt(base)
	if err != nil {
		return nil, err
	}
	options, data, err := party.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return nil, err
	}
	m.pending.put(browser(kept), data)
	r := options.Response
	return &SignInChallenge{Challenge: r.Challenge.String(), RPID: r.RelyingPartyID, Timeout: r.Timeout, UserVerification: string(r.UserVerification)}, nil
}

// browser is who answers a challenge of the login page; sessions have ids of another form.
func browser(kept secrets.Secret) string { return "browser " + kept.Reveal() }

// SignIn checks what a passkey signed for the browser that has kept, and returns it with its
// counter raised, which is not written yet. It fails with [problem.Unauthenticated].
func (m *Room) SignIn(ctx context.Context, base string, kept secrets.Secret, in *Assertion) (*store.Passkey, error) {
	site, party, err := partyAt(base)
	if err != nil {
		return nil, err
	}
	data, ok := m.pending.take(browser(kept))
	if !ok {
		return nil, Expired()
	}
	answer, err := in.parse()
	if err != nil {
		return nil, m.refuse(ctx, nil, err)
	}
	var row *store.Passkey
	var broken error // reading the records did not work, which says nothing of the passkey
	credential, err := party.ValidateDiscoverableLogin(func(id, _ []byte) (webauthn.User, error) {
		found, err := m.store.PasskeyByCredential(ctx, id)
		if err != nil {
			if !problem.Is(err, problem.NotFound) {
				broken = err
			}
			return nil, err
		}
		row = found
		if row.Host != site.Host {
			return nil, problem.New(problem.NotFound, "it is of %s", row.Host)
		}
		return &user{id: row.MemberID, keys: []store.Passkey{*row}}, nil
	}, *data, answer)
	if broken != nil {
		return nil, broken
	}
	if err != nil {
		return nil, m.refuse(ctx, row, err)
	}
	if credential.Authenticator.CloneWarning {
		return nil, m.doubt(ctx, row, answer.Response.AuthenticatorData.Counter)
	}
	row.SignCount, row.Synced = int64(credential.Authenticator.SignCount), credential.Flags.BackupState
	return row, nil
}

// Expired is the answer to a login for which no challenge waits.
func Expired() error { return expired(problem.Unauthenticated) }

func expired(kind problem.Kind) error {
	return problem.New(kind, "the challenge has expired, was used already, or was asked for by another browser").Fix("try it again")
}

// refuse is the one answer for every passkey that is not good; the log says why.
func (m *Room) refuse(ctx context.Context, row *store.Passkey, err error) error {
	of, resource := request.Operator, ""
	if row != nil {
		of, resource = row.WorkspaceID, row.MemberID
	}
	request.Of(ctx).Refused = &request.RefusedLogin{Workspace: of, Action: "session.open", Resource: resource, Reason: "passkey"}
	m.log.LogAttrs(ctx, slog.LevelWarn, "a login with a passkey did not succeed", slog.String("request_id", request.Of(ctx).ID), slog.String("client", request.Of(ctx).IP),
		slog.String("cause", reason(err)))
	return problem.New(problem.Unauthenticated, "unknown passkey, or its signature is not valid").
		Fix("sign in with your password, and see your passkeys in Settings; an administrator can make a login link that sets a new password")
}

// reason is what the library says of an answer. It names no secret: there is none in it.
func reason(err error) string {
	text := err.Error()
	if p, ok := errors.AsType[*protocol.Error](err); ok && p.DevInfo != "" {
		text += ": " + p.DevInfo
	}
	return request.ClipText(text, 300)
}

// doubt refuses a passkey whose counter went back: it, or a copy of it, signed before with a
// higher one (WebAuthn §6.1.1).
func (m *Room) doubt(ctx context.Context, row *store.Passkey, counter uint32) error {
	err := m.store.Workspace(row.WorkspaceID).Update(ctx, func(tx *store.Tx) error { return tx.DoubtPasskey(ctx, row.ID) })
	if err != nil {
		return err
	}
	request.Of(ctx).Refused = &request.RefusedLogin{Workspace: row.WorkspaceID, Action: "session.open", Resource: row.MemberID, Reason: "counter of passkey " + row.ID + " went back"}
	m.log.LogAttrs(ctx, slog.LevelWarn, "the counter of a passkey went back: it may have been copied", slog.String("request_id", request.Of(ctx).ID),
		slog.String("passkey", row.ID), slog.String("member", row.MemberID), slog.Int64("kept", row.SignCount), slog.Int64("signed", int64(counter)))
	return problem.New(problem.Unauthenticated, "the counter of this passkey went back: there may be a copy of it").
		Fix("sign in with your password, remove the passkey in Settings, and make a new one")
}

// Begin makes a challenge for a new passkey of the member of this session.
func (m *Room) Begin(ctx context.Context, base string, member *store.Member) (*NewChallenge, error) {
	site, party, err := partyAt(base)
	if err != nil {
		return nil, err
	}
	u := &user{id: member.ID, name: member.Email, display: member.DisplayName()}
	if u.keys, err = all(ctx, m.store.Workspace(member.WorkspaceID), member.ID); err != nil {
		return nil, err
	}
	if len(u.keys) >= MaxPasskeys {
		return nil, full()
	}
	options, data, err := party.BeginRegistration(u, webauthn.WithCredentialParameters(parameters()))
	if err != nil {
		return nil, err
	}
	m.pending.put(request.Of(ctx).Session.ID, data)
	r, wanted := options.Response, options.Response.AuthenticatorSelection
	out := &NewChallenge{
		Challenge: r.Challenge.String(), RP: PasskeyParty{ID: site.Host, Name: r.RelyingParty.Name}, Attestation: string(r.Attestation), Timeout: r.Timeout,
		User:                   PasskeyUser{ID: base64.RawURLEncoding.EncodeToString(u.WebAuthnID()), Name: u.name, DisplayName: u.display},
		ExcludeCredentials:     []PasskeyKnown{},
		AuthenticatorSelection: PasskeyWanted{ResidentKey: string(wanted.ResidentKey), RequireResidentKey: true, UserVerification: string(wanted.UserVerification)},
	}
	for _, p := range r.Parameters {
		out.PubKeyCredParams = append(out.PubKeyCredParams, PasskeyKind{Type: string(p.Type), Alg: int(p.Algorithm)})
	}
	for i := range u.keys {
		k := &u.keys[i]
		if k.Host == site.Host {
			out.ExcludeCredentials = append(out.ExcludeCredentials, PasskeyKnown{Type: "public-key", ID: base64.RawURLEncoding.EncodeToString(k.Credential), Transports: transports(k)})
		}
	}
	return out, nil
}

// all reads every passkey of a member; there are few.
func all(ctx context.Context, ws *store.Workspace, member string) ([]store.Passkey, error) {
	rows, _, err := ws.Passkeys(ctx, member, store.Page{Limit: MaxPasskeys})
	return rows, err
}

func full() error {
	return problem.New(problem.Conflict, "a member has %d passkeys at the most", MaxPasskeys).Fix("remove one that is not used any more")
}

// Add registers the passkey that the browser of this session made.
func (m *Room) Add(ctx context.Context, base string, member *store.Member, in *Registration) (*store.Passkey, error) {
	site, party, err := partyAt(base)
	if err != nil {
		return nil, err
	}
	name, err := checkName(in.Name)
	if err != nil {
		return nil, err
	}
	data, ok := m.pending.take(request.Of(ctx).Session.ID)
	if !ok {
		return nil, expired(problem.Conflict)
	}
	answer, err := in.parse()
	if err != nil {
		return nil, notMade(err)
	}
	c, err := party.CreateCredential(&user{id: member.ID}, *data, answer)
	if err != nil {
		return nil, notMade(err)
	}
	row := &store.Passkey{
		MemberID: member.ID, Credential: c.ID, PublicKey: c.PublicKey, Host: site.Host, Name: name, SignCount: int64(c.Authenticator.SignCount),
		Syncs: c.Flags.BackupEligible, Synced: c.Flags.BackupState,
	}
	var reached []string
	for _, t := range in.Transports {
		if slices.Contains(known, t) && !slices.Contains(reached, t) {
			reached = append(reached, t)
		}
	}
	row.Transports = strings.Join(reached, ",")
	return row, m.store.Workspace(member.WorkspaceID).Update(ctx, func(tx *store.Tx) error {
		rows, _, err := tx.Passkeys(ctx, member.ID, store.Page{Limit: MaxPasskeys})
		if err != nil {
			return err
		}
		if len(rows) >= MaxPasskeys {
			return full()
		}
		if err := tx.AddPasskey(ctx, row); err != nil {
			return err
		}
		rec := request.Audit(ctx, "passkey.add", row.ID)
		rec.After = fields(row)
		return tx.Audit(ctx, rec)
	})
}

// notMade is the answer for a new passkey that is not good.
func notMade(err error) error {
	return problem.New(problem.InvalidArgument, "the new passkey was not accepted: %s", reason(err)).Fix("try it again, or with another device")
}

// fields is what the audit log says of a passkey.
func fields(row *store.Passkey) string {
	return store.JSON(map[string]any{"member": row.MemberID, "name": row.Name, "host": row.Host})
}

func checkName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if name == "" {
		return "", request.FieldFault("/name", "a passkey has a name")
	}
	return name, nil
}

// SetName renames a passkey of a member.
func SetName(ctx context.Context, ws *store.Workspace, member, id string, match *request.MatchInput, in *Rename) (row *store.Passkey, err error) {
	name, err := checkName(in.Name)
	if err != nil {
		return nil, err
	}
	return row, ws.Update(ctx, func(tx *store.Tx) error {
		if row, err = tx.Passkey(ctx, member, id); err != nil {
			return err
		}
		if err := match.Check(row.Version, true); err != nil {
			return err
		}
		rec := request.Audit(ctx, "passkey.rename", row.ID)
		rec.Before = fields(row)
		if row.Name == name {
			return nil
		}
		row.Name = name
		if err := tx.RenamePasskey(ctx, row); err != nil {
			return err
		}
		rec.After = fields(row)
		return tx.Audit(ctx, rec)
	})
}

// Remove removes a passkey of a member and ends their sessions that passkeys opened, but the
// one that asks.
func Remove(ctx context.Context, ws *store.Workspace, member, id string) error {
	but := ""
	if s := request.Of(ctx).Session; s != nil {
		but = s.ID
	}
	return ws.Update(ctx, func(tx *store.Tx) error {
		row, err := tx.Passkey(ctx, member, id)
		if err != nil {
			return err
		}
		ended, err := tx.RemovePasskey(ctx, row, but)
		if err != nil {
			return err
		}
		rec := request.Audit(ctx, "passkey.remove", row.ID)
		rec.Before, rec.After = fields(row), store.JSON(map[string]any{"endedSessions": ended})
		return tx.Audit(ctx, rec)
	})
}
