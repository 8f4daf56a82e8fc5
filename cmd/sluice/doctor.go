package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft/binding"
	"github.com/sluicegate/sluice/admin/store/cluster"
	"github.com/sluicegate/sluice/cmd/internal/callcmd"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/datadir"
	"github.com/sluicegate/sluice/cmd/internal/describe"
	"github.com/sluicegate/sluice/cmd/internal/fleetcmd"
	"github.com/sluicegate/sluice/cmd/internal/streamable"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/cmd/internal/upstreamauth"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safehttp"
)

// doctorCommand checks a node. tree makes the commands of a program.
func (a *app) doctorCommand(tree func(*app) *cobra.Command) *cobra.Command {
	var live bool
	cmd := &cobra.Command{
		Use:   "doctor [TOOLSET|URL|DIR]",
		Short: "Diagnose the node or one toolset",
		Long: `Check the node: data directory, key files, admin API, readiness, clock. With a
toolset or URL: its URL in both protocol eras, its tools against the limits of
clients, its last test. With a data directory (a path): its key files, records,
contents, releases, disk and clock, whether a node runs on it or not. --live only asks whether the process is alive, for the
health check of a container. Exit code 1 when a check fails.`,
		Example: "  sluice doctor\n  sluice doctor petstore\n  sluice doctor /var/lib/sluice\n  sluice doctor --live",
		Args:    command.Between(0, 1, "at most one toolset, URL or directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), a.Flags.Timeout)
			defer cancel()
			if live {
				return a.live(ctx, tree)
			}
			d := &doctor{app: a}
			switch {
			case len(args) == 0:
				d.node(ctx)
			case command.IsURL(args[0]):
				d.url(ctx, args[0], "")
			case isDirectory(args[0]):
				d.data(cmd.Context(), args[0])
			default:
				d.toolset(ctx, args[0])
			}
			return d.report()
		},
	}
	cmd.Flags().BoolVar(&live, "live", false, "only ask whether the process is alive")
	return cmd
}

// node checks the node of the data directory, or the server that was named.
func (d *doctor) node(ctx context.Context) {
	if d.Flags.Server == "" && d.Env.Server == "" {
		if dir := d.DataDir(); isEdge(dir) {
			d.fail("data directory", dir+" is that of an edge, which has no admin API",
				"check the directory with: sluice doctor "+filepath.Clean(dir)+string(filepath.Separator)+"   and ask /readyz?verbose on the --ops-listen of the edge, or its control plane: sluice edge list")
			return
		}
		d.dataFiles()
	}
	c := d.Client()
	if err := c.Connect(); err != nil {
		d.failErr("admin API", err)
		return
	}
	status, body, err := get(ctx, c.HTTP, c.Base+"/readyz?verbose")
	if err != nil {
		d.failErr("admin API", err)
		return
	}
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		if rest, failed := strings.CutPrefix(line, "[-]"); failed {
			name, why := checkOf(rest)
			d.fail(name, cmp.Or(why, "not ready"), "look at the log of the node")
		}
		if rest, lacks := strings.CutPrefix(line, "[!]"); lacks {
			name, why := checkOf(rest)
			if name == "certificates" { // the node is ready, and clients do not come
				d.fail(name, why, "")
				continue
			}
			d.warn(name, why, map[string]string{
				"keys":       "until then this control plane passes requests on, and cannot take over",
				"publishing": "until then nothing is published, and calls go on",
			}[name])
		}
	}
	if status == http.StatusOK {
		d.ok("ready", "%s is alive and ready", c.Base)
	}
	var me admin.Me
	before := time.Now()
	if err := c.Get(ctx, "/v1/me", &me); err != nil {
		d.failErr("token", err)
		return
	}
	d.ok("token", "%s, role %s, server %s", me.Name, me.Role, me.Version)
	d.public(ctx, c)
	d.cluster(ctx, c)
	if me.Version != versionOrDevel() {
		d.warn("version", fmt.Sprintf("this program is %s, the server %s", versionOrDevel(), me.Version), "use the same version for both")
	}
	d.clock(ctx, c, before)
	items, _, err := client.All[view.Toolset](ctx, c, "/v1/toolsets")
	if err != nil {
		d.failErr("toolsets", err)
		return
	}
	if len(items) == 0 {
		d.warn("toolsets", "there are none", "make one: sluice add SPEC")
	}
	for _, t := range items {
		if t.Revision > 0 {
			d.url(ctx, t.URL, t.Slug)
		} else {
			d.warn(t.Slug, "is a draft", "sluice toolset test "+t.Slug)
		}
	}
}

