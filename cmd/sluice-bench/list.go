package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/plugins/operation"
)

func init() {
	roles["list-sluice"] = serveList
	roles["list-plain"] = serveListPlain
	roles["listen"] = serveListen
}

const (
	listTools   = 1000
	listRequest = `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`

	// listenStreams are opened at once; the limit of a node is twice as many.
	listenStreams = 10_000
	// listenDialers open them without filling the listener's backlog.
	listenDialers = 64
	// listenWait bounds everything that is waited for.
	listenWait = 60 * time.Second
)

// listStack is a gateway with a toolset of 1,000 tools.
func listStack() (*gatewaytest.Stack, error) {
	ops := make([]*operation.Operation, listTools)
	for i := range ops {
		ops[i] = gatewaytest.Operation(fmt.Sprintf("get_thing_%d", i), "GET", fmt.Sprintf("/things/%d/{id}", i),
			gatewaytest.Param("id", operation.InPath, operation.TypeInteger, true),
			gatewaytest.Param("filter", operation.InQuery, operation.TypeString, false))
	}
	c, err := gatewaytest.Connector("acme", "http://127.0.0.1:1", ops...)
	if err != nil {
		return nil, err
	}
	s, err := gatewaytest.New(gatewaytest.Options{})
	if err != nil {
		return nil, err
	}
	return s, s.Serve(gatewaytest.Toolset("acme", 1, c, nil))
}

func serveList(ctx context.Context, _ []string) error {
	s, err := listStack()
	if err != nil {
		return err
	}
	fmt.Println("listening " + s.Gateway.Addr().String())
	<-ctx.Done()
	return s.Stop()
}

// serveListPlain answers every request with the bytes that the gateway answers
// with, and does nothing else.
func serveListPlain(ctx context.Context, _ []string) error {
	s, err := listStack()
	if err != nil {
		return err
	}
	resp, err := post(ctx, s.URL("acme"), listRequest)
	if err != nil {
		return err
	}
	if err := s.Stop(); err != nil {
		return err
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &fasthttp.Server{NoDefaultServerHeader: true, WriteBufferSize: 16 << 10, Handler: func(rc *fasthttp.RequestCtx) {
		rc.SetContentType("application/json")
		rc.Response.SetBodyRaw(resp)
	}}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ln) }()
	fmt.Println("listening " + ln.Addr().String())
	<-ctx.Done()
	_ = ln.Close()
	return <-done
}

func post(ctx context.Context, url, body string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.200s", resp.Status, b)
	}
	return b, err
}

// benchList compares the CPU time that a server needs for one tools/list of 1,000
// tools with writing the same bytes with plain fasthttp.
func benchList(ctx context.Context, b *bench) error {
	cost := func(role string) (time.Duration, error) {
		return b.cpuEach(ctx, role, &load{connections: 4, want: []byte("get_thing_999")}, func(addr string) []byte {
			return fmt.Appendf(nil, "POST /t/acme HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
				addr, len(listRequest), listRequest)
		})
	}
	var ratios, plains, ours []float64
	for range b.count {
		plain, err := cost("list-plain")
		if err != nil {
			return err
		}
		own, err := cost("list-sluice")
		if err != nil {
			return err
		}
		b.logf("plain fasthttp %v, sluice %v", plain, own)
		ratios = append(ratios, float64(own)/float64(plain))
		plains, ours = append(plains, float64(plain.Microseconds())), append(ours, float64(own.Microseconds()))
	}
	b.report("mcp.list.1000tools", median(ratios), fmt.Sprintf("%.0f µs over %.0f µs a list", median(ours), median(plains)))
	return nil
}

