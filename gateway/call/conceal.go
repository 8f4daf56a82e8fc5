package call

import (
	"bytes"
	"context"
	"slices"

	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/registry"
)

// conceal takes the credentials of the toolset out of what the call log and the samples
// of failures keep. Who calls may know one, and write it where it is not looked for: in a
// script, in arguments of several calls, or in a call that fails before its own
// credentials are read.
func (x *exchange) conceal(c *metering.Call) {
	captured := c.Capture.Takes(c.Outcome)
	if !captured && c.Outcome == metering.OK {
		return
	}
	known := x.known()
	c.Failure = known.Redact(c.Failure)
	if !captured {
		return
	}
	c.Arguments, c.Answer = known.Redact(c.Arguments), known.Redact(c.Answer)
	if c.Run != nil && !bytes.Equal(known.Redact([]byte(c.Run.Code)), []byte(c.Run.Code)) {
		c.Run = &registry.ScriptRun{Withheld: registry.WithheldPersonal} // without it, it is another script
	}
}

// known are the credentials of the call and those of the toolset that people know.
// Access tokens are fetched, and shown to nobody.
func (x *exchange) known() credentials.Bound {
	b := credentials.Bound{Rules: slices.Clip(x.bound.Rules), Values: slices.Clip(x.bound.Values)}
	ctx := context.WithoutCancel(x.ctx) // the call is over
	for _, binding := range x.ts.Bindings {
		for _, rule := range binding.Rules {
			if rule.User || rule.Type == credentials.Token || slices.ContainsFunc(b.Rules, func(r credentials.Rule) bool { return r.ID == rule.ID }) {
				continue
			}
			if cred, err := x.c.credentials.Credential(ctx, rule.ID); err == nil { // else there is none to be told
				b.Rules, b.Values = append(b.Rules, rule), append(b.Values, x.c.redactors.Prepare(rule, cred))
			}
		}
	}
	return b
}
