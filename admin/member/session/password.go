package session

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"log/slog"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"

	"github.com/sluicegate/sluice/admin/member/ratelimit"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// Cost of a hash (RFC 9106): 19 MiB and two passes, the smaller of the two equivalent settings
// that OWASP's Password Storage Cheat Sheet recommends, because control planes run on small
// machines too. The stored hash names its cost, so that a later version can raise it.
const (
	hashMemory = 19 * 1024 // KiB
	hashPasses = 2
	hashLanes  = 1
	saltBytes  = 16
	hashBytes  = 32
)

// hashesAtOnce bounds the memory that logins take, 38 MiB.
const hashesAtOnce = 2

// Length of a password. Twelve characters are out of reach of guessing at the rate of
// [limiter], and of most guessing at a stolen hash; no kinds of characters are asked for
// (NIST SP 800-63B §3.1.1.2).
const (
	minPassword = 12   // characters
	maxPassword = 1024 // bytes
)

// hash makes the PHC string of a password. It waits for a slot.
func (m *Room) hash(ctx context.Context, password secrets.Secret) (string, error) {
	salt := make([]byte, saltBytes)
	_, _ = rand.Read(salt) // never fails: crypto/rand ends the process instead
	sum, err := m.sum(ctx, password, salt)
	if err != nil {
		return "", err
	}
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, hashMemory, hashPasses, hashLanes, b64.EncodeToString(salt), b64.EncodeToString(sum)), nil
}

func (m *Room) sum(ctx context.Context, password secrets.Secret, salt []byte) ([]byte, error) {
	select {
	case m.hashing <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-m.hashing }()
	return argon2.IDKey([]byte(password.Reveal()), salt, hashPasses, hashMemory, hashLanes, hashBytes), nil
}

// verify reports whether a password is that of a PHC string. An empty one costs the same, so
// that the time of an answer does not tell whether an account exists.
func (m *Room) verify(ctx context.Context, password secrets.Secret, phc string) (bool, error) {
	salt, want := make([]byte, saltBytes), make([]byte, hashBytes)
	known := phc != ""
	if known {
		parts := strings.Split(phc, "$")
		if len(parts) != 6 || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) || parts[3] != fmt.Sprintf("m=%d,t=%d,p=%d", hashMemory, hashPasses, hashLanes) {
			return false, fmt.Errorf("a stored password has the unknown form %.60q", strings.Join(parts[:min(len(parts), 4)], "$"))
		}
		var err error
		if salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err != nil {
			return false, fmt.Errorf("reading a stored password: %w", err)
		}
		if want, err = base64.RawStdEncoding.DecodeString(parts[5]); err != nil {
			return false, fmt.Errorf("reading a stored password: %w", err)
		}
	}
	got, err := m.sum(ctx, password, salt)
	return err == nil && subtle.ConstantTimeCompare(got, want) == 1 && known, err
}

// checkLogin finds the member with an address and a password. There is one answer for an
// unknown address, a wrong password and an address of several workspaces.
func (m *Room) checkLogin(ctx context.Context, workspace, email string, password secrets.Secret) (ws, member string, err error) {
	ip, account := ratelimit.AddressKey(request.Of(ctx).IP), strings.ToLower(email)
	if err := m.addresses.take(ip); err != nil {
		return "", "", err
	}
	if err := m.accounts.take(account); err != nil {
		m.log.LogAttrs(ctx, slog.LevelWarn, "too many logins of one account failed", slog.String("request_id", request.Of(ctx).ID), slog.String("client", ip))
		return "", "", err
	}
	rows, err := m.store.PasswordsByEmail(ctx, workspace, email)
	if err != nil {
		return "", "", err
	}
	row := &store.Password{}
	if len(rows) == 1 {
		row = &rows[0]
	}
	ok, err := m.verify(ctx, password, row.Hash)
	if err != nil {
		return "", "", err
	}
	if !ok {
		reason, of := "unknown address", request.Operator
		if row.MemberID != "" {
			reason, of = "wrong password", row.WorkspaceID
		}
		failed(ctx, of, row.MemberID, reason)
		return "", "", problem.New(problem.Unauthenticated, "the address or the password is wrong").
			Fix("check both, and name the workspace if the address belongs to several; an administrator can make a login link that sets a new password")
	}
	m.addresses.GiveBack(ip)
	m.accounts.GiveBack(account)
	return row.WorkspaceID, row.MemberID, nil
}

// SetPassword sets the password of who is signed in.
type SetPassword struct {
	Password string `json:"password" maxLength:"1024" doc:"At least 12 characters."`
	Current  string `json:"current,omitempty" maxLength:"1024" doc:"The present password. Not needed once in a session that an invitation or reset link opened."`
}

// SetPassword sets the password of the member who is signed in, and ends their other
// sessions.
func (m *Room) SetPassword(ctx context.Context, in *SetPassword) error {
	member, err := m.SignedIn(ctx)
	if err != nil {
		return err
	}
	r, ws := request.Of(ctx), m.store.Workspace(member.WorkspaceID)
	if err := checkPassword(in.Password, member); err != nil {
		return err
	}
	if !r.Session.SetsPassword {
		if err := m.checkCurrent(ctx, ws, member, secrets.New(in.Current)); err != nil {
			return err
		}
	}
	hash, err := m.hash(ctx, secrets.New(in.Password))
	if err != nil {
		return err
	}
	return ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.PutPassword(ctx, &store.Password{MemberID: member.ID, Hash: hash}); err != nil {
			return err
		}
		n, err := tx.EndSessions(ctx, member.ID, r.Session.ID)
		if err != nil {
			return err
		}
		rec := request.Audit(ctx, "member.password", member.ID)
		rec.After = store.JSON(map[string]any{"endedSessions": n})
		return tx.Audit(ctx, rec)
	})
}

// checkPassword refuses a password that is too short or too long, or that everybody knows of
// its member.
func checkPassword(password string, member *store.Member) error {
	lower := strings.ToLower(password)
	switch {
	case utf8.RuneCountInString(password) < minPassword:
		return request.FieldFault("/password", "a password has at least %d characters", minPassword)
	case len(password) > maxPassword:
		return request.FieldFault("/password", "a password has at most %d bytes", maxPassword)
	case lower == member.Email || lower == strings.ToLower(member.Name):
		return request.FieldFault("/password", "the password is the member's own address or name")
	case strings.Trim(lower, lower[:1]) == "":
		return request.FieldFault("/password", "the password is one character again and again")
	}
	return nil
}

// checkCurrent checks the present password of a member, as a login does.
func (m *Room) checkCurrent(ctx context.Context, ws *store.Workspace, member *store.Member, current secrets.Secret) error {
	row, err := ws.Password(ctx, member.ID)
	if err != nil {
		return err
	}
	if row == nil {
		return problem.New(problem.Conflict, "you have no password yet, and this session cannot set one").
			Fix("ask an administrator for a login link, and set it in the session that it opens")
	}
	if err := m.accounts.take(member.Email); err != nil {
		return err
	}
	ok, err := m.verify(ctx, current, row.Hash)
	if err != nil {
		return err
	}
	if !ok {
		return problem.New(problem.Forbidden, "the current password is wrong").At("", 0, 0, "/current")
	}
	m.accounts.GiveBack(member.Email)
	return nil
}
