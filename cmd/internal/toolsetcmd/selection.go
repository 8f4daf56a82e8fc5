package toolsetcmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/draft/advice"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/describe"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

// selectionFlags say which tools clients list.
type selectionFlags struct {
	selection, useCase string
	explain            bool
	learn              string // "": as it is
	batch              string // "": as it is
	destroy            string // "": as it is
	limits             registry.ScriptLimits
	ownTime            time.Duration
}

func (f *selectionFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.selection, "selection", "", "which tools clients list: all, use-case, search, or code (one tool that runs scripts)")
	fs.StringVar(&f.useCase, "use-case", "", "what the toolset is for, a sentence for each task: lists the tools that serve it")
	fs.BoolVar(&f.explain, "explain", false, "show which tools are listed, why, and what that costs; with --use-case nothing is changed")
	fs.StringVar(&f.learn, "learn", "", "on, off: make examples of searches that a successful call follows; only with --selection search")
	fs.StringVar(&f.batch, "batch", "", "on, off: offer the tool batch, which makes many calls at once")
	fs.StringVar(&f.destroy, "scripts-may-destroy", "", "on, off: let scripts and batches call tools that may destroy data; with --selection code or --batch on")
	fs.IntVar(&f.limits.Calls, "script-calls", 0, "calls that one script may make: 1 to 256 (default 64)")
	fs.IntVar(&f.limits.AtOnce, "script-at-once", 0, "of those at once: 1 to 64 (default 8)")
	fs.DurationVar(&f.ownTime, "script-time", 0, "processor time of a script itself, waiting aside: up to 30s (default 2s)")
	command.MustComplete(cmd, "batch", []string{"on", "off"})
	command.MustComplete(cmd, "scripts-may-destroy", []string{"on", "off"})
	command.MustComplete(cmd, "selection", []string{"all", "use-case", "search", "code"})
	command.MustComplete(cmd, "learn", []string{"on", "off"})
}

func (f *selectionFlags) given(fs *pflag.FlagSet) bool {
	return fs.Changed("selection") || fs.Changed("use-case") || fs.Changed("learn") || fs.Changed("batch") || fs.Changed("scripts-may-destroy") || f.changesLimits(fs) || f.explain
}

func (f *selectionFlags) changesLimits(fs *pflag.FlagSet) bool {
	return fs.Changed("script-calls") || fs.Changed("script-at-once") || fs.Changed("script-time")
}

// scriptLimits are those of a toolset with what the flags change; 0 restores a default.
func (f *selectionFlags) scriptLimits(fs *pflag.FlagSet, have *registry.ScriptLimits) *registry.ScriptLimits {
	var out registry.ScriptLimits
	if have != nil {
		out = *have
	}
	if fs.Changed("script-calls") {
		out.Calls = f.limits.Calls
	}
	if fs.Changed("script-at-once") {
		out.AtOnce = f.limits.AtOnce
	}
	if fs.Changed("script-time") {
		out.Milliseconds = int(f.ownTime.Milliseconds())
	}
	return &out
}

// optimizeSelection changes which tools are listed, together with the settings of answers that
// patch has already; answers says that it has any.
func (e *edit) optimizeSelection(ctx context.Context, f *selectionFlags, fs *pflag.FlagSet, patch draft.PatchToolset, answers bool) error {
	if fs.Changed("use-case") {
		patch.UseCase = &f.useCase
		if !fs.Changed("selection") && f.useCase != "" {
			f.selection = "use-case"
		}
	}
	if f.selection != "" {
		patch.Selection = &f.selection
	}
	for _, s := range []struct {
		flag, value string
		to          **bool
	}{{"learn", f.learn, &patch.Learn}, {"batch", f.batch, &patch.Batch}, {"scripts-may-destroy", f.destroy, &patch.Destructive}} {
		switch on := s.value == "on"; s.value {
		case "":
		case "on", "off":
			*s.to = &on
		default:
			return exit.Usagef("--%s is on or off, not %s", s.flag, terminal.Printable(s.value))
		}
	}
	if f.changesLimits(fs) {
		patch.ScriptLimits = f.scriptLimits(fs, e.t.ScriptLimits)
	}
	if f.explain && patch.UseCase != nil {
		if answers {
			return exit.Usagef("--explain with --use-case changes nothing: leave it out, or set answers without it")
		}
		return e.previewSelection(ctx, f.useCase)
	}
	if answers || patch.UseCase != nil || patch.Selection != nil || patch.Learn != nil || patch.Batch != nil || patch.Destructive != nil || patch.ScriptLimits != nil {
		if err := e.Client().Patch(ctx, e.path(), patch, e.t, client.IfMatch(e.etag)); err != nil {
			return err
		}
	}
	return e.showSelection(ctx, answers)
}

func (e *edit) previewSelection(ctx context.Context, useCase string) error {
	call := client.Call{Method: http.MethodPost, Path: e.path("selection", "preview"), In: map[string]string{"useCase": useCase}}
	return command.Show(ctx, e.Session, call, func(w io.Writer, s *advice.ToolSelection) {
		printSelection(w, s)
		fmt.Fprintln(w, "Nothing was changed.")
	})
}

func (e *edit) showSelection(ctx context.Context, answers bool) error {
	return command.Get(ctx, e.Session, e.path("selection"), func(w io.Writer, s *advice.ToolSelection) {
		if answers {
			printToolsetAnswers(w, &e.t.Toolset)
		}
		printSelection(w, s)
		if e.t.Batch {
			fmt.Fprintln(w, "batch     on")
		}
		if e.t.Destructive {
			fmt.Fprintln(w, "scripts and batches may destroy data")
		}
		if l := e.t.ScriptLimits; l != nil {
			fmt.Fprintf(w, "scripts   %d calls, %d at once, %s of their own\n", cmp.Or(l.Calls, 64), cmp.Or(l.AtOnce, 8), time.Duration(cmp.Or(l.Milliseconds, 2000))*time.Millisecond)
		}
		if e.t.Changed {
			fmt.Fprintf(w, "  next   sluice toolset test %s   deploys the change\n", e.t.Slug)
		}
	})
}

func printSelection(w io.Writer, s *advice.ToolSelection) {
	fmt.Fprintf(w, "selection %s\n", s.Selection)
	for _, t := range s.Tools {
		why := "for: " + t.Clause
		score := fmt.Sprintf("%6.2f", t.Score)
		switch {
		case t.Plugin != "":
			why, score = "offered by the workflow "+t.Plugin, "      "
		case t.Operation.Method == manifest.MethodWorkflow:
			why, score = "a workflow", "      "
		case t.NeededBy != "":
			why, score = "gives "+t.Gives+" to "+t.NeededBy, "      "
		}
		fmt.Fprintf(w, "  %s  %-40s %6s tokens  %s\n", score, t.Name, terminal.Thousands(t.Tokens), terminal.Printable(why))
	}
	if s.Advice != nil {
		describe.Advice(w, s.Advice)
	}
}
