package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/toolset/grant"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/clientcmd"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/datadir"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/node"
	"github.com/sluicegate/sluice/cmd/internal/specification"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/cmd/sluice/demo"
	"github.com/sluicegate/sluice/internal/clientconfig"
	"github.com/sluicegate/sluice/internal/problem"
)

func (a *app) runCommand() *cobra.Command {
	var f nodeFlags
	var add addFlags
	var demonstration bool
	cmd := &cobra.Command{
		Use:   "run [SPEC|URL …]",
		Short: "Run gateway, admin API and registry in one process",
		Long: `Run everything in one process: the gateway on 127.0.0.1:7300, the admin API on
127.0.0.1:7301, the registry behind it, all state in ./sluice-data. Specifications
and MCP servers on the command line become toolsets; private addresses named here are granted for
exactly that host and port.

Where nothing of a specification can be tested, its toolset is deployed all the same,
with that reason in the audit log.`,
		Example: "  sluice run --demo\n  sluice run petstore.yaml\n  sluice run https://example.com/openapi.json --auth header:X-Api-Key --api-key-file key.txt",
		RunE: func(cmd *cobra.Command, args []string) error {
			if i := slices.IndexFunc(args, isNetworks); i >= 0 {
				return exit.Usagef("%s is no specification%s", terminal.Printable(args[i]), command.Loose(cmd, args[i:]))
			}
			if len(args) > 1 && (add.name != "" || add.slug != "" || add.baseURL != "") {
				return exit.Usagef("--name, --slug and --base-url need exactly one specification")
			}
			o, err := f.options(a, "warn")
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("allow-commands") && f.onLoopback(o) {
				o.Admin.Commands = true
			}
			r := &runner{app: a, add: &add, sources: args, demo: demonstration}
			return r.run(cmd.Context(), o)
		},
	}
	f.register(cmd)
	a.SpecLimitFlag(cmd)
	add.register(cmd)
	cmd.Flags().BoolVar(&demonstration, "demo", false, "serve a bundled demonstration API, offline")
	return cmd
}

// printedToolsets is how many toolsets a start lists: a screen full.
const printedToolsets = 20

// runner is one "sluice run".
type runner struct {
	*app
	add     *addFlags
	sources []string
	demo    bool
	node    *node.Node
	added   atomic.Bool // the specifications of the command line
}

func (r *runner) run(ctx context.Context, o node.Options) error {
	r.Streams()
	r.Say("sluice %s   data in %s", versionOrDevel(), o.Data)
	o.Gateway.Ready = func() error {
		if r.added.Load() {
			return nil
		}
		return problem.New(problem.Unavailable, "the specifications of the command line are still being added")
	}
	n, err := node.New(ctx, o)
	if err != nil {
		return err
	}
	r.node = n
	// What is left to do when the node stops early is given up.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served := make(chan error, 1)
	go func() {
		served <- n.Run(ctx)
		cancel()
	}()
	err = r.start(ctx)
	r.added.Store(true)
	if err != nil && ctx.Err() == nil {
		cancel()
		return errors.Join(err, <-served)
	}
	err = <-served
	if errors.Is(context.Cause(ctx), exit.ErrInterrupted) {
		r.Say("Stopped.")
	}
	return err
}

// start adds what the command line names and says where everything is.
func (r *runner) start(ctx context.Context) error {
	hc, err := r.HTTPClient()
	if err != nil {
		return err
	}
	if pin := r.node.AdminPin(); pin != "" {
		client.Pin(hc, pin)
	}
	o := r.ClientOptions(max(r.Flags.Timeout, 2*time.Minute))
	o.Base, o.Token, o.HTTP = r.node.AdminURL(), r.node.Token(), hc
	c := client.New(o)
	live := 0
	if r.demo {
		if err := r.addDemo(ctx, c); err != nil {
			return err
		}
		live++
	}
	for _, s := range r.sources {
		if err := r.addSource(ctx, c, s); err != nil {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // the end is told by what ended it
			}
			exit.WriteError(r.Err, err)
			continue
		}
		live++
	}
	if len(r.sources) == 0 && !r.demo {
		r.printToolsets(ctx, c)
	}
	if len(r.sources) > 0 && live == 0 {
		r.Say("! nothing was added; correct it, then: sluice add %s", clientconfig.ShellWord(r.sources[0]))
	}
	r.Say("  Admin API     %s/v1   token in %s", r.node.AdminURL(), datadir.Path(r.DataDir(), datadir.Token))
	if page := r.node.RequestsURL(); page != "" {
		r.Say("  Requests      %s", page)
	}
	login, err := r.node.FirstLogin(ctx)
	switch {
	case err != nil:
		exit.WriteError(r.Err, err)
	case login != "":
		r.Say("  Console       %s   (opens once, within ten minutes)", login)
	}
	r.Say("Ctrl-C to stop")
	return nil
}

