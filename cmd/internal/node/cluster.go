package node

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/store/cluster"
	"github.com/sluicegate/sluice/cmd/internal/datadir"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// repinTime bounds telling the other control planes of a new certificate.
const repinTime = 10 * time.Second

// ErrReplaced is in the error of [Node.Run] of a control plane whose database another one has
// taken over. A new node with the same options follows that one.
var ErrReplaced = problem.New(problem.Conflict, "another control plane has taken over the database").
	Fix("start this one again: with --cluster it follows the other")

// ClusterOptions make a control plane one of several on a PostgreSQL database.
type ClusterOptions struct {
	// Advertise is the URL at which the others reach the admin API of this one. Default:
	// where it listens, which must not be all interfaces then.
	Advertise string
	// Roots verify the certificate of a leader whose TLS another program speaks. Default:
	// those of the system.
	Roots *x509.CertPool
	// Follows is called when another control plane has the database, with an error that
	// names it. Default: nobody is told.
	Follows func(of error)
}

// join listens and waits until this control plane leads. Meanwhile its requests are passed
// on to the one that does.
func (c *control) join(ctx context.Context) error {
	if err := c.listen(ctx); err != nil {
		return err
	}
	if err := c.advertise(); err != nil {
		return err
	}
	keys, missing, err := readKeys(c.o.Records.Keys, c.path)
	if err != nil {
		return err
	}
	if len(missing) > 0 { // it may be the first, which makes them
		if err = c.openStore(ctx); problem.Is(err, problem.Conflict) {
			return problem.New(problem.Conflict, "%s, and this node has no keys to follow it with", problem.As(err).Detail).At(missing[0], 0, 0, "").
				Fix("%s", c.keysRemedy("HOST"))
		}
		return err
	}
	wait, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if err := c.openFront(ctx, keys, stop); err != nil {
		return err
	}
	if err := c.writeEndpoint(); err != nil {
		return err
	}
	err = c.openStore(wait)
	if cause := context.Cause(wait); err != nil && problem.Is(cause, problem.Conflict) {
		return cause
	}
	return err
}

// advertise completes where the others reach this node.
func (c *control) advertise() error {
	o := c.o.Records.Cluster
	if o.Advertise == "" {
		if o.Advertise = c.url(); !strings.HasSuffix(o.Advertise, "//"+c.ln.Addr().String()) {
			return problem.New(problem.InvalidArgument, "the admin API listens on %s, which is not an address for the other control planes", c.o.Admin.Listen).
				Fix("say with --advertise where they reach this one, such as https://one.example:7301")
		}
	}
	u, err := cluster.ParseURL(o.Advertise, !c.o.Proxies.Empty())
	if err != nil {
		return err
	}
	c.o.Admin.Hosts = append(c.o.Admin.Hosts, u.Hostname())
	return nil
}

// openFront begins to serve: requests go to the leader. failed is told when this node cannot
// follow.
func (c *control) openFront(ctx context.Context, keys nodeKeys, failed func(error)) error {
	records, err := store.OpenCluster(c.o.Records.Database.Reveal())
	if err != nil {
		return err
	}
	c.onClose(records.Close)
	c.front, err = cluster.New(cluster.Options{
		URL: c.o.Records.Cluster.Advertise, Version: c.o.Version, Records: records, Keyring: keys.ring, Pin: c.AdminPin, Hosts: c.hosts(), Proxies: c.o.Proxies,
		Keys: map[string][]string{registry.UseRelease: keys.release.IDs(), registry.UseWorkspace: keys.workspace.IDs()},
		Reload: func() (*secrets.Keyring, error) {
			return c.o.Records.Keys.Open(c.path(datadir.MasterKey), c.path(datadir.WrappedKey))
		}, Remedy: c.keysRemedy,
		Roots: c.o.Records.Cluster.Roots, Plain: !c.o.Proxies.Empty(), Guard: c.guarded(), Metrics: func(w io.Writer) { c.writeProcessMetrics(w) }, Logger: c.o.Logger,
	})
	if err != nil {
		return err
	}
	if err := c.front.Check(ctx); err != nil {
		return err
	}
	member, end := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() {
		if err := c.front.Run(member); err != nil {
			failed(err)
		}
	})
	for _, s := range c.follows { // it may be long until Run
		running.Go(func() { _ = s.Run(member) }) // it ends with its context only
	}
	c.follows = nil
	c.onClose(func() error { end(); running.Wait(); return nil })

	c.http, c.served = c.newServer(c.front, adminHeadBytes), make(chan error, 1)
	go func() { c.served <- c.http.Serve(c.ln) }()
	c.onClose(func() error { return c.stopServing(context.WithoutCancel(ctx)) })
	return nil
}

// keysRemedy says how the keys of the control plane at a host get here.
func (c *control) keysRemedy(host string) string {
	if dir := c.o.Records.SharedKeys; dir != "" {
		return "put the keys of that control plane into " + dir + ", the folder of --shared-keys, and start this one again"
	}
	here := c.path("keys")
	if host == "127.0.0.1" || host == "localhost" {
		return "copy the folder keys of its data directory DIR here, and start this one again: cp -p DIR/keys/* " + here + "/"
	}
	return "copy the folder keys of its data directory here, and start this one again: scp -p '" + host + ":" + here + "/*' " + here + "/   (if it has its data directory at the same place)"
}

// stopServing ends what serves the admin API of a member; what runs gets a while.
func (c *control) stopServing(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.o.Grace)
	defer cancel()
	c.front.End()
	if err := c.http.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("stopping the admin API: %w", err), c.http.Close())
	}
	return nil
}

// lead hands the requests of a member to its own admin API until ctx ends.
func (c *control) lead(ctx context.Context) error {
	if err := c.front.Lead(ctx, c.store, c.admin.Handler()); err != nil {
		return ended(ctx, err)
	}
	select {
	case err := <-c.served:
		if !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serving the admin API: %w", err)
		}
		return nil
	case <-ctx.Done():
		return c.stopServing(context.WithoutCancel(ctx))
	}
}

// repin tells the other control planes of a new certificate.
func (c *control) repin() error {
	if c.front == nil || c.store == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), repinTime)
	defer cancel()
	return c.front.Repin(ctx, c.store)
}

// tellRotated tells the other control planes that they need another key.
func (c *control) tellRotated(ctx context.Context) {
	if err := c.repin(); err != nil {
		c.o.Logger.LogAttrs(ctx, slog.LevelWarn, "the other control planes were not told that the key-encryption key was rotated: copy the folder keys to them", slog.Any("error", err))
	}
}

// awaitSuccessor ends a node of which another one has taken over, so that it starts again
// following, and with the releases that the other published.
func (c *control) awaitSuccessor(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-c.store.Moved():
		return ErrReplaced
	}
}