// checkOf splits a line of readiness into the name of the check and what it says.
func checkOf(line string) (name, why string) {
	for _, name := range []string{"data directory", "open files", "shared state"} { // others are one word
		if why, ok := strings.CutPrefix(line, name+" "); ok {
			return name, why
		}
	}
	name, why, _ = strings.Cut(line, " ")
	return name, why
}

// dataFiles checks the files that hold secrets.
func (d *doctor) dataFiles() {
	dir := d.DataDir()
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return // what follows says that no node has run
	}
	const others = 0o077
	names := []string{datadir.Token, datadir.ReleaseKey, datadir.WorkspaceKey}
	// The key-encryption key is in the environment, wrapped by a command, or in a file.
	if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(datadir.WrappedKey))); err == nil {
		names = append(names, datadir.WrappedKey)
	} else if d.Env.MasterKey.IsZero() {
		names = append(names, datadir.MasterKey)
	}
	for _, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrPermission):
			d.unreadable("data directory", path)
		case err != nil:
			d.fail("data directory", path+" is missing", "restore it from a backup; a new one cannot open what the old one sealed")
		case info.Mode().Perm()&others != 0:
			d.fail("data directory", fmt.Sprintf("%s can be read by others (mode %04o)", path, info.Mode().Perm()), "chmod 600 "+path)
		}
	}
	if len(d.findings) == 0 {
		d.ok("data directory", "%s, key files readable by their owner only", dir)
	}
}

// clock compares this machine's clock with the server's.
func (d *doctor) clock(ctx context.Context, c *client.Client, now time.Time) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Base+"/livez", http.NoBody)
	if err != nil {
		return
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return // the API answered a moment ago
	}
	defer resp.Body.Close()
	theirs, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return
	}
	const tolerable = 30 * time.Second // tokens and releases have times in them
	if off := theirs.Sub(now).Abs(); off > tolerable {
		d.fail("clock", fmt.Sprintf("this machine and the server differ by %s", off.Round(time.Second)), "set the clocks, for example with NTP")
	}
}

// toolset checks one toolset of the node.
func (d *doctor) toolset(ctx context.Context, name string) {
	c := d.Client()
	if err := c.Connect(); err != nil {
		d.failErr("admin API", err)
		return
	}
	t, _, err := c.Toolset(ctx, name)
	if err != nil {
		d.failErr(name, err)
		return
	}
	if t.Revision == 0 {
		d.fail(t.Slug, "is a draft: its URL does not answer", "sluice toolset test "+t.Slug)
	} else {
		d.url(ctx, t.URL, t.Slug)
	}
	if t.Changed && t.Revision > 0 {
		d.warn("draft", "differs from the live revision", "sluice toolset test "+t.Slug)
	}
	if t.Authentication == nil && len(t.Methods) > 0 {
		d.warn("authentication", "the specification asks for "+describe.Methods(t.Methods)+", none is set", setAuthentication(&t.Toolset))
	}
	d.bindings(ctx, c, t)
	switch {
	case t.Test == nil:
	case t.Test.Passed:
		d.ok("test", "%s answered %d", t.Test.Tool, t.Test.UpstreamStatus)
	case t.Test.Possible:
		remedy := "sluice toolset test " + t.Slug + " " + t.Test.Tool + " --show"
		if t.Test.UpstreamStatus == http.StatusUnauthorized || t.Test.UpstreamStatus == http.StatusForbidden {
			remedy = cmp.Or(mend(ctx, c, t, t.Test.Tool), setAuthentication(&t.Toolset))
		}
		d.fail("test", t.Test.Tool+": "+t.Test.Reason, remedy)
	}
}

// setAuthentication is the command that sets what the specification asks for.
func setAuthentication(t *view.Toolset) string {
	return cmp.Or(upstreamauth.Command(t), "sluice toolset auth "+t.Slug+" set --auth header:NAME --api-key-file FILE")
}

// bindings warns of plugins that let through what they were to take out.
func (d *doctor) bindings(ctx context.Context, c *client.Client, t *view.ToolsetDetail) {
	var bound binding.ToolsetPlugins
	if err := c.Get(ctx, client.ToolsetPath(t, "plugins"), &bound); err != nil {
		d.failErr("plugins", err)
		return
	}
	for i := range bound.Bindings {
		b := &bound.Bindings[i]
		if b.Warning != "" {
			d.warn("plugin "+b.Plugin, b.Warning, "sluice plugin bind "+t.Slug+" "+b.Plugin+" --on-error fail")
		}
		for _, l := range b.LeftOut {
			d.warn("plugin "+b.Plugin, fmt.Sprintf("binding %d of %s: %s", i+1, t.Slug, describe.LeftOut(&l)), "sluice plugin bindings "+t.Slug)
		}
	}
}

