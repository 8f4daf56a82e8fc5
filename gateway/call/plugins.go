package call

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/registry"
)

var errNoPlugins = errors.New("this node runs no third-party plugins")

// plugins runs the third-party plugins of the tool over a JSON answer, each on what
// the one before made. One that fails leaves the answer as it got it, or ends the
// call, as its binding says.
func (x *exchange) plugins() error {
	if x.ready == nil || x.ready.MCP != nil && !x.inItem || len(x.ready.Plugins) == 0 || !x.out.JSON || x.bad {
		return nil
	}
	ctx, cancel := context.WithDeadline(x.ctx, x.deadline)
	defer cancel()
	args := x.args.Raw()
	if len(args) == 0 {
		args = []byte("{}")
	}
	c := &guest.Context{
		Caller: x.principal, Tool: x.tool.Name, Operation: x.ready.Method + " " + x.ready.Path, Status: x.status, ContentType: string(x.contentType), Arguments: args,
	}
	stream := kindOf(x.contentType, x.body, x.ready.JSON) == kindStream
	if x.asItCame {
		x.small, x.asItCame = append(x.small[:0], x.body...), false
	}
	for _, p := range x.ready.Plugins {
		err := errNoPlugins
		before, begin := len(x.small), time.Now()
		if x.c.plugins != nil {
			x.spare, err = x.c.plugins.Transform(ctx, x.spare[:0], x.small, p, c)
			if err == nil {
				if err = x.accept(p.Package.Text(), stream); err != nil {
					x.c.plugins.Refuse(p, err)
				}
			}
		}
		if x.trace != nil {
			x.trace.plugin(p, before, len(x.small), time.Since(begin), err)
		}
		if err == nil {
			continue
		}
		x.c.log.LogAttrs(x.ctx, slog.LevelDebug, "plugin could not run", slog.String("toolset", x.ts.Slug), slog.String("tool", x.tool.Name),
			slog.String("plugin", p.Ref.Name), slog.Any("error", err))
		if p.Ref.OnError == registry.OnErrorFail {
			return problem.New(problem.InvalidPlugin, "the answer is withheld: the plugin %s could not run on it", p.Ref.Name).
				Fix("ask the operator of %s to look at the plugin", x.ts.Slug)
		}
	}
	return x.maskBehind()
}

// maskBehind runs the caller's mask over what the plugins made.
func (x *exchange) maskBehind() error {
	if x.program == nil || len(x.program.After) == 0 || x.asText {
		return nil
	}
	x.form = append(x.form[:0], x.small...)
	if err := x.runTables(x.program.After, x.form); err != nil {
		x.small = append(x.small[:0], x.form...)
		x.programFailed(err)
	}
	return nil
}

var errNotJSON = errors.New("its output is not JSON")

// accept makes what a plugin wrote to spare the answer. Of a stream of documents the
// agent gets what the plugin wrote, as it is.
func (x *exchange) accept(text, stream bool) error {
	if !text && !stream {
		v, err := jsonscan.Parse(x.spare, jsonscan.DefaultMaxDepth)
		if err != nil {
			return errNotJSON
		}
		x.small, x.asText = jsonscan.AppendMinified(x.small[:0], v.Raw()), false
		return nil
	}
	x.small, x.spare, x.asText = x.spare, x.small, text
	return nil
}
