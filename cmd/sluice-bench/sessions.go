package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strconv"
)

// benchSessions opens 10,000 sessions at the binary, each with its stream, as clients of 2025
// do, and reads what its process then occupies.
func benchSessions(ctx context.Context, b *bench) error {
	server, n, err := b.proxyNode(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	defer n.Close()
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"bench","version":"1"}}}`
	begin := fmt.Appendf(nil, "POST /t/acme HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n%s", n.gateway, len(body), body)
	conns, rss, err := openStreams(ctx, n.child, n.gateway, func(conn net.Conn) error {
		if _, err := conn.Write(begin); err != nil {
			return err
		}
		id, err := sessionOf(conn)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(conn, "GET /t/acme HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\nMcp-Protocol-Version: 2025-11-25\r\n\r\n", n.gateway, id); err != nil {
			return err
		}
		return readUntil(conn, "HTTP/1.1 200", "text/event-stream")
	})
	defer closeAll(conns)
	if err != nil {
		return err
	}
	b.logf("%d sessions: %d MB", listenStreams, rss>>20)
	b.report("mcp.sessions.10000.mb", float64(rss)/(1<<20), fmt.Sprintf("%.1f KB a session with its stream", float64(rss)/1024/listenStreams))
	return nil
}

// sessionOf reads the answer to initialize and returns the id of the session in its header.
func sessionOf(conn net.Conn) (string, error) {
	var got []byte
	var buf [2048]byte
	for {
		n, err := conn.Read(buf[:])
		got = append(got, buf[:n]...)
		if head, rest, ok := bytes.Cut(got, []byte("\r\n\r\n")); ok {
			length, _ := strconv.Atoi(field(head, "Content-Length"))
			if id := field(head, "Mcp-Session-Id"); id == "" {
				return "", fmt.Errorf("the answer to initialize names no session: %.300q", got)
			} else if len(rest) >= length {
				return id, nil
			}
		}
		if err != nil {
			return "", fmt.Errorf("%w after %.200q", err, got)
		}
	}
}

// field is the value of a header field; "": there is none.
func field(head []byte, name string) string {
	for line := range bytes.Lines(head) {
		if k, v, ok := bytes.Cut(line, []byte(":")); ok && bytes.EqualFold(k, []byte(name)) {
			return string(bytes.TrimSpace(v))
		}
	}
	return ""
}
