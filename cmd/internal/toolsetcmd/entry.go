package toolsetcmd

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/adoption"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft/rollout"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/problem"
)

// CatalogUpdate is "catalog update".
func CatalogUpdate(cli *command.Session) *cobra.Command {
	var in adoption.UpdateRequest
	var tool string
	cmd := &cobra.Command{
		Use: "update TOOLSET", Short: "Update a toolset to the newer version of its entry", Args: command.Exactly(1, "one toolset"),
		Long: `Update a toolset to the current version of its catalog entry, and list the changes:
tools, names, descriptions, answers, authentication header and addresses. Your own edits
since then stay. Changes that break nothing are tested and deployed when the toolset is
live; breaking changes wait in the draft, unless --accept-breaking. A new address of calls
waits, though it is accepted, until its credential may be sent there (sluice toolset
origins). The vendor's document is not read again: sluice toolset refresh does that.`,
		Example: "  sluice catalog update github --dry-run\n  sluice catalog update github",
		RunE: func(cmd *cobra.Command, args []string) error {
			if tool != "" {
				in.Test = &rollout.TestRequest{Tool: tool}
			}
			return updateEntries(cmd.Context(), cli, args[0], &in)
		},
	}
	ConnectorFlag(cmd, &in.Connector)
	fs := cmd.Flags()
	fs.BoolVar(&in.DryRun, "dry-run", false, "show what would change and change nothing")
	fs.BoolVar(&in.AcceptBreaking, "accept-breaking", false, "test and deploy breaking changes too")
	fs.BoolVar(&in.Partial, "partial", false, "leave out tools whose operations the connector does not have")
	fs.BoolVar(&in.Skip, "no-deploy", false, "neither test nor deploy: stay a draft")
	fs.StringVar(&tool, "test", "", "tool to test with (default: the first safe one)")
	fs.StringVar(&in.UntestedReason, "reason", "", "deploy with this reason when nothing can be tested")
	return cmd
}

func updateEntries(ctx context.Context, cli *command.Session, name string, in *adoption.UpdateRequest) error {
	c := cli.Client()
	t, etag, err := c.Toolset(ctx, name)
	if err != nil {
		return err
	}
	if in.Connector != "" || len(t.Connectors) == 1 {
		return updateEntry(ctx, cli, t, etag, in, "")
	}
	made := 0
	for i := range t.Connectors {
		if one := &t.Connectors[i]; one.Entry != nil {
			made++
			next := *in
			next.Connector = one.Name
			if _, etag, err = c.Toolset(ctx, t.ID); err != nil { // the update before changed it
				return err
			}
			if err := updateEntry(ctx, cli, t, etag, &next, one.Name+": "); err != nil {
				return err
			}
		}
	}
	if made == 0 {
		return problem.New(problem.Conflict, "no connector of toolset %s comes from a catalog entry", t.Slug)
	}
	return nil
}

// updateEntry updates one connector of a toolset that has the ETag; title goes before
// what is printed.
func updateEntry(ctx context.Context, cli *command.Session, t *view.ToolsetDetail, etag string, in *adoption.UpdateRequest, title string) error {
	return command.Show(ctx, cli, client.Call{Method: http.MethodPost, Path: client.ToolsetPath(t, "catalog-update"), In: in, IfMatch: etag, Wait: true}, func(w io.Writer, out *change.Refreshed) {
		fmt.Fprint(w, title)
		if out.Changes == nil {
			fmt.Fprintf(w, "✓ %s has its entry as the catalog has it\n", t.Slug)
			return
		}
		printChanges(w, t.Slug, out.Changes)
		switch {
		case out.DryRun:
			fmt.Fprintln(w, "Nothing was changed.")
		case out.Deployed:
			printLive(w, &out.Toolset)
		case out.Waiting != "":
			printWaiting(w, t.Slug, out)
		default:
			fmt.Fprintf(w, "✓ %s has the version %s of its entry\n", t.Slug, out.Changes.Entry.To)
		}
	})
}

// printEntry lists what a newer entry changed besides tools, and what the operator keeps.
func printEntry(w io.Writer, slug string, e *adoption.EntryChange) {
	for i := range e.Settings {
		d := &e.Settings[i]
		fmt.Fprintf(w, "~ %-8s %s: %s\n", d.Impact, terminal.Printable(d.Where), terminal.Printable(d.What))
		printText(w, "-", d.Old)
		printText(w, "+", d.New)
		if d.Where == "source" {
			fmt.Fprintf(w, "  the document is read there with: sluice toolset refresh %s\n", slug)
		}
	}
	for i := range e.Yours {
		k := &e.Yours[i]
		of := k.Where
		if k.Tool != "" {
			of += " of " + k.Tool
		}
		fmt.Fprintf(w, "  yours stays: %s\n", terminal.Printable(of))
		printText(w, "≠", k.Entry)
	}
}

// entryText says which entry a connector was made of; "": of none.
func entryText(c *view.ToolsetConnector, slug string) string {
	switch e := c.Entry; {
	case e == nil:
		return ""
	case e.Gone:
		return e.ID + " " + e.Version + ", which the catalog no longer has"
	case e.Update != "":
		return e.ID + " " + e.Version + "; there is " + e.Update + ": sluice catalog update " + slug
	default:
		return e.ID + " " + e.Version
	}
}
