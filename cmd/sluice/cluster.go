package main

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/node"
	"github.com/sluicegate/sluice/cmd/internal/systemd"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/retry"
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
	var err error
	if c.Roots, err = a.roots(); err != nil {
		return err
	}
	o.Records.Cluster = c
	return nil
}

// roots are the authorities of the machine and that of --ca or SLUICE_CA; nil: those of the
// machine alone.
func (a *app) roots() (*x509.CertPool, error) {
	hc, err := a.HTTPClient()
	if err != nil {
		return nil, err
	}
	if t, ok := hc.Transport.(*http.Transport); ok && t.TLSClientConfig != nil {
		return t.TLSClientConfig.RootCAs, nil
	}
	return nil, nil //nolint:nilnil // the default
}

// detail is what an error says, without what to do about it.
func detail(err error) string {
	if p := problem.As(err); p != nil {
		return p.Detail
	}
	return err.Error()
}

// rejoinPause is before a member whose database was away begins again.
const rejoinPause = time.Second

// serveNode runs a node with roles all or control. A member of a cluster that another one
// took over from follows that one; one that had joined before waits for a database that is
// away.
func (a *app) serveNode(ctx context.Context, o node.Options) error {
	joined := false
	for {
		err := a.serveOnce(ctx, o, &joined)
		switch {
		case ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))):
			return nil // the end while it followed
		case o.Records.Cluster == nil || ctx.Err() != nil:
			return err
		case errors.Is(err, node.ErrReplaced):
			o.Logger.LogAttrs(ctx, slog.LevelWarn, "another control plane has taken over; this one is a standby now")
			continue
		case !joined || err == nil || problem.Is(err, problem.Conflict) || problem.Is(err, problem.InvalidArgument):
			return err
		}
		o.Logger.LogAttrs(ctx, slog.LevelWarn, "this control plane is out of the cluster: it joins again", slog.Any("error", err))
		if err := retry.Sleep(ctx, rejoinPause); err != nil {
			return nil //nolint:nilerr // the end while it waited
		}
	}
}

func (a *app) serveOnce(ctx context.Context, o node.Options, joined *bool) error {
	if c := o.Records.Cluster; c != nil { // each node completes options of its own
		own := *c
		own.Follows = func(of error) {
			*joined = true
			c.Follows(of)
		}
		o.Records.Cluster = &own
	}
	n, err := node.New(ctx, o)
	if err != nil {
		return err
	}
	*joined = true
	o.Logger.LogAttrs(ctx, slog.LevelInfo, "sluice serves", slog.String("role", string(o.Role)), slog.String("gateway", n.URL()),
		slog.String("admin", n.AdminURL()), slog.String("version", versionOrDevel()))
	login, err := n.FirstLogin(ctx)
	switch {
	case err != nil:
		o.Logger.LogAttrs(ctx, slog.LevelWarn, "no login link was made; make one with: sluice session link", slog.Any("error", err))
	case login != "":
		o.Logger.LogAttrs(ctx, slog.LevelInfo, "the console has no login yet: open this link within ten minutes (it works once); make another with: sluice session link",
			slog.String("link", login))
	}
	return a.serve(ctx, n, o.Logger)
}

// serve runs a node, whose listeners are open, and says so to the service manager that
// started it.
func (a *app) serve(ctx context.Context, n *node.Node, l *slog.Logger) error {
	a.notify(ctx, l, systemd.Ready, systemd.Status("serves"))
	told := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(told)
		a.notify(ctx, l, systemd.Stopping, systemd.Status("finishes the calls that run"))
	})
	defer func() {
		if !stop() {
			<-told // a node without calls has ended by now
		}
	}()
	return n.Run(ctx)
}

// notify tells the service manager how far the node is.
func (a *app) notify(ctx context.Context, l *slog.Logger, states ...string) {
	if err := systemd.Notify(a.Env.NotifySocket, states...); err != nil {
		l.LogAttrs(ctx, slog.LevelWarn, "the service manager does not know how far this node is", slog.Any("error", err))
	}
}
