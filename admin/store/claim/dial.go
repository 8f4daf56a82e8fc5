package claim

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// silence is how long a server, or the network before it, may leave what was sent to it without
// a sign that it came: a firewall that drops packets would hold up requests for a quarter of an
// hour. It is no bound of a statement, whose server goes on confirming.
const silence = 8 * time.Second

// errSilent is the end of a connection after silence. Unlike the error of the operating system
// it is no timeout, after which the driver would use the connection again.
var errSilent = errors.New("the server confirmed nothing for some seconds")

// dial makes connections that end after silence.
func dial(connect time.Duration) pgconn.DialFunc {
	d := net.Dialer{
		Timeout:         connect,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 3 * time.Second, Interval: 2 * time.Second, Count: 2},
		Control: func(network, _ string, c syscall.RawConn) error {
			if network == "unix" {
				return nil
			}
			var failed error
			return errors.Join(c.Control(func(fd uintptr) { failed = endAfter(fd, silence) }), failed)
		},
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := d.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return watched{c}, nil
	}
}

// watched is a connection that says errSilent.
type watched struct{ net.Conn }

func (w watched) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	return n, silent(err)
}

func (w watched) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	return n, silent(err)
}

func silent(err error) error {
	if errors.Is(err, syscall.ETIMEDOUT) {
		return errSilent
	}
	return err
}
