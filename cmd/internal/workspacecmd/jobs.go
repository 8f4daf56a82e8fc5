package workspacecmd

import (
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/front/job"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/problem"
)

var jobs = command.Resource[job.Job]{
	Filter: "state:failed startedAt:>=7d", Sort: "-startedAt",
	Path: "/v1/jobs", Empty: "No work outlasted its request.",
	Name: func(j job.Job) string { return j.ID },
	Columns: []terminal.Column[job.Job]{
		{Header: "id", Value: func(j job.Job) string { return j.ID }},
		{Header: "kind", Value: func(j job.Job) string { return j.Kind }},
		{Header: "state", Value: func(j job.Job) string { return j.State }},
		{Header: "phase", Value: func(j job.Job) string { return j.Phase }},
		{Header: "started", Value: func(j job.Job) string { return terminal.Since(j.StartedAt) }},
		{Header: "took", Value: func(j job.Job) string {
			if j.State == "running" {
				return ""
			}
			return terminal.Seconds(j.UpdatedAt.Sub(j.StartedAt).Seconds())
		}},
		{Header: "resource", Wide: true, Value: func(j job.Job) string { return j.Resource }},
	},
}

// Job is "sluice job".
func Job(s *command.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use: "job", Aliases: []string{"jobs"}, Short: "List and show work that outlasts its request",
		Long: `A request that takes long, such as a very large specification, goes on as a job. The
command that sent it follows the job to its end; here are the jobs of others, and those
of a command that was interrupted.`,
	}
	cmd.AddCommand(jobs.List(s, "List jobs, newest first"), jobShow(s))
	return cmd
}

func jobShow(s *command.Session) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Aliases: []string{"get"}, Short: "Show a job, what it made or why it failed", Args: command.Exactly(1, "one job"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return command.Get(cmd.Context(), s, jobs.Path+"/"+url.PathEscape(args[0]), writeJob)
		},
	}
}

func writeJob(w io.Writer, j *job.Job) {
	fmt.Fprintf(w, "%s %s, since %s\n", j.Kind, j.State, j.StartedAt.Local().Format(time.DateTime))
	if j.State == "running" {
		fmt.Fprintf(w, "  %s …\n", terminal.Printable(j.Phase))
	}
	if j.Resource != "" {
		fmt.Fprintf(w, "  made or changed %s\n", terminal.Printable(j.Resource))
	}
	if p := j.Error; p != nil {
		d := exit.Document{Title: p.Title, Status: p.Status, Detail: p.Detail, Code: problem.Kind(p.Code), Remedy: p.Remedy}
		exit.WriteError(w, d.Problem())
	}
}
