package node

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/login/handshake"
	"github.com/sluicegate/sluice/admin/login/mcpserver"
	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/mcpclient"
	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/registry"
)

// mcpServers asks MCP servers for the admin API, with the client that calls go
// through.
type mcpServers struct {
	client *mcpclient.Client
	dialer *safedial.Dialer
}

var _ mcpserver.Servers = mcpServers{}

// List implements [mcpserver.Servers].
func (m mcpServers) List(ctx context.Context, t mcpserver.Target) (*mcpserver.Listing, error) {
	target, err := m.target(ctx, t, "list/")
	if err != nil {
		return nil, err
	}
	if t.Noticed != nil {
		target.Noticed = func(n mcpclient.Notice) { t.Noticed(handshake.Event(n)) }
	}
	stop := context.AfterFunc(ctx, target.Cancel.Cancel)
	defer stop()
	var x mcpclient.Exchange
	l, err := m.client.List(&x, target)
	m.client.Forget(target)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, problem.New(problem.Timeout, "%s did not answer in time", target.Endpoint.Addr()).Fix("look at the log of the server, or try again").Because(err)
	case err != nil:
		if refused, ok := errors.AsType[*mcpclient.AuthError](err); ok && (refused.Status == http.StatusUnauthorized || strings.Contains(refused.Challenge, "insufficient_scope")) {
			p := problem.As(err)
			return nil, problem.New(p.Kind, "%s", p.Detail).Fix("%s", p.Remedy).Because(&handshake.WantsAuthError{Challenge: refused.Challenge})
		}
		return nil, err
	}
	return &mcpserver.Listing{Server: l.MCPServer, TTL: l.TTL, Tells: l.ListChanged, Unlisted: l.Unlisted}, nil
}

// Listen implements [mcpserver.Servers].
func (m mcpServers) Listen(ctx context.Context, t mcpserver.Target, opened, changed func()) error {
	if registry.IsStdio(t.URL) { // a process would run for that alone
		return problem.New(problem.Unsupported, "a command is asked for its tools from time to time")
	}
	target, err := m.target(ctx, t, "listen/")
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, target.Cancel.Cancel)
	defer stop()
	var x mcpclient.Exchange
	defer m.client.Forget(target)
	return m.client.Listen(&x, target, mcpclient.Listener{Opened: opened, Changed: changed})
}

// target is a server in a session of its own: what was agreed before is what is to be
// found out, and a stream must not end with the session of calls.
func (m mcpServers) target(ctx context.Context, t mcpserver.Target, purpose string) (*mcpclient.Target, error) {
	at, err := mcpclient.ParseEndpoint(t.URL)
	if err != nil {
		return nil, err
	}
	rules, err := credentials.Compile(t.Auth)
	if err != nil {
		return nil, err
	}
	bound, err := credentials.Bind(ctx, rules, askedSecret(t))
	if err != nil {
		return nil, err
	}
	target := &mcpclient.Target{Endpoint: at, Hint: t.Hint, Owner: purpose + rand.Text(), Cancel: &upstream.Cancel{}, Scope: m.dialer.ScopeOf(ctx)}
	if len(rules) > 0 {
		target.Auth = bound
	}
	for i, r := range rules {
		if r.Type == credentials.Certificate {
			target.Certificate = &upstream.ClientCertificate{ID: r.ID, Version: uint64(time.Now().UnixNano()), PEM: bound.Values[i].Value}
		}
	}
	if d, ok := ctx.Deadline(); ok {
		target.Deadline = d
	}
	return target, nil
}

// askedSecret gives the values that the admin API holds.
type askedSecret mcpserver.Target

// Credential implements [credentials.Source].
func (s askedSecret) Credential(ctx context.Context, id string) (credentials.Credential, error) {
	return heldCredential(s.Secret(ctx, id))
}
