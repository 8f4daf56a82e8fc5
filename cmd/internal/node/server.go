package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluicegate/sluice/internal/http1"
)

const (
	// adminHeadBytes is the longest header block of the admin API: tokens, and what
	// proxies and browsers add.
	adminHeadBytes = 64 << 10
	// opsHeadBytes is that of the operations listener, which takes no credentials.
	opsHeadBytes = 16 << 10
	// handshakeTime is how long a TLS handshake may take: three round trips of a slow
	// network.
	handshakeTime = 10 * time.Second
	// httpStrangers are connections of one address that have asked for nothing yet.
	httpStrangers = 512
)

// strict is a listener whose requests net/http gets only when they can be read in one
// way, and whose connections are bounded. With secure they speak TLS.
func strict(ln net.Listener, headBytes int, secure *tls.Config) *http1.Listener {
	most := http1.DefaultConns() / 2 // the gateway's own come first
	return http1.Listen(ln, http1.Options{
		HeadBytes: headBytes, HeadTime: handshakeTime, TLS: secure, Bodies: true, Conns: most, ConnsPerAddress: max(1, most*3/4), Strangers: httpStrangers,
	})
}

// listenOn listens for a part of the node that is not the gateway.
func (n *Node) listenOn(ctx context.Context, what, addr, flag string) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, http1.CannotListen(what, addr, flag, err)
	}
	n.onClose(func() error { _ = ln.Close(); return nil }) // it may be closed by then
	return ln, nil
}

func (n *Node) newServer(h http.Handler, headBytes int) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: headBytes, ConnState: http1.ConnState,
		ErrorLog: slog.NewLogLogger(n.o.Logger.Handler(), slog.LevelDebug),
	}
}

// serve starts a server, which gets so much time for running requests when ctx ends.
func serve(ctx context.Context, g *errgroup.Group, what string, s *http.Server, ln net.Listener, grace time.Duration) {
	g.Go(func() error {
		if err := s.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serving %s: %w", what, err)
		}
		return nil
	})
	g.Go(func() error {
		<-ctx.Done()
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		if err := s.Shutdown(stop); err != nil {
			return errors.Join(fmt.Errorf("stopping %s: %w", what, err), s.Close())
		}
		return nil
	})
}

// reachable is an address that can be dialled on this machine: one that listens
// on every interface is reached on loopback.
func reachable(addr net.Addr) string {
	a, ok := addr.(*net.TCPAddr)
	if !ok {
		return addr.String()
	}
	ip, valid := netip.AddrFromSlice(a.IP)
	if !valid || ip.Unmap().IsUnspecified() {
		return fmt.Sprintf("127.0.0.1:%d", a.Port)
	}
	return netip.AddrPortFrom(ip.Unmap(), uint16(a.Port)).String()
}
