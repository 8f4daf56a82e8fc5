package credentials

import (
	"context"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// Users is a [Source] that also holds tokens of single callers, for rules with
// User set.
type Users interface {
	// UserCredential returns the token that belongs to one caller, and to nobody
	// else. rejected is the version that the upstream refused; 0: none. scopes are
	// what the upstream wants beyond what the token has; nil: nothing. It is called
	// on each upstream call and must answer from memory in the usual case.
	//
	// A caller who must log in gets a [problem.Unauthenticated] with a
	// [registry.LoginError]; one without an identity the error of [NoIdentity].
	UserCredential(ctx context.Context, id string, user registry.User, rejected uint64, scopes []string) (Credential, error)
}

// NoIdentity is the error of a caller who cannot be told from others, at a toolset
// that wants each caller's own login.
func NoIdentity() error {
	return problem.New(problem.Unauthenticated, "this toolset works with an account of each caller, and is open to everybody, so callers cannot be told apart").
		Fix("the operator must give the toolset access tokens or let an authorization server vouch for its callers: sluice toolset access")
}
