package toolsetcmd

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

// authUsers lists the callers who logged in at a toolset.
func authUsers(ctx context.Context, cli *command.Session, c *client.Client, t *admin.ToolsetDetail) error {
	var all []admin.UserLogin
	after := ""
	for {
		var page struct {
			Items []admin.UserLogin `json:"items"`
			Next  string            `json:"next"`
		}
		path := client.ToolsetPath(t, "authentication", "users") + "?limit=200&connector=" + url.QueryEscape(t.Connectors[0].Name) + "&after=" + url.QueryEscape(after)
		if err := c.Get(ctx, path, &page); err != nil {
			return err
		}
		all = append(all, page.Items...)
		if after = page.Next; after == "" {
			break
		}
	}
	return cli.Object(all, func(w io.Writer) {
		if len(all) == 0 {
			fmt.Fprintf(w, "Nobody has logged in at %s with an account of their own.\n", t.Slug)
		}
		for i := range all {
			u := &all[i]
			who := terminal.Printable(u.Subject)
			switch {
			case u.Name != "":
				who = terminal.Printable(u.Name) + " (" + who + ")"
			case u.Issuer != "":
				who += " of " + terminal.Printable(u.Issuer)
			}
			fmt.Fprintf(w, "%s   %-14s   since %s   %s\n", u.ID, u.State, u.CreatedAt.Local().Format(time.DateTime), who)
			if u.LastError != "" {
				fmt.Fprintf(w, "  ! %s\n", terminal.Printable(u.LastError))
			}
		}
	})
}

// authRevoke forgets the login of a caller.
func authRevoke(ctx context.Context, cli *command.Session, c *client.Client, t *admin.ToolsetDetail, user string) error {
	if err := c.Delete(ctx, client.ToolsetPath(t, "authentication", "users", user)+"?connector="+url.QueryEscape(t.Connectors[0].Name), nil); err != nil {
		return err
	}
	cli.Say("✓ the login of %s is forgotten; the next call is answered with a link to log in again", user)
	return nil
}