// url checks a toolset URL in both eras of the protocol.
func (d *doctor) url(ctx context.Context, target, slug string) {
	name := cmp.Or(slug, safehttp.Redact(target))
	start := time.Now()
	m, err := callcmd.Dial(ctx, &d.Session, streamable.Options{URL: target})
	took := time.Since(start)
	if status, ok := errors.AsType[*streamable.StatusError](err); ok && status.Status == http.StatusUnauthorized && d.Env.Access.IsZero() {
		d.warn(name, "it needs an access token, so it was not looked at", "set SLUICE_ACCESS_TOKEN to one of its tokens")
		return
	}
	if err != nil {
		d.failErr(name, err)
		return
	}
	defer m.Close()
	spoken := "initialize " + m.Protocol()
	if m.Protocol() >= streamable.Modern {
		spoken = "server/discover " + m.Protocol()
		if old, err := callcmd.Dial(ctx, &d.Session, streamable.Options{URL: target, Protocol: streamable.Legacy}); err == nil {
			spoken += ", initialize " + old.Protocol()
			old.Close()
		}
	}
	d.ok(name, "answers in %s (%s)", terminal.ShortDuration(took), spoken)
	if m.Protocol() < streamable.Modern {
		d.warn(name, "does not speak MCP "+streamable.Modern, "newer clients fall back to initialize")
	}
	tools, err := m.Tools(ctx)
	if err != nil {
		d.failErr(name, err)
		return
	}
	d.clients(name, slug, tools)
}

// clients checks tools against the limits of known clients.
func (d *doctor) clients(name, slug string, tools []*mcp.Tool) {
	const cursorShows, requestTakes = 40, 128
	remedy := ""
	if slug != "" {
		remedy = "turn some off: sluice toolset tools " + slug + " disable GLOB…"
	}
	switch n := len(tools); {
	case n == 0:
		d.fail(name, "lists no tools", remedy)
	case n > requestTakes:
		d.warn(name, terminal.Plural(n, "tool")+": VS Code and the OpenAI API take 128 at most", remedy)
	case n > cursorShows:
		d.warn(name, terminal.Plural(n, "tool")+": Cursor shows about 40", remedy)
	default:
		d.ok(name, "%s", terminal.Plural(n, "tool"))
	}
	// Clients put the server's name before the tool's and refuse more than 64.
	const mostName = 64
	for _, t := range tools {
		if len("mcp__"+slug+"__"+t.Name) > mostName {
			d.warn(name, fmt.Sprintf("the name of tool %s is too long together with the server's for some clients", t.Name), "shorten it: sluice toolset tools "+slug+" rename "+t.Name+" NEW")
		}
	}
}

// public names the toolsets that everybody who reaches the gateway may call.
func (d *doctor) public(ctx context.Context, c *client.Client) {
	list, _, err := client.All[view.Toolset](ctx, c, "/v1/toolsets")
	if err != nil {
		d.failErr("access", err)
		return
	}
	var open []string
	for i := range list {
		if list[i].Access.Public {
			open = append(open, list[i].Slug)
		}
	}
	if len(open) == 0 {
		return
	}
	shown := strings.Join(open[:min(len(open), describe.MaxListed)], ", ")
	if n := len(open) - describe.MaxListed; n > 0 {
		shown += fmt.Sprintf(" and %d more", n)
	}
	d.warn("access", terminal.Plural(len(open), "toolset")+" open to everybody who reaches the gateway: "+shown, "close what is not meant to be public: sluice toolset access TOOLSET set token")
}

// cluster says which control planes share the database.
func (d *doctor) cluster(ctx context.Context, c *client.Client) {
	list, _, err := client.All[cluster.ControlPlane](ctx, c, fleetcmd.ControlPlanes)
	if problem.Is(err, problem.Forbidden) || err == nil && len(list) == 0 {
		return // a token of another workspace; or there is one for itself
	}
	if err != nil {
		d.failErr("cluster", err)
		return
	}
	leader, others := "", 0
	for i := range list {
		switch p := &list[i]; p.State {
		case cluster.Leads:
			leader = p.Name
		case cluster.Follows:
			others++
		default:
			d.warn("cluster", terminal.Printable(p.Name)+" has not been seen for "+terminal.ShortDuration(time.Since(p.Seen)), "look at its log, or wait an hour: it is off the list then")
		}
	}
	if others == 0 {
		d.warn("cluster", terminal.Printable(leader)+" leads, and no other control plane follows", "start another one with --cluster: it takes over when this one ends")
		return
	}
	d.ok("cluster", "%s leads, %s", terminal.Printable(leader), terminal.Plural(others, "other")+" can take over")
}
