package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/plugins/operation"
)

func init() {
	roles["rest-upstream"] = serveRESTUpstream
	roles["rest-proxy"] = serveRESTProxy
	roles["rest-sluice"] = serveRESTSluice
}

const (
	restConnections = 16
	restDuration    = 2 * time.Second
)

// restAnswer is about 20 KB shaped like a list of GitHub's repositories: half of it
// links.
func restAnswer() []byte {
	out := []byte{'['}
	for i := range 14 {
		if i > 0 {
			out = append(out, ',')
		}
		const api = "https://api.example.com/repos/acme/project"
		out = fmt.Appendf(out, `{"id":%d,"node_id":"R_kgDOAbCdEf%02d","name":"project-%d","full_name":"acme/project-%d","private":false,`+
			`"owner":{"login":"acme","id":42,"avatar_url":"https://avatars.example.com/u/42","html_url":"https://example.com/acme","type":"Organization","site_admin":false},`+
			`"html_url":"https://example.com/acme/project-%d","description":"The project that does thing number %d, and does it well.","fork":false,`,
			1296269+i, i, i, i, i, i)
		for _, link := range []string{"forks", "keys", "teams", "hooks", "events", "assignees", "branches", "tags", "blobs", "git_refs", "trees", "statuses"} {
			out = fmt.Appendf(out, `"%s_url":"%s-%d/%s{/x}",`, link, api, i, link)
		}
		out = fmt.Appendf(out, `"created_at":"2011-01-26T19:01:12Z","stargazers_count":%d,"language":"Go","has_issues":true,"topics":["a","b","c"],`+
			`"license":null,"visibility":"public","open_issues_count":%d,"default_branch":"main"}`, 80+i, i)
	}
	return append(out, ']')
}

// restOperation describes that answer; its links have the format uri.
func restOperation() *operation.Operation {
	op := gatewaytest.Operation("list_repos", "GET", "/orgs/{org}/repos",
		gatewaytest.Param("org", operation.InPath, operation.TypeString, true), gatewaytest.Param("page", operation.InQuery, operation.TypeInteger, false))
	s := func(t operation.Type) *operation.Schema { return &operation.Schema{Type: t} }
	object := func(names ...string) *operation.Schema {
		o := s(operation.TypeObject)
		for _, n := range names {
			o.Properties = append(o.Properties, operation.Property{Name: n, Schema: s(0)})
		}
		return o
	}
	repo := object("id", "node_id", "name", "full_name", "private", "description", "fork", "created_at", "stargazers_count",
		"language", "has_issues", "topics", "license", "visibility", "open_issues_count", "default_branch")
	repo.Properties = append(repo.Properties,
		operation.Property{Name: "owner", Schema: object("login", "id", "type", "site_admin")},
		operation.Property{Name: "html_url", Schema: &operation.Schema{Type: operation.TypeString, Format: "uri"}})
	op.Response = &operation.Schema{Type: operation.TypeArray, Items: repo}
	return op
}

// benchRESTProxy compares the requests per second of tools/call from MCP to REST
// with those of a plain fasthttp reverse proxy in front of the same upstream.
func benchRESTProxy(ctx context.Context, b *bench) error {
	up, err := b.role(ctx, "rest-upstream")
	if err != nil {
		return err
	}
	defer up.Close()
	rate := func(role string, request func(addr string) []byte) (float64, error) {
		c, err := b.role(ctx, role, up.addr)
		if err != nil {
			return 0, err
		}
		defer c.Close()
		l := &load{addr: c.addr, connections: restConnections, duration: restDuration / 4, want: []byte("project-13"), request: request(c.addr)}
		if _, _, err := l.run(ctx); err != nil { // warms up
			return 0, err
		}
		l.duration = restDuration
		n, took, err := l.run(ctx)
		return float64(n) / took.Seconds(), err
	}
	const body = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"list_repos","arguments":{"org":"acme","page":2}}}`
	var ratios, theirs, ours []float64
	for range b.count {
		proxy, err := rate("rest-proxy", func(addr string) []byte {
			return fmt.Appendf(nil, "GET /orgs/acme/repos?page=2 HTTP/1.1\r\nHost: %s\r\nAccept: application/json\r\n\r\n", addr)
		})
		if err != nil {
			return err
		}
		own, err := rate("rest-sluice", func(addr string) []byte {
			return fmt.Appendf(nil, "POST /t/acme HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nMCP-Protocol-Version: 2025-11-25\r\n"+
				"Content-Length: %d\r\n\r\n%s", addr, len(body), body)
		})
		if err != nil {
			return err
		}
		b.logf("proxy %.0f/s, sluice %.0f/s", proxy, own)
		ratios, theirs, ours = append(ratios, own/proxy), append(theirs, proxy), append(ours, own)
	}
	b.report("rest.call.vs_proxy", median(ratios), fmt.Sprintf("%.0f over %.0f requests/s, %d-byte answers", median(ours), median(theirs), len(restAnswer())))
	return nil
}

// serveRESTUpstream is the API.
func serveRESTUpstream(ctx context.Context, _ []string) error {
	answer := restAnswer()
	return serveFast(ctx, func(rc *fasthttp.RequestCtx) {
		rc.SetContentType("application/json")
		rc.Response.SetBodyRaw(answer)
	})
}

// serveRESTProxy passes requests on to the upstream in args and answers back, as
// fasthttp's documentation shows it.
func serveRESTProxy(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("rest-proxy needs the address of the upstream")
	}
	client := &fasthttp.HostClient{Addr: args[0], MaxConns: 256}
	return serveFast(ctx, func(rc *fasthttp.RequestCtx) {
		req, resp := &rc.Request, &rc.Response
		req.Header.Del("Connection")
		req.SetHost(args[0])
		if err := client.Do(req, resp); err != nil {
			rc.Error(err.Error(), fasthttp.StatusBadGateway)
			return
		}
		resp.Header.Del("Connection")
	})
}

// serveRESTSluice is the gateway in front of the upstream in args.
func serveRESTSluice(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("rest-sluice needs the address of the upstream")
	}
	return serveStack(ctx, "http://"+args[0], restOperation(), nil)
}

func serveFast(ctx context.Context, h fasthttp.RequestHandler) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &fasthttp.Server{Handler: h, NoDefaultServerHeader: true, CloseOnShutdown: true}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	fmt.Println("listening " + l.Addr().String())
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	sctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = srv.ShutdownWithContext(sctx)
	return <-done
}