// untested is the reason in the audit log when nothing of a specification on the
// command line could be tested.
const untested = "sluice run: nothing of the specification can be tested"

func (r *runner) addSource(ctx context.Context, c *client.Client, source string) error {
	if r.add.mcp || looksLikeMCP(source) {
		return r.addServer(ctx, c, source)
	}
	spec, err := r.openForNode(ctx, source, r.add)
	if err != nil {
		return err
	}
	err = r.addSpecification(ctx, c, spec, r.add)
	if r.mayBeServer(ctx, c, source, spec, r.add, err) {
		return r.addServer(ctx, c, source)
	}
	return err
}

// addServer makes a toolset of an MCP server, as sluice add does.
func (r *runner) addServer(ctx context.Context, c *client.Client, source string) error {
	f := *r.add
	f.mcp = true
	spec, err := r.openServer(ctx, c, source, &f)
	if err != nil {
		return err
	}
	return r.addSpecification(ctx, c, spec, &f)
}

func (r *runner) addSpecification(ctx context.Context, c *client.Client, spec specification.Document, f *addFlags) error {
	in, err := r.newToolset(ctx, spec, f)
	if err != nil {
		return err
	}
	in.Deploy = &change.CreateDeploy{UntestedReason: untested}
	made, err := r.create(ctx, c, spec, in)
	if err != nil {
		return err
	}
	return r.Object(made, func(w io.Writer) { r.printLive(w, made) })
}

// addDemo serves the demonstration API in this process and adds it the way every
// specification is added.
func (r *runner) addDemo(ctx context.Context, c *client.Client) error {
	s, err := demo.New(demo.Options{})
	if err != nil {
		return err
	}
	base, _, err := s.Listen(ctx)
	if err != nil {
		return err
	}
	spec := specification.Document{Name: base + "/openapi.json", URL: base + "/openapi.json"}
	if err := spec.Fetch(ctx, &r.Session); err != nil {
		return err
	}
	// As a document and not as a URL: the port differs at each start, and the
	// toolset is to be the same.
	spec.URL, spec.Name = "", "openapi.json"
	f := addFlags{slug: "demo", baseURL: base, profile: "concise"}
	if err := r.addSpecification(ctx, c, spec, &f); err != nil {
		return err
	}
	return r.grantWhileRunning(ctx, c, f.slug, strings.TrimPrefix(base, "http://"))
}

// grantWhileRunning keeps no grant of the demonstration, which has another port at each
// start: somebody else may listen there later. This process alone may call it.
func (r *runner) grantWhileRunning(ctx context.Context, c *client.Client, toolset, address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("reading the address of the demonstration: %w", err)
	}
	var out grant.Grants
	if err := c.Get(ctx, "/v1/grants?toolset="+url.QueryEscape(toolset), &out); err != nil {
		return err
	}
	for _, g := range out.Items {
		if err := c.Delete(ctx, "/v1/grants/"+url.PathEscape(g.ID), nil); err != nil {
			return err
		}
		if err := r.node.Grant(g.Toolset, at); err != nil {
			return err
		}
	}
	return nil
}

// printLive is printMade with the lines that are pasted next.
func (r *runner) printLive(w io.Writer, t *change.CreatedToolset) {
	r.printMade(w, t)
	if t.Status == "live" {
		clientcmd.UseFrom(w, t)
	}
}

// printToolsets lists what a node without sources serves, or what to try.
// printToolsets lists the toolsets of the node, once it serves them: what it
// prints is true then, and printing does not delay serving.
func (r *runner) printToolsets(ctx context.Context, c *client.Client) {
	if err := r.node.AwaitRelease(ctx); err != nil {
		return // the node is stopping
	}
	var page admin.List[view.Toolset]
	if err := c.Get(ctx, fmt.Sprintf("/v1/toolsets?limit=%d", printedToolsets), &page); err != nil {
		return // the node is stopping, or its log says why
	}
	for i := range page.Items {
		t := &page.Items[i]
		state := t.Status
		if state == "live" && !t.Changed && (t.Test == nil || !t.Test.Passed) {
			state = "untested" // it is served as it is: deployed with a reason, or its last test failed
		}
		r.Say("  %-10s %s   %s   %s", state, t.Slug, terminal.Plural(t.EnabledTools, "tool"), t.URL)
	}
	if page.NextCursor != "" {
		r.Say("  …          all of them: sluice toolset list")
	}
	if len(page.Items) > 0 {
		return
	}
	r.Say("Nothing is served yet. Try one of:")
	r.Say("  sluice run --demo")
	r.Say("  sluice add petstore.yaml")
	r.Say("  sluice add https://example.com/openapi.json")
}
