package toolsetcmd

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/problem"
)

// userLogins are the logins of callers at a toolset.
func (e *edit) userLogins(ctx context.Context) ([]login.UserLogin, error) {
	var all []login.UserLogin
	after := ""
	for {
		var page struct {
			Items []login.UserLogin `json:"items"`
			Next  string            `json:"next"`
		}
		path := e.path("authentication", "users") + "?limit=200&connector=" + url.QueryEscape(e.t.Connectors[0].Name) + "&after=" + url.QueryEscape(after)
		if err := e.Client().Get(ctx, path, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if after = page.Next; after == "" {
			return all, nil
		}
	}
}

// authUsers lists the callers who logged in at a toolset.
func (e *edit) authUsers(ctx context.Context) error {
	all, err := e.userLogins(ctx)
	if err != nil {
		return err
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

// authRevoke forgets the login of a caller: of an id, else of the name of an access token
// or the subject of a JWT that only one caller has.
func (e *edit) authRevoke(ctx context.Context, user string) error {
	all, err := e.userLogins(ctx)
	if err != nil {
		return err
	}
	id, err := findLogin(all, user)
	if err != nil {
		return err
	}
	if err := e.Client().Delete(ctx, e.path("authentication", "users", id)+"?connector="+url.QueryEscape(e.t.Connectors[0].Name), nil); err != nil {
		return err
	}
	e.Say("✓ the login of %s is forgotten; the next call is answered with a link to log in again", user)
	return nil
}

// findLogin is the id of the login that user names.
func findLogin(all []login.UserLogin, user string) (string, error) {
	var found []string
	for i := range all {
		switch u := &all[i]; user {
		case u.ID:
			return u.ID, nil
		case u.Name, u.Subject:
			if user != "" { // a JWT's caller has no name
				found = append(found, u.ID)
			}
		}
	}
	switch len(found) {
	case 0:
		return "", problem.New(problem.NotFound, "no caller %.80q is logged in at this toolset", user).Fix("see who is: sluice toolset auth TOOLSET users")
	case 1:
		return found[0], nil
	}
	return "", problem.New(problem.Conflict, "%d callers are called %.80q", len(found), user).Fix("take the id of one of them: %s", strings.Join(found, ", "))
}
