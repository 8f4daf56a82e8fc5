package call_test

import (
	"bytes"
	"fmt"
	"net"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/call"
	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

// answer20K is a list like GitHub's repositories, half of it links.
func answer20K() []byte {
	out := []byte{'['}
	for i := range 14 {
		if i > 0 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, `{"id":%d,"name":"project-%d","description":"The project that does thing number %d.","stars":%d,"license":null,`, i, i, i, i)
		for l := range 20 {
			out = fmt.Appendf(out, `"links%d_url":"https://api.example.com/repos/acme/project-%d/links/%d{/x}",`, l, i, l)
		}
		out = append(out, `"language":"Go"}`...)
	}
	return append(out, ']')
}

func listOperation() *operation.Operation {
	op := gatewaytest.Operation("list", "GET", "/list")
	item := &operation.Schema{Type: operation.TypeObject}
	for _, n := range []string{"id", "name", "description", "stars", "license", "language"} {
		item.Properties = append(item.Properties, operation.Property{Name: n, Schema: &operation.Schema{}})
	}
	op.Response = &operation.Schema{Type: operation.TypeArray, Items: item}
	return op
}

// BenchmarkCall measures one call against a local API: a bare HTTP client, the
// call without a program, with one, and answered from the cache.
func BenchmarkCall(b *testing.B) {
	answer := answer20K()
	l := fast(b, answer)
	stack, err := gatewaytest.New(gatewaytest.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = stack.Stop() })
	c, err := gatewaytest.Connector("acme", "http://"+l, listOperation())
	if err != nil {
		b.Fatal(err)
	}
	if err := stack.Serve(
		gatewaytest.Toolset("off", 1, c, func(t *registry.Toolset) { t.Profile = registry.ProfileOff }),
		gatewaytest.Toolset("on", 1, c, nil),
		gatewaytest.Toolset("cached", 1, c, func(t *registry.Toolset) { t.Cache = &registry.CachePolicy{TTLSeconds: 3600} }),
	); err != nil {
		b.Fatal(err)
	}
	b.Run("impl=baseline", func(b *testing.B) {
		client := &fasthttp.HostClient{Addr: l}
		b.SetBytes(int64(len(answer)))
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			var req fasthttp.Request
			var resp fasthttp.Response
			req.SetRequestURI("http://" + l + "/list")
			for pb.Next() {
				if err := client.Do(&req, &resp); err != nil || len(resp.Body()) != len(answer) {
					b.Error(err)
				}
			}
		})
	})
	for _, slug := range []string{"off", "on", "cached"} {
		b.Run("impl=sluice/toolset="+slug, func(b *testing.B) {
			tool, err := stack.Holder.Load().Slug(slug).Tool([]byte("list"))
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(answer)))
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				var dst []byte
				for pb.Next() {
					out, outcome, err := stack.Caller.Call(b.Context(), tool, jsonscan.Value{}, call.CallOptions{}, dst[:0])
					if dst = out; err != nil || outcome.IsError || !bytes.Contains(out, []byte("project-")) {
						b.Errorf("%.300s, %v", out, err)
					}
				}
			})
		})
	}
}

// fast serves answer with as little work as possible.
func fast(b *testing.B, answer []byte) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	srv := &fasthttp.Server{Handler: func(rc *fasthttp.RequestCtx) {
		rc.SetContentType("application/json")
		rc.Response.SetBodyRaw(answer)
	}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l)
	}()
	b.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr().String()
}