// serveListen is the gateway whose toolset gets a new revision with each request
// to the address in args.
func serveListen(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("listen needs an address for publishing")
	}
	s, err := gatewaytest.New(gatewaytest.Options{})
	if err != nil {
		return err
	}
	c, err := gatewaytest.Connector("acme", "http://127.0.0.1:1", gatewaytest.Operation("get_users", "GET", "/users"))
	if err != nil {
		return err
	}
	revision := uint64(1)
	if err := s.Serve(gatewaytest.Toolset("acme", revision, c, nil)); err != nil {
		return err
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", args[0])
	if err != nil {
		return err
	}
	srv := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		revision++ // requests come one by one
		if err := s.Serve(gatewaytest.Toolset("acme", revision, c, nil)); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ln) }()
	fmt.Println("listening " + s.Gateway.Addr().String())
	<-ctx.Done()
	_ = srv.Close()
	if err := <-done; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return s.Stop()
}

// benchListen opens 10,000 idle subscriptions/listen streams, reads what the
// server occupies, and measures how long a publish takes until it reached all.
func benchListen(ctx context.Context, b *bench) error {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	publish := ln.Addr().String()
	if err := ln.Close(); err != nil {
		return err
	}
	c, err := b.role(ctx, "listen", publish)
	if err != nil {
		return err
	}
	defer c.Close()
	body := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	request := fmt.Appendf(nil, "POST /t/acme HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
		"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\nContent-Length: %d\r\n\r\n%s", c.addr, len(body), body)

	conns, rss, err := openStreams(ctx, c, c.addr, func(conn net.Conn) error {
		if _, err := conn.Write(request); err != nil {
			return err
		}
		return readUntil(conn, "subscriptions/acknowledged", "\n\n\r\n")
	})
	defer closeAll(conns)
	if err != nil {
		return err
	}
	arrived := make(chan error, 1)
	go func() {
		arrived <- each(ctx, listenStreams, func(i int) error { return readUntil(conns[i], "tools/list_changed", "\n\n\r\n") })
	}()
	begin := time.Now()
	if _, err := post(ctx, "http://"+publish, ""); err != nil {
		return err
	}
	if err := <-arrived; err != nil {
		return err
	}
	took := time.Since(begin)
	b.logf("%d streams: %d MB, a publish reached all after %v", listenStreams, rss>>20, took)
	b.report("mcp.listen.10000.mb", float64(rss)/(1<<20), fmt.Sprintf("%.1f KB a stream", float64(rss)/1024/listenStreams))
	b.report("mcp.listen.10000.publish.ms", float64(took.Milliseconds()), "publish to the last stream's notification")
	return nil
}

// openStreams makes listenStreams connections to an address of a server, each of which open leaves with an
// idle stream, and reads what the server then occupies, in bytes. The caller closes them, after
// an error too.
func openStreams(ctx context.Context, c *child, addr string, open func(net.Conn) error) (conns []net.Conn, rss int64, err error) {
	conns = make([]net.Conn, listenStreams)
	deadline := time.Now().Add(listenWait)
	err = each(ctx, listenDialers, func(i int) error {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", addr)
		if err != nil {
			return err
		}
		conns[i] = conn
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
		return open(conn)
	})
	if err == nil {
		rss, err = c.memory("VmRSS")
	}
	return conns, rss, err
}

func closeAll(conns []net.Conn) {
	for _, conn := range conns {
		if conn != nil {
			_ = conn.Close()
		}
	}
}

// each does something for every stream, for so many at the same time.
func each(ctx context.Context, parallel int, do func(i int) error) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	var once sync.Once
	var fault error
	for range parallel {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= listenStreams || ctx.Err() != nil {
					return
				}
				if err := do(i); err != nil {
					once.Do(func() { fault = fmt.Errorf("stream %d: %w", i, err) })
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(fault, ctx.Err())
}

// readUntil reads until what arrived contains text and then end.
func readUntil(conn net.Conn, text, end string) error {
	var got []byte
	var buf [2048]byte
	for {
		n, err := conn.Read(buf[:])
		got = append(got, buf[:n]...)
		if i := bytes.Index(got, []byte(text)); i >= 0 && bytes.Contains(got[i:], []byte(end)) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w after %.200q", err, got)
		}
	}
}
