package call

import (
	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/internal/problem"
)

// auth puts the credential on the request. An operation that is served by another
// origin than the toolset's base URL is called without it: the operator gave the
// key for one API.
func (x *exchange) auth() error {
	rule := x.tool.Binding.Rule
	if rule.Type == credentials.None || !x.ready.Credential {
		return nil
	}
	cred, err := x.c.credentials.Credential(x.ctx, rule.ID)
	switch {
	case problem.Is(err, problem.NotFound):
		return problem.New(problem.Unauthenticated, "this toolset needs an API key and has none").
			Fix("set the API key of the toolset %s", x.ts.Slug).Because(err)
	case err != nil:
		return err
	}
	if err := rule.Apply(&x.http.Request, cred); err != nil {
		return err
	}
	x.cred, x.withKey = cred, true
	return nil
}
