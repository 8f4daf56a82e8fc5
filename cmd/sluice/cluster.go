package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/node"
	"github.com/sluicegate/sluice/cmd/internal/systemd"
	"github.com/sluicegate/sluice/internal/problem"
)

// clusterFlags make a control plane one of several on a database.
type clusterFlags struct {
	on        bool
	advertise string
}

func (f *clusterFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVar(&f.on, "cluster", false, "role control: share the database with other control planes; one of them leads, the others pass requests on to it and take over when it ends")
	fs.StringVar(&f.advertise, "advertise", "", "cluster: URL at which the other control planes reach this one (default: where the admin API listens)")
}

// options completes the options of a node.
func (f *clusterFlags) options(ctx context.Context, a *app, o *node.Options, elsewhere bool) error {
	f.on, f.advertise = f.on || a.Config.Cluster, cmp.Or(f.advertise, a.Config.Advertise)
	if !f.on {
		if f.advertise != "" {
			return exit.Usagef("--advertise belongs to --cluster")
		}
		return nil
	}
	if o.Role != node.RoleControl || o.Records.Database.IsZero() {
		return exit.Usagef("--cluster belongs to --role control with --database or SLUICE_DATABASE")
	}
	if !elsewhere {
		return exit.Usagef("--cluster needs --registry: all control planes must reach the artifacts, and those of a data directory are of one")
	}
	c := &node.ClusterOptions{Advertise: f.advertise}
	c.Follows = func(of error) {
		o.Logger.LogAttrs(ctx, slog.LevelInfo, "following", slog.String("leader", detail(of)))
		a.notify(ctx, o.Logger, systemd.Ready, systemd.Status("follows: another control plane leads"))
	}
	hc, err := a.HTTPClient()
	if err != nil {
		return err
	}
	if t, ok := hc.Transport.(*http.Transport); ok && t.TLSClientConfig != nil {
		c.Roots = t.TLSClientConfig.RootCAs
	}
	o.Records.Cluster = c
	return nil
}

// detail is what an error says, without what to do about it.
func detail(err error) string {
	if p := problem.As(err); p != nil {
		return p.Detail
	}
	return err.Error()
}

// serveNode runs a node with roles all or control. A control plane that another one took
// over from follows that one.
func (a *app) serveNode(ctx context.Context, o node.Options) error {
	for {
		err := a.serveOnce(ctx, o)
		if ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
			return nil // the end while it followed
		}
		if o.Records.Cluster == nil || ctx.Err() != nil || !errors.Is(err, node.ErrReplaced) {
			return err
		}
		o.Logger.LogAttrs(ctx, slog.LevelWarn, "another control plane has taken over: this one follows it")
	}
}

func (a *app) serveOnce(ctx context.Context, o node.Options) error {
	if c := o.Records.Cluster; c != nil { // each node completes options of its own
		own := *c
		o.Records.Cluster = &own
	}
	n, err := node.New(ctx, o)
	if err != nil {
		return err
	}
	o.Logger.LogAttrs(ctx, slog.LevelInfo, "sluice serves", slog.String("role", string(o.Role)), slog.String("gateway", n.URL()),
		slog.String("admin", n.AdminURL()), slog.String("version", versionOrDevel()))
	login, err := n.FirstLogin(ctx)
	switch {
	case err != nil:
		o.Logger.LogAttrs(ctx, slog.LevelWarn, "no login link was made; make one with: sluice session link", slog.Any("error", err))
	case login != "":
		o.Logger.LogAttrs(ctx, slog.LevelInfo, "nobody can sign in to the console yet: open this link, once and within ten minutes; make another with: sluice session link",
			slog.String("link", login))
	}
	return a.serve(ctx, n, o.Logger)
}
