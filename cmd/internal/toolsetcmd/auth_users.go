package toolsetcmd

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

// authUsers lists the callers who logged in at a toolset.
func (e *edit) authUsers(ctx context.Context) error {
	var all []admin.UserLogin
	after := ""
	for {
		var page struct {
			Items []admin.UserLogin `json:"items"`
			Next  string            `json:"next"`
		}
		path := e.path("authentication", "users") + "?limit=200&connector=" + url.QueryEscape(e.t.Connectors[0].Name) + "&after=" + url.QueryEscape(after)
		if err := e.Client().Get(ctx, path, &page); err != nil {
			return err
		}
		all = append(all, page.Items...)
		if after = page.Next; after == "" {
			break
		}
	}
	return e.Object(all, func(w io.Writer) {
		if len(all) == 0 {
			fmt.Fprintf(w, "Nobody has logged in at %s with an account of their own.\n", e.t.Slug)
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
func (e *edit) authRevoke(ctx context.Context, user string) error {
	if err := e.Client().Delete(ctx, e.path("authentication", "users", user)+"?connector="+url.QueryEscape(e.t.Connectors[0].Name), nil); err != nil {
		return err
	}
	e.Say("✓ the login of %s is forgotten; the next call is answered with a link to log in again", user)
	return nil
}
