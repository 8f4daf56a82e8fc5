package call

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	"github.com/sluicegate/sluice/gateway/media"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/engine"
	"github.com/sluicegate/sluice/plugins/jq"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

// transform applies the settings of the profile, the operator and the caller to a JSON
// answer: the tables of the tool's program, then the operator's expression.
// A program that cannot run fails open: the agent gets the minified answer, and the fault is
// counted and named in the trace; where the operator marked the settings as
// redacting it fails closed. Answers that are not JSON pass unchanged, but what is nearly
// JSON, or stands behind warnings of PHP, is mended first.
func (a *rendering) transform() error {
	if err := a.transformBody(); err != nil || !a.broken {
		return err
	}
	var ok bool
	if a.body, a.remark, ok = media.Mend(a.body); ok {
		a.broken = false
		if err := a.transformBody(); err != nil || !a.broken {
			return err
		}
	}
	if a.ready.Answer.Redact { // else compress tells the agent
		return a.withheld()
	}
	return nil
}

func (a *rendering) transformBody() error {
	if a.status < 200 || a.status > 299 || len(a.body) == 0 {
		return nil
	}
	kind := media.KindOf(a.contentType, a.body, a.ready.JSON)
	body := a.body
	if kind == media.XML && a.ready.Answer.Profile != registry.ProfileOff {
		if out, err := media.AppendXML(a.form[:0], a.body); err == nil { // else it stays the text it is
			a.form, body, kind = out, out, media.JSON
		}
	}
	if kind != media.JSON && kind != media.Stream {
		if a.broken = kind == media.HTML && a.ready.JSON; a.ready.Answer.Redact && !a.broken {
			return a.withheld()
		}
		return nil
	}
	a.isJSON = true
	body = a.visible(body, manifest.TypeJSON)
	program := cmp.Or(a.mask, a.ready.Answer.Program)
	tables := program.Tables
	// A plugin gets documents one by one in an array, whatever the profile: one that
	// reads JSON does not read several documents.
	if kind == media.Stream && (len(tables) > 0 || a.ready.Answer.Profile != registry.ProfileOff || len(a.ready.Plugins) > 0) {
		var err error
		if tables, err = program.Stream(); err != nil {
			return err
		}
	}
	if len(tables) == 0 {
		return a.plain(body, kind)
	}
	if err := a.runTables(tables, body); err != nil {
		a.programFailed(err)
		if errors.Is(err, engine.ErrNotJSON) {
			a.isJSON, a.broken = false, true
			return nil
		}
		if a.ready.Answer.Redact {
			return a.withheld()
		}
		return a.plain(body, kind)
	}
	return a.reshape()
}

// plain is the answer without a program: as it came under the profile off,
// minified otherwise.
func (a *rendering) plain(body []byte, kind media.Kind) error {
	if a.ready.Answer.Profile == registry.ProfileOff && a.ready.Answer.Reshape == nil {
		a.verbatim = true
		if kind == media.Stream {
			return nil
		}
		var err error
		_, a.minified, err = jsonscan.ParseMinified(body, jsonscan.DefaultMaxDepth)
		a.deep = errors.Is(err, jsonscan.ErrDepth)
		if err != nil && !a.deep {
			a.isJSON, a.broken = false, true
		}
		return nil
	}
	v, minified, err := jsonscan.ParseMinified(body, jsonscan.DefaultMaxDepth)
	if a.deep = errors.Is(err, jsonscan.ErrDepth); a.deep && a.ready.Answer.Redact {
		return a.withheld()
	}
	if err != nil { // nested deeper than we look it stays as it is
		a.verbatim, a.isJSON, a.broken = a.deep, a.deep, !a.deep
		return nil //nolint:nilerr // transform mends what is broken, or says what becomes of it
	}
	if minified {
		a.small = append(a.small[:0], v.Raw()...)
	} else {
		a.small = jsonscan.AppendMinified(a.small[:0], v.Raw())
	}
	return a.reshape()
}

// runTables runs one table after the other; the result is in small.
func (a *rendering) runTables(tables [][]byte, body []byte) error {
	in := body
	for i, t := range tables {
		if i > 0 {
			a.small, a.spare = a.spare, a.small
			in = a.spare
		}
		out, stats, err := a.c.host.Transform(a.small[:0], t, in)
		if err != nil {
			return err
		}
		a.small = out
		a.countLeftOut(t, &stats)
		if a.trace != nil {
			a.trace.Program = true
			a.trace.FieldsDropped += stats.FieldsDropped
		}
	}
	return nil
}

// reshape runs the operator's expression on small.
func (a *rendering) reshape() error {
	p := a.ready.Answer.Reshape
	if p == nil {
		return nil
	}
	ctx, cancel := context.WithDeadline(a.ctx, a.deadline)
	defer cancel()
	out, err := p.Append(ctx, a.spare[:0], a.small)
	if err == nil {
		a.small, a.spare = out, a.small
		return nil
	}
	a.spare = out
	cause := "jq"
	if errors.Is(err, jq.ErrBounds) {
		cause = "jq_bounds"
	}
	a.noteFailure(cause)
	if a.ready.Answer.Redact {
		return a.withheld()
	}
	return nil
}

// withheld is the failure in place of an answer that could not be redacted.
func (a *rendering) withheld() error {
	return problem.New(problem.InvalidPlugin, "the answer is withheld: the operator's settings of this tool could not be applied to it").
		Fix("ask the operator of %s to look at the settings of %s", a.ts.Slug, a.tool.Name)
}

func (a *rendering) programFailed(err error) {
	cause := "trap"
	switch {
	case errors.Is(err, engine.ErrNotJSON):
		cause = "input"
	case errors.Is(err, engine.ErrFuel):
		cause = "fuel"
	case errors.Is(err, engine.ErrDepth):
		cause = "depth"
	case errors.Is(err, engine.ErrTooLarge):
		cause = "memory"
	}
	a.noteFailure(cause)
}

func (a *rendering) noteFailure(cause string) {
	a.c.meter.Program(cause)
	if a.trace != nil {
		a.trace.ProgramFailure = cause
	}
	a.c.log.LogAttrs(a.ctx, slog.LevelDebug, "response program could not run",
		slog.String("toolset", a.ts.Slug), slog.String("tool", a.tool.Name), slog.String("cause", cause))
}
