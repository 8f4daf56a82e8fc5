package workspacecmd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/request/audit"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/problem"
)

// maxAuditRecords that --limit may ask for.
const maxAuditRecords = 100_000

// Audit is "sluice audit".
func Audit(s *command.Session) *cobra.Command {
	cmd := &cobra.Command{Use: "audit", Short: "Read and verify the audit log"}
	cmd.AddCommand(auditList(s), auditHead(s), auditVerify(s))
	return cmd
}

func auditList(s *command.Session) *cobra.Command {
	limit := 50
	var filter *command.Filter
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the audit log: who changed what, newest first", Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 || limit > maxAuditRecords {
				return exit.Usagef("--limit is 1 to %d", maxAuditRecords)
			}
			c := s.Client()
			items, raw, err := client.First[audit.AuditRecord](cmd.Context(), c, filter.Of("/v1/audit"), limit)
			if err != nil {
				return err
			}
			return terminal.List(&s.Terminal, items, raw, []terminal.Column[audit.AuditRecord]{
				{Header: "time", Value: func(r audit.AuditRecord) string { return r.Time.Local().Format(time.DateTime) }},
				{Header: "action", Value: func(r audit.AuditRecord) string { return r.Action }},
				{Header: "resource", Value: func(r audit.AuditRecord) string { return cmp.Or(r.Name, r.Resource) }},
				{Header: "resource id", Value: func(r audit.AuditRecord) string { return r.Resource }, Wide: true},
				{Header: "actor", Value: func(r audit.AuditRecord) string {
					return strings.TrimSpace(r.Actor.Type + " " + cmp.Or(r.Actor.Name, r.Actor.ID))
				}},
				{Header: "actor id", Value: func(r audit.AuditRecord) string { return r.Actor.ID }, Wide: true},
				{Header: "from", Value: func(r audit.AuditRecord) string { return r.Actor.IP }},
				{Header: "outcome", Value: func(r audit.AuditRecord) string { return r.Outcome }},
			}, func(r audit.AuditRecord) string { return r.ID })
		},
	}
	cmd.Flags().IntVar(&limit, "limit", limit, "most records")
	filter = command.FilterOf(cmd, "action:toolset.deploy outcome:failed time:>=7d", "-time")
	return cmd
}

func auditHead(s *command.Session) *cobra.Command {
	return &cobra.Command{
		Use: "head", Short: "Print the signed head of the audit log, to keep on another machine", Args: command.Exactly(0, "no arguments"),
		Long: `Print number and hash of the newest record of the audit log, signed by the release
key (a DSSE envelope). Kept on another machine, it shows later whether records were
removed or changed since: sluice audit verify --head FILE.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := s.Client()
			var out audit.AuditHead
			if err := c.Get(cmd.Context(), "/v1/audit/head", &out); err != nil {
				return err
			}
			if s.Format == "name" {
				return s.WriteResult(nil) // it has none
			}
			return s.WriteResult(append(out.Envelope, '\n'))
		},
	}
}

func auditVerify(s *command.Session) *cobra.Command {
	var head string
	cmd := &cobra.Command{
		Use: "verify", Short: "Verify that no record of the audit log was changed or removed", Args: command.Exactly(0, "no arguments"),
		Long: `Read every record, check that each holds the hash of the one before, and that the log
reaches its signed head: the one that the control plane keeps outside of its database,
or with --head one that was kept elsewhere. Exits with 7 when something is wrong.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var in audit.VerifyAudit
			if head != "" {
				b, err := os.ReadFile(head)
				if err != nil {
					return fmt.Errorf("reading the head: %w", err)
				}
				if !json.Valid(b) {
					return problem.New(problem.InvalidArgument, "%s is not a signed head", head).Fix("name a file that sluice audit head printed")
				}
				in.Head = b
			}
			c := s.Client()
			var out audit.VerifiedAudit
			if err := c.Post(cmd.Context(), "/v1/audit/verify", in, &out); err != nil {
				return err
			}
			err := s.Object(out, func(w io.Writer) {
				if out.OK {
					fmt.Fprintf(w, "✓ %s, none changed or removed\n", terminal.Plural(int(min(out.Records, 1<<50)), "record"))
				}
			})
			if err == nil && !out.OK {
				return problem.New(problem.Conflict, "the audit log is not whole: %s", strings.Join(out.Faults, "; ")).
					Fix("compare with a backup, and find out who could write to the database")
			}
			return err
		},
	}
	cmd.Flags().StringVar(&head, "head", "", "`FILE` with a signed head that was kept elsewhere (sluice audit head)")
	return cmd
}
