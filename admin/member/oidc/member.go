package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"net/mail"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/redact"
)

// maxSaid bytes of what a provider answers are shown.
const maxSaid = 300

// claims are what a provider says of a person.
type claims struct {
	email, name string
	verified    bool
	groups      []string
}

// claims exchanges a code and reads the ID token that comes with it; what is not in it, the
// provider is asked for.
func (m *Room) claims(ctx context.Context, p *oidc.Provider, k *kept, code string) (*claims, error) {
	malformed := func(err error) error {
		return problem.New(problem.Unauthenticated, "the answer of %s is not a login: %s", m.o.Config.Name, m.said(err)).
			Fix("sign in again; if that does not help, look at the client there and at the clocks")
	}
	token, err := m.client(p, k.Redirect).Exchange(ctx, code, oauth2.VerifierOption(k.Verifier))
	if err != nil {
		return nil, malformed(err)
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := p.Verifier(&oidc.Config{ClientID: m.o.Config.ClientID, Now: m.o.Store.Now}).Verify(ctx, raw)
	if err != nil {
		return nil, malformed(err)
	}
	if id.Nonce != k.Nonce {
		return nil, expired()
	}
	found := map[string]json.RawMessage{}
	if err := id.Claims(&found); err != nil {
		return nil, malformed(err)
	}
	c := m.read(found)
	if c.email != "" && (len(m.o.Config.Roles) == 0 || len(c.groups) > 0) || p.UserInfoEndpoint() == "" {
		return c, nil
	}
	info, err := p.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return nil, malformed(err)
	}
	more := map[string]json.RawMessage{}
	if err := info.Claims(&more); err != nil || info.Subject != id.Subject { // OpenID Connect Core §5.3.2
		return nil, expired()
	}
	for name, value := range more {
		if _, told := found[name]; !told {
			found[name] = value
		}
	}
	return m.read(found), nil
}

// said is what an error tells of the provider's answer. Whoever begins a login reads it, and a
// provider may repeat what it was sent: nothing that looks like a secret is in it.
func (m *Room) said(err error) string {
	text := err.Error()
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		text = strings.Join(strings.Fields(refused.Response.Status+" "+refused.ErrorCode+" "+refused.ErrorDescription), " ")
	}
	if !m.o.Config.ClientSecret.IsZero() {
		text = strings.ReplaceAll(text, m.o.Config.ClientSecret.Reveal(), redact.Mark)
	}
	return redact.Text(text, maxSaid)
}

func (m *Room) read(from map[string]json.RawMessage) *claims {
	c := &claims{email: text(from["email"]), name: text(from["name"])}
	verified := text(from["email_verified"]) // some providers write it as a string
	c.verified = verified == "true" || string(from["email_verified"]) == "true"
	raw := from[m.o.Config.GroupsClaim]
	if json.Unmarshal(raw, &c.groups) != nil {
		c.groups = nil
		if one := text(raw); one != "" {
			c.groups = []string{one}
		}
	}
	return c
}

// text is a JSON string; "" for everything else.
func text(raw json.RawMessage) (s string) {
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// refuse is the answer to a person who is not let in, and the record of it.
func (m *Room) refuse(ctx context.Context, reason, remedy string) error {
	request.Of(ctx).Refused = &request.RefusedLogin{Workspace: request.Operator, Action: "session.open", Reason: request.ClipText(reason, 300)}
	return problem.New(problem.Forbidden, "%s", reason).Fix("%s", remedy)
}

// member finds the member that a person is, makes them one, or gives them the role of their
// groups.
func (m *Room) member(ctx context.Context, c *claims) (row *store.Member, err error) {
	if a, bad := mail.ParseAddress(c.email); bad != nil || a.Address != c.email || len(c.email) > 254 {
		return nil, m.refuse(ctx, m.o.Config.Name+" does not tell your e-mail address", "ask its administrator to give the client the scope email")
	}
	if !c.verified {
		return nil, m.refuse(ctx, m.o.Config.Name+" does not say that the address "+c.email+" is yours (email_verified)", "verify it there, or sign in with a password")
	}
	role, mapped := m.o.Config.roleOf(c.groups), len(m.o.Config.Roles) > 0
	if mapped && role == "" {
		return nil, m.refuse(ctx, "none of your groups at "+m.o.Config.Name+" may sign in here", "ask an administrator to give one of them a role (--oidc-role)")
	}
	ws := m.o.Store.Workspace(request.Operator)
	err = ws.Update(ctx, func(tx *store.Tx) error {
		row, err = tx.Member(ctx, c.email)
		switch {
		case problem.Is(err, problem.NotFound) && mapped:
			row = &store.Member{Email: c.email, Name: request.ClipText(strings.TrimSpace(c.name), 200), Role: role}
			if err := tx.AddMember(ctx, row); err != nil {
				return err
			}
			return m.audit(ctx, tx, row, "member.add", "")
		case problem.Is(err, problem.NotFound):
			return m.refuse(ctx, c.email+" is not a member of this workspace", "ask an administrator to add you: sluice member add "+c.email)
		case err != nil:
			return err
		case !mapped || row.Role == role:
			return nil
		}
		before := row.Role
		row.Role = role
		if err := tx.SaveMember(ctx, row); err != nil {
			return err
		}
		return m.audit(ctx, tx, row, "member.update", before)
	})
	return row, err
}

// audit records a change of a member that their groups made.
func (m *Room) audit(ctx context.Context, tx *store.Tx, row *store.Member, action, before string) error {
	rec := request.Audit(ctx, action, row.ID)
	rec.ActorType, rec.ActorID = "member", row.ID
	if before != "" {
		rec.Before = store.JSON(map[string]any{"role": before})
	}
	rec.After, rec.Reason = store.JSON(map[string]any{"email": row.Email, "role": row.Role}), "groups at "+m.o.Config.Name
	return tx.Audit(ctx, rec)
}
