package main

import (
	"context"
	"net/url"
	"time"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/problem"
)

// logsIn reports whether the flags ask for a login at an MCP server before it is
// looked at.
func (f *authFlags) logsIn() bool { return len(f.specs) == 1 && f.isOAuth() }

// serverLogin lets a person log in at an MCP server that is no toolset yet, and
// returns the login's id.
func (a *app) serverLogin(ctx context.Context, c *client.Client, server string, f *authFlags) (string, error) {
	auth, err := f.request(a)
	if err != nil {
		return "", err
	}
	auth.PerUser = false // the operator's own login reads the list of tools
	in := struct {
		URL  string      `json:"url"`
		Auth authRequest `json:"authentication"`
	}{server, auth}
	var begun admin.ServerLoginState
	if err := c.Post(ctx, "/v1/mcp/logins", in, &begun); err != nil {
		return "", err
	}
	a.showLogin(ctx, begun.AuthorizationURL, begun.RedirectURL, begun.Registered, !f.noBrowser)
	a.Say("  Waiting … (Ctrl-C stops waiting)")
	tick := time.NewTicker(loginPoll)
	defer tick.Stop()
	for {
		var now admin.ServerLoginState
		if err := c.Get(ctx, "/v1/mcp/logins/"+url.PathEscape(begun.ID), &now); err != nil {
			return "", err
		}
		switch now.State {
		case "done":
			a.Say("✓ logged in")
			return begun.ID, nil
		case "failed":
			return "", problem.New(problem.Unauthenticated, "the login did not succeed: %s", now.Error).Fix("begin again")
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// showLogin shows the page of a login, and opens it where there is a person at a
// browser.
func (a *app) showLogin(ctx context.Context, page, redirect string, registered, browser bool) {
	a.Say("Open this page to log in; the login ends in the browser in which you go on from it:\n\n  %s\n", page)
	if registered {
		a.Say("  A client was registered at the authorization server; it comes back to %s", redirect)
	} else {
		a.Say("  The client at the authorization server must allow the redirect %s", redirect)
	}
	if browser && !a.NoInput && terminal.IsTerminal(a.In) {
		if err := openBrowser(ctx, page); err != nil {
			a.Say("  No browser could be opened here.")
		}
	}
}
