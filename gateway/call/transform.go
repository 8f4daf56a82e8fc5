package call

import (
	"errors"
	"log/slog"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/plugins/engine"
)

// transform runs the tool's response program over a JSON answer. A program that
// cannot run fails open: the agent gets the minified answer, and the fault is
// counted and named in the trace. What is not JSON passes on as it is.
func (x *exchange) transform() error {
	if x.status < 200 || x.status > 299 || len(x.body) == 0 || kindOf(x.contentType, x.body, x.ready.JSON) != kindJSON {
		return nil
	}
	x.out.JSON = true
	if x.ts.Lossless && len(x.ready.Program) > 0 {
		out, stats, err := x.c.host.Transform(x.small[:0], x.ready.Program, x.body)
		if err == nil {
			x.small = out
			if x.trace != nil {
				x.trace.Program = true
				x.trace.FieldsDropped = stats.FieldsDropped
			}
			return nil
		}
		x.programFailed(err)
		if errors.Is(err, engine.ErrNotJSON) {
			x.out.JSON = false
			return nil // compress says so
		}
	}
	v, err := jsonscan.Parse(x.body, jsonscan.DefaultMaxDepth)
	if errors.Is(err, jsonscan.ErrDepth) {
		x.small = append(x.small[:0], x.body...) // nested deeper than we look: as it is
		return nil
	}
	if err != nil {
		x.out.JSON = false
		return nil //nolint:nilerr // compress tells the agent
	}
	x.small = jsonscan.AppendMinified(x.small[:0], v.Raw())
	return nil
}

func (x *exchange) programFailed(err error) {
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
	x.c.meter.Program(cause)
	if x.trace != nil {
		x.trace.ProgramFailure = cause
	}
	x.c.log.LogAttrs(x.ctx, slog.LevelDebug, "response program could not run, answer passed on minified",
		slog.String("toolset", x.ts.Slug), slog.String("tool", x.tool.Name), slog.String("cause", cause))
}
