package call

import (
	"context"
	"errors"
	"time"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/plugins/manifest"
)

var errNoPlugins = errors.New("this node runs no third-party plugins")

// plugins runs the third-party plugins of the tool over a JSON answer, each on what
// the one before made. One that fails leaves the answer as it got it, or ends the
// call, as its binding says. Everything else that the agent reads goes through filter.
func (x *exchange) plugins() error {
	if x.ready == nil || x.ready.MCP != nil && !x.inItem || len(x.ready.Plugins) == 0 || !x.out.JSON || x.bad {
		return nil
	}
	ctx, cancel := context.WithDeadline(x.ctx, x.deadline)
	defer cancel()
	c := x.guestContext(partAnswer)
	if x.asItCame {
		x.small, x.asItCame = append(x.small[:0], x.visible(x.body, manifest.TypeJSON)...), false
	}
	for _, p := range x.ready.Plugins {
		c.InputType = manifest.TypeJSON
		if x.asText {
			c.InputType = mediaText // one before made a text of it
		}
		if !p.Package.Manifest.Reads(c.InputType) {
			if p.Closed {
				return x.withheldFrom(p, c.InputType)
			}
			continue
		}
		err := errNoPlugins
		before, begin := len(x.small), time.Now()
		if x.c.plugins != nil {
			x.spare, err = x.c.plugins.Transform(ctx, x.spare[:0], x.small, p, c)
			if err == nil {
				if err = x.accept(x.asText || p.Package.Text()); err != nil {
					x.c.plugins.Refuse(p, err)
				}
			}
		}
		if err := x.ran(p, before, len(x.small), begin, err); err != nil {
			return err
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

// accept makes what a plugin wrote to spare the answer.
func (x *exchange) accept(text bool) error {
	if !text {
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
