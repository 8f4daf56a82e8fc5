package node

import (
	"context"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// heldSecrets gives the gateway the secrets that the admin API keeps, which is opened
// after the gateway and before anything is served.
type heldSecrets struct {
	*control

	// operator says that the operator's own login stands for that of any caller: in
	// tests of drafts.
	operator bool
}

var (
	_ credentials.Source    = heldSecrets{}
	_ credentials.Refresher = heldSecrets{}
	_ credentials.Users     = heldSecrets{}
)

// Credential implements [credentials.Source].
func (s heldSecrets) Credential(ctx context.Context, id string) (credentials.Credential, error) {
	return heldCredential(s.admin.Secrets().Secret(ctx, id))
}

func heldCredential(v credential.HeldSecret, err error) (credentials.Credential, error) {
	if err != nil {
		return credentials.Credential{}, err
	}
	return credentials.Credential{Value: v.Value, Version: v.Version, Origins: v.Origins}, nil
}

// Refresh implements [credentials.Refresher].
func (s heldSecrets) Refresh(ctx context.Context, id string, rejected uint64) (credentials.Credential, error) {
	return heldCredential(s.admin.Secrets().Refresh(ctx, id, rejected))
}

// UserCredential implements [credentials.Users].
func (s heldSecrets) UserCredential(ctx context.Context, id string, user registry.User, rejected uint64, scopes []string) (credentials.Credential, error) {
	switch {
	case s.operator && len(scopes) > 0:
		return credentials.Credential{}, problem.New(problem.Unauthenticated, "the operator's login does not have the scopes %s", strings.Join(scopes, " ")).
			Fix("log in with them: sluice toolset auth TOOLSET login --scope %s", strings.Join(scopes, ","))
	case s.operator && rejected == 0:
		return s.Credential(ctx, id)
	case s.operator:
		return s.Refresh(ctx, id, rejected)
	case user == (registry.User{}):
		return credentials.Credential{}, credentials.NoIdentity()
	}
	return heldCredential(s.admin.Secrets().UserSecret(ctx, id, user, rejected, scopes))
}

// vaultSource gives the gateway the credentials that were sealed to this node.
type vaultSource struct{ n *edgeNode }

var (
	_ credentials.Source = vaultSource{}
	_ credentials.Users  = vaultSource{}
)

// UserCredential implements [credentials.Users].
func (s vaultSource) UserCredential(ctx context.Context, id string, user registry.User, rejected uint64, scopes []string) (credentials.Credential, error) {
	if !s.n.enrolled.Load() {
		return credentials.Credential{}, problem.New(problem.Unavailable, "the edge is not enrolled yet")
	}
	if user == (registry.User{}) {
		return credentials.Credential{}, credentials.NoIdentity()
	}
	c, err := s.n.vault.UserCredential(ctx, id, user, rejected, scopes)
	if err != nil {
		return credentials.Credential{}, err
	}
	return gatewayCredential(c, time.Now())
}

// Credential implements [credentials.Source].
func (s vaultSource) Credential(_ context.Context, id string) (credentials.Credential, error) {
	if !s.n.enrolled.Load() {
		return credentials.Credential{}, problem.New(problem.Unavailable, "the edge is not enrolled yet")
	}
	c, err := s.n.vault.Credential(id)
	if err != nil {
		return credentials.Credential{}, err
	}
	return gatewayCredential(c, time.Now())
}

// gatewayCredential refuses an access token that ended: the control plane would
// have sent a new one if it could be reached and had one.
func gatewayCredential(c registry.EdgeCredential, now time.Time) (credentials.Credential, error) {
	if c.Expires != 0 && now.Unix() >= c.Expires {
		return credentials.Credential{}, problem.New(problem.Unauthenticated, "the access token of this toolset has expired, and the control plane sent no new one").
			Fix("check that this edge reaches its control plane; if it does, log in there again: sluice toolset auth TOOLSET login")
	}
	return credentials.Credential{Value: c.Value.Secret, Version: c.Version, Origins: c.Origins}, nil
}
