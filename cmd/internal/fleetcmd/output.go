package fleetcmd

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/sluicegate/sluice/admin/login/local"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// programOutput is what a program of a toolset wrote.
type programOutput struct {
	Connector string `json:"connector"`
	local.Output
}

// commandOutput shows what the programs of a toolset wrote for people.
func commandOutput(ctx context.Context, s *command.Session, args []string) error {
	if len(args) != 1 {
		return exit.Usagef("--stderr needs a toolset: sluice logs TOOLSET --stderr")
	}
	c, t, _, err := s.Toolset(ctx, args[0])
	if err != nil {
		return err
	}
	var all []programOutput
	for i := range t.Connectors {
		if !registry.IsStdio(t.Connectors[i].Source.URL) {
			continue
		}
		one := programOutput{Connector: t.Connectors[i].Name}
		if err := c.Get(ctx, client.ToolsetPath(t, "connectors", one.Connector, "output"), &one.Output); err != nil {
			return err
		}
		all = append(all, one)
	}
	if all == nil {
		return problem.New(problem.Conflict, "no connector of toolset %s is a program of the node", t.Slug)
	}
	return s.Object(all, func(w io.Writer) {
		for _, one := range all {
			if len(all) > 1 {
				fmt.Fprintf(w, "%s:\n", one.Connector)
			}
			if one.Dropped > 0 {
				fmt.Fprintf(w, "… %s older\n", terminal.Plural(int(min(one.Dropped, 1<<31-1)), "line"))
			}
			for _, l := range one.Lines {
				fmt.Fprintf(w, "%s  %s\n", l.At.Local().Format(time.TimeOnly), terminal.Printable(l.Text))
			}
		}
	})
}
