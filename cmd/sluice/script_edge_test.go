package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sluicegate/sluice/internal/freeport"
)

// ports finds addresses for nodes whose own cannot be asked for: an edge has no admin
// listener and writes no file with its addresses. VAR_PORT is the port alone.
func (s *scripts) ports(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: ports VAR…")
	}
	taken := map[string]bool{}
	for _, name := range args {
		addr, err := freeport.Find()
		for ; err == nil && taken[addr]; addr, err = freeport.Find() {
		}
		ts.Check(err)
		taken[addr] = true
		ts.Setenv(name, addr)
		_, port, err := net.SplitHostPort(addr)
		ts.Check(err)
		ts.Setenv(name+"_PORT", port)
	}
}

// pooled calls a tool at one node, whose answer is cut, until another node gives the rest:
// nodes share nothing before the control plane gave them the key. The variable is the handle.
func (s *scripts) pooled(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: pooled VAR URL URL TOOL")
	}
	call := func(url, tool, arguments string) string {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
		resp, err := http.Post(url, "application/json", strings.NewReader(body))
		ts.Check(err)
		defer func() { _ = resp.Body.Close() }()
		b, err := io.ReadAll(resp.Body)
		ts.Check(err)
		return string(b)
	}
	said := ""
	for end := time.Now().Add(readyTimeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		cut := call(args[1], args[3], "{}")
		m := regexp.MustCompile(`\\"handle\\":\\"([0-9a-f-]+)`).FindStringSubmatch(cut)
		if m == nil {
			ts.Fatalf("the answer is not cut: %s", cut)
		}
		if said = call(args[2], "fetch_result", `{"handle":"`+m[1]+`","offset":1}`); strings.Contains(said, "[items 2-") {
			ts.Setenv(args[0], m[1])
			return
		}
	}
	ts.Fatalf("the other node says %s", said)
}

// tap starts a proxy that keeps what passes through it: bodies and headers of both
// directions.
func (s *scripts) tap(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: tap VAR URL FILE")
	}
	target, err := url.Parse(args[1])
	ts.Check(err)
	file, err := os.Create(ts.MkAbs(args[2]))
	ts.Check(err)
	var mu sync.Mutex
	keep := func(header http.Header, body io.ReadCloser) (io.ReadCloser, error) {
		b, err := io.ReadAll(body)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		if err := header.Write(file); err != nil {
			return nil, err
		}
		_, err = file.Write(append(b, '\n'))
		return io.NopCloser(bytes.NewReader(b)), err
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ModifyResponse = func(r *http.Response) (err error) {
		r.Body, err = keep(r.Header, r.Body)
		return err
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := keep(r.Header, r.Body)
		if err != nil {
			http.Error(w, "the request was cut off", http.StatusBadRequest)
			return
		}
		r.Body = body
		proxy.ServeHTTP(w, r)
	}))
	ts.Defer(func() {
		_ = srv.Listener.Close() // or a client is back before the end
		srv.CloseClientConnections()
		srv.Close()
		_ = file.Close() // what it has was read
	})
	ts.Setenv(args[0], srv.URL)
}

// answers is curl until what it prints matches: what an edge learns of its control plane
// arrives a moment later.
func (s *scripts) answers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: answers PATTERN CURL-ARGUMENTS…")
	}
	pattern, err := regexp.Compile(args[0])
	ts.Check(err)
	deadline := time.Now().Add(readyTimeout)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		got := s.fetch(ts, args[1:])
		if pattern.MatchString(got) {
			_, err := io.WriteString(ts.Stdout(), got)
			ts.Check(err)
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("within %s no answer matched %s; the last: %s", readyTimeout, args[0], got)
		}
		<-tick.C
	}
}
