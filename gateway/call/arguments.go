package call

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
)

var errNotArguments = errors.New("its output is not a JSON object of arguments")

// transformArguments gives the arguments, which were checked, to the plugins of the tool
// that transform them, each what the one before made, and checks what they made as if the
// caller had sent it. One that fails leaves the arguments as it got them, or ends the call,
// as its binding says.
func (x *exchange) transformArguments(args jsonscan.Value) (jsonscan.Value, error) {
	if len(x.ready.Arguments) == 0 {
		return args, nil
	}
	ctx, cancel := context.WithDeadline(x.ctx, x.deadline)
	defer cancel()
	c := &guest.Context{
		Caller: x.principalKey, Tool: x.tool.Name, Operation: x.ready.Method + " " + x.ready.Path, InputType: manifest.TypeJSON, Part: guest.PartArguments,
	}
	for _, p := range x.ready.Arguments {
		in := orEmpty(args)
		c.Arguments = in.Raw()
		begin, err := time.Now(), errNoPlugins
		var out []byte
		if x.c.plugins != nil {
			if out, err = x.c.plugins.Transform(ctx, nil, in.Raw(), p, c); err == nil {
				var made jsonscan.Value
				err = x.c.plugins.Check(p, x.principalKey, func() error {
					v, notJSON := jsonscan.Parse(bytes.TrimSpace(out), jsonscan.DefaultMaxDepth)
					if notJSON != nil || v.Kind() != jsonscan.Object {
						return errNotArguments
					}
					if err := x.ready.Plan.Check(v); err != nil {
						return err //nolint:wrapcheck // it says what is wrong with the arguments
					}
					made = v
					return nil
				})
				if err == nil {
					args = made
				}
			}
		}
		x.ranPlugin(p, len(in.Raw()), len(out), begin, time.Since(begin), c.Requests, err)
		if err != nil && p.Closed {
			return args, problem.New(problem.InvalidPlugin, "the call was not made: the plugin %s could not transform its arguments", p.Ref.Name).
				Fix("ask the operator of %s to look at the plugin", x.ts.Slug)
		}
	}
	return args, nil
}
