package node

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/tlsfiles"
)

// RequestsOptions are about the public page of connector requests, which has a listener of its
// own.
type RequestsOptions struct {
	Listen string         // Default: there is no such page
	URL    string         // where people reach it, scheme and host. Default: where it listens, on loopback
	TLS    tlsfiles.Files // needed when it does not listen on loopback and no proxy is in front
}

// requestsTime is how long a form may take to arrive, and its answer to leave; sending a mail is
// within it.
const requestsTime = time.Minute

// openRequests opens the public page of connector requests, if there is one.
func (c *control) openRequests(ctx context.Context) error {
	o := c.o.Requests
	if o.Listen == "" {
		return nil
	}
	ln, err := c.listenOn(ctx, "the page of requests", o.Listen, "--requests-listen")
	if err != nil {
		return err
	}
	var speaks *tls.Config
	scheme := "http://"
	if o.TLS != (tlsfiles.Files{}) {
		source, err := c.openTLS("the page of requests", o.TLS, nil)
		if err != nil {
			return err
		}
		speaks, scheme = source.Config(), "https://"
	} else if !access.IsLoopback(ln.Addr()) && c.o.Proxies.Empty() {
		return problem.New(problem.InvalidArgument, "the page of requests would listen on %s without TLS", o.Listen).
			Fix("give --requests-tls-cert and --requests-tls-key, listen on loopback, or name the proxy that speaks TLS for it with --behind-proxy")
	}
	at := o.URL
	if at == "" {
		if !access.IsLoopback(ln.Addr()) {
			return problem.New(problem.InvalidArgument, "the public URL of the page of requests is not known").
				Fix("give --requests-url https://…: the links in its mails begin with it")
		}
		at = scheme + reachable(ln.Addr())
	}
	room, err := c.admin.RequestPage(ctx, at)
	if err != nil {
		return err
	}
	c.dialer.Forbid(ln.Addr())
	c.page, c.pageAt, c.pageLn = c.newServer(room.Handler(), opsHeadBytes), at, strict(ln, opsHeadBytes, speaks)
	c.page.ReadTimeout, c.page.WriteTimeout = requestsTime, requestsTime
	c.o.Logger.LogAttrs(ctx, slog.LevelInfo, "the public page of requests is served", slog.String("address", ln.Addr().String()), slog.String("url", at))
	return nil
}

// requestPage is what serves the public page of connector requests; nil: there is none.
type requestPage struct {
	page   *http.Server
	pageLn net.Listener
	pageAt string // URL
}

// RequestsURL is where people reach the public page of connector requests; "": there is none.
func (n *Node) RequestsURL() string {
	if n.control == nil {
		return ""
	}
	return n.control.pageAt
}
