package call

import (
	"context"
	"errors"
	"time"

	"github.com/sluicegate/sluice/gateway/media"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
)

var errNoPlugins = errors.New("this node runs no third-party plugins")

// plugins runs the third-party plugins of the tool over a JSON answer, each on what
// the one before made. One that fails leaves the answer as it got it, or ends the
// call, as its binding says. Everything else that the agent reads goes through filter.
func (a *rendering) plugins() error {
	a.inspectAnswer()
	if len(a.ready.Plugins) == 0 || !a.isJSON || a.isError {
		return nil
	}
	ctx, cancel := context.WithDeadline(a.ctx, a.deadline)
	defer cancel()
	c := a.guestContext(partAnswer)
	if a.verbatim {
		a.small, a.verbatim = append(a.small[:0], a.visible(a.body, manifest.TypeJSON)...), false
	}
	for _, p := range a.ready.Plugins {
		if p.Package.NoAnswers {
			continue
		}
		c.InputType = manifest.TypeJSON
		if a.isText {
			c.InputType = media.TypeText // one before made a text of it
		}
		if !p.Package.Manifest.Reads(c.InputType) {
			if p.Closed {
				return a.withheldFrom(p, c.InputType)
			}
			continue
		}
		err := errNoPlugins
		before, begin := len(a.small), time.Now()
		if a.c.plugins != nil {
			a.spare, err = a.c.plugins.Transform(ctx, a.spare[:0], a.small, p, c)
			if err == nil {
				err = a.c.plugins.Check(p, a.principalKey, func() error { return a.accept(p.Package) })
			}
		}
		if err := a.ran(p, c, before, len(a.small), begin, err); err != nil {
			return err
		}
	}
	return a.maskBehind()
}

// maskBehind runs the caller's mask over what the plugins made.
func (a *rendering) maskBehind() error {
	if a.mask == nil || len(a.mask.After) == 0 || a.isText {
		return nil
	}
	a.form = append(a.form[:0], a.small...)
	if err := a.runTables(a.mask.After, a.form); err != nil {
		a.small = append(a.small[:0], a.form...)
		a.programFailed(err)
	}
	return nil
}

// accept makes what a plugin wrote to spare the answer, when it has the effect that the
// plugin's manifest says.
func (a *rendering) accept(p *guest.Package) error {
	text := a.isText || p.Text()
	if !text {
		v, err := jsonscan.Parse(a.spare, jsonscan.DefaultMaxDepth)
		if err != nil {
			return guest.ErrNotJSON
		}
		if err := p.CheckEffect(a.small, v.Raw(), true); err != nil {
			return err
		}
		a.small, a.isText = jsonscan.AppendMinified(a.small[:0], v.Raw()), false
		return nil
	}
	a.small, a.spare, a.isText = a.spare, a.small, text
	return nil
}
