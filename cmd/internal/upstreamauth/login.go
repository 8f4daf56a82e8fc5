package upstreamauth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"runtime"
	"time"

	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/problem"
)

// Poll is how often a login that waits for a person is looked at.
const Poll = 500 * time.Millisecond

// LogsIn reports whether the flags ask for a login at an MCP server before it is
// looked at.
func (f *Flags) LogsIn() bool { return len(f.Specs) == 1 && f.isOAuth() }

// LogIn lets a person log in at an MCP server that is not a toolset yet, and
// returns the login's id.
func LogIn(ctx context.Context, cli *command.Session, c *client.Client, server string, f *Flags) (string, error) {
	auth, err := f.Request(ctx, cli)
	if err != nil {
		return "", err
	}
	auth.PerUser = false // the operator's own login reads the list of tools
	in := struct {
		URL  string  `json:"url"`
		Auth Request `json:"authentication"`
	}{server, auth}
	var begun login.ServerLoginState
	if err := c.Post(ctx, "/v1/mcp/logins", in, &begun); err != nil {
		return "", err
	}
	ShowLogin(ctx, cli, begun.AuthorizationURL, begun.RedirectURL, begun.Registered, !f.NoBrowser)
	cli.Say("  Waiting … (Ctrl-C stops waiting)")
	tick := time.NewTicker(Poll)
	defer tick.Stop()
	for {
		var now login.ServerLoginState
		if err := c.Get(ctx, "/v1/mcp/logins/"+url.PathEscape(begun.ID), &now); err != nil {
			return "", err
		}
		switch now.State {
		case "done":
			cli.Say("✓ logged in")
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

// ShowLogin shows the page of a login, and opens it where there is a person at a
// browser.
func ShowLogin(ctx context.Context, cli *command.Session, page, redirect string, registered, browser bool) {
	cli.Say("Open this page to log in; the login ends in the browser in which you go on from it:\n\n  %s\n", page)
	if registered {
		cli.Say("  A client was registered at the authorization server; it comes back to %s", redirect)
	} else {
		cli.Say("  The client at the authorization server must allow the redirect %s", redirect)
	}
	if browser && !cli.NoInput && terminal.IsTerminal(cli.In) {
		if err := openBrowser(ctx, page); err != nil {
			cli.Say("  No browser could be opened here.")
		}
	}
}

// openBrowser shows a page in the browser of the person at this machine.
func openBrowser(ctx context.Context, page string) error {
	u, err := url.Parse(page)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return errors.New("not a web page")
	}
	name, args := "xdg-open", []string{page}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", page}
	}
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // a fixed program; the page is an argument
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("opening a browser: %w", err)
	}
	go func() { _ = cmd.Wait() }() // the browser's own end says nothing
	return nil
}
