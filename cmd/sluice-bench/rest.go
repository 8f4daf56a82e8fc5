package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
)

func init() {
	roles["rest-upstream"] = serveRESTUpstream
	roles["rest-proxy"] = serveRESTProxy
}

const (
	restConnections = 16
	restDuration    = 800 * time.Millisecond
	restP99Duration = 1500 * time.Millisecond
	restSettled     = 3 * time.Second // from when the nodes are ready
)

// restProfiles are the profiles that each shape is measured with.
var restProfiles = []string{"off", "lossless", "concise"}

// The lines beside the rates of each profile and shape.
const (
	restCPULine    = "rest.concise.list.247k.cpu_vs_proxy"
	restP99Line    = "rest.concise.list.20k.p99_vs_proxy"
	restMemoryLine = "rest.rss.mb"
)

// restNames are the names of all lines that benchREST reports.
func restNames() []string {
	var out []string
	for _, s := range restShapes {
		for _, p := range restProfiles {
			out = append(out, restRateLine(p, s))
		}
	}
	return append(out, restCPULine, restP99Line, restMemoryLine)
}

func restRateLine(profile string, s restShape) string {
	return "rest." + profile + "." + s.name + ".vs_proxy"
}

// restServer is a process that answers the calls: the proxy or a node.
type restServer struct {
	profile string // "" for the proxy
	*child
	addr string
	tls  *tls.Config // nil: it is not spoken
}

// restRig is the upstream with everything that stands before it.
type restRig struct {
	b       *bench
	up      *child
	proxy   restServer
	nodes   []restServer
	measure time.Duration // of each round
}

// benchREST compares tools/call of the shipped binary, started as a user starts it
// with nothing but a specification and a profile, with a plain fasthttp reverse proxy
// that passes the same answer of the same upstream on.
func benchREST(ctx context.Context, b *bench) error {
	dir, err := os.MkdirTemp("", "sluice-bench-rest-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r, err := b.restRig(ctx, dir)
	if r != nil {
		defer r.Close()
	}
	if err != nil {
		return err
	}
	starts, err := r.settle(ctx)
	if err != nil {
		return err
	}
	for _, s := range restShapes {
		if err := r.shape(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	if !wanted(b.only, []string{restMemoryLine}) {
		return nil
	}
	var peak int64
	var note []string
	for _, n := range r.nodes {
		m, err := n.memory("VmHWM")
		if err != nil {
			return err
		}
		peak = max(peak, m)
		note = append(note, fmt.Sprintf("%s %d MB", n.profile, m>>20))
	}
	note = append(note, fmt.Sprintf("%d MB at the start", starts>>20))
	b.report(restMemoryLine, float64(peak)/(1<<20), "peak: "+strings.Join(note, ", "))
	return nil
}

// settle waits until the nodes have given back what only their starts needed, when memory is
// measured, and begins a new peak: proc_pid_clear_refs(5). It returns the largest peak of the starts.
func (r *restRig) settle(ctx context.Context) (int64, error) {
	if !wanted(r.b.only, []string{restMemoryLine}) {
		return 0, nil
	}
	select {
	case <-time.After(restSettled):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	var peak int64
	for _, n := range r.nodes {
		m, err := n.memory("VmHWM")
		if err != nil {
			return 0, err
		}
		peak = max(peak, m)
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", n.cmd.Process.Pid), []byte("5"), 0); err != nil {
			return 0, err
		}
	}
	return peak, nil
}

// restRig starts the upstream, the proxy and a node for each profile that is asked
// for. What it returns must be closed, also beside an error.
func (b *bench) restRig(ctx context.Context, dir string) (*restRig, error) {
	r := &restRig{b: b, measure: restDuration}
	if b.quick {
		r.measure /= 2
	}
	var err error
	if r.up, err = b.role(ctx, "rest-upstream"); err != nil {
		return r, err
	}
	proxy, err := b.role(ctx, "rest-proxy", r.up.addr)
	if err != nil {
		return r, err
	}
	r.proxy = restServer{child: proxy, addr: proxy.addr}
	spec := filepath.Join(dir, "openapi.json")
	doc, err := restSpecification("http://" + r.up.addr)
	if err != nil {
		return r, err
	}
	if err := os.WriteFile(spec, doc, 0o600); err != nil {
		return r, err
	}
	for _, p := range restProfiles {
		if !slices.ContainsFunc(restNames(), func(name string) bool {
			return wanted(b.only, []string{name}) && (strings.HasPrefix(name, "rest."+p+".") || name == restMemoryLine)
		}) {
			continue
		}
		n, err := b.node(filepath.Join(dir, p), spec, "--profile", p, "--slug", "acme")
		if err != nil {
			return r, err
		}
		r.nodes = append(r.nodes, restServer{profile: p, child: n.child, addr: n.gateway})
		if err := n.ready(ctx); err != nil {
			return r, err
		}
		if err := n.poll(ctx, func() error {
			tools, err := n.list(ctx, "acme")
			if err == nil && len(tools) < len(restShapes) { // and the one that fetches the rest of an answer
				err = fmt.Errorf("%d tools of %d", len(tools), len(restShapes))
			}
			return err
		}); err != nil {
			return r, err
		}
	}
	return r, nil
}

// Close ends all processes.
func (r *restRig) Close() {
	for _, n := range r.nodes {
		n.Close()
	}
	for _, c := range []*child{r.proxy.child, r.up} {
		if c != nil {
			c.Close()
		}
	}
}

// restFigures are those of one server in one round.
type restFigures struct {
	rate float64 // answers a second
	cpu  float64 // processor time of the server for each, in seconds
}

// shape measures one shape: in each round the proxy first and then every profile.
func (r *restRig) shape(ctx context.Context, s restShape) error {
	nodes := slices.DeleteFunc(slices.Clone(r.nodes), func(n restServer) bool {
		names := []string{restRateLine(n.profile, s), restMemoryLine}
		for _, l := range []string{restCPULine, restP99Line} {
			if strings.HasPrefix(l, "rest."+n.profile+"."+s.name+".") {
				names = append(names, l)
			}
		}
		return !slices.ContainsFunc(names, func(name string) bool { return wanted(r.b.only, []string{name}) })
	})
	if len(nodes) == 0 {
		return nil
	}
	var proxy []restFigures
	own := make([][]restFigures, len(nodes))
	for range r.b.count {
		f, err := r.round(ctx, r.proxy, s)
		if err != nil {
			return err
		}
		proxy = append(proxy, f)
		for i, n := range nodes {
			if f, err = r.round(ctx, n, s); err != nil {
				return fmt.Errorf("profile %s: %w", n.profile, err)
			}
			own[i] = append(own[i], f)
		}
	}
	rate := func(f restFigures) float64 { return f.rate }
	cpu := func(f restFigures) float64 { return f.cpu }
	for i, n := range nodes {
		note := fmt.Sprintf("%.0f over %.0f requests/s, %s over %s of processor time each", medianOf(own[i], rate), medianOf(proxy, rate),
			nanoseconds(medianOf(own[i], cpu)*1e9), nanoseconds(medianOf(proxy, cpu)*1e9))
		r.b.logf("%s.%s: %s", n.profile, s.name, note)
		if name := restRateLine(n.profile, s); wanted(r.b.only, []string{name}) {
			r.b.report(name, medianRatio(own[i], proxy, rate), note)
		}
		if strings.HasPrefix(restCPULine, "rest."+n.profile+"."+s.name+".") && wanted(r.b.only, []string{restCPULine}) {
			r.b.report(restCPULine, medianRatio(own[i], proxy, cpu), fmt.Sprintf("%s over %s", nanoseconds(medianOf(own[i], cpu)*1e9), nanoseconds(medianOf(proxy, cpu)*1e9)))
		}
		if strings.HasPrefix(restP99Line, "rest."+n.profile+"."+s.name+".") && wanted(r.b.only, []string{restP99Line}) {
			if err := r.p99(ctx, n, s, medianOf(own[i], rate)/2); err != nil {
				return err
			}
		}
	}
	return nil
}

// p99 compares the 99th percentile of the times of answers with the proxy's, both at
// the same rate.
func (r *restRig) p99(ctx context.Context, n restServer, s restShape, rate float64) error {
	percentile := func(server restServer) (float64, error) {
		l := s.load(server, restP99Duration)
		l.rate, l.timed = rate, true
		if _, _, err := l.run(ctx); err != nil {
			return 0, err
		}
		slices.Sort(l.times)
		return l.times[len(l.times)*99/100].Seconds(), nil
	}
	var ratios, theirs, ours []float64
	for range r.b.count {
		t, err := percentile(r.proxy)
		if err != nil {
			return err
		}
		o, err := percentile(n)
		if err != nil {
			return err
		}
		ratios, theirs, ours = append(ratios, o/t), append(theirs, t), append(ours, o)
	}
	r.b.report(restP99Line, median(ratios), fmt.Sprintf("%s over %s at %.0f requests/s", nanoseconds(median(ours)*1e9), nanoseconds(median(theirs)*1e9), rate))
	return nil
}

// round takes the figures of one server once, after a short warm-up.
func (r *restRig) round(ctx context.Context, server restServer, s restShape) (restFigures, error) {
	l := s.load(server, r.measure/5)
	if _, _, err := l.run(ctx); err != nil {
		return restFigures{}, err
	}
	l.duration = r.measure
	before, err := server.cpu()
	if err != nil {
		return restFigures{}, err
	}
	n, took, err := l.run(ctx)
	if err != nil {
		return restFigures{}, err
	}
	after, err := server.cpu()
	return restFigures{rate: float64(n) / took.Seconds(), cpu: (after - before).Seconds() / float64(n)}, err
}

// load asks server for the shape: with GET from the proxy, with tools/call from a node.
func (s restShape) load(server restServer, d time.Duration) *load {
	l := &load{addr: server.addr, tls: server.tls, connections: restConnections, duration: d, want: []byte(s.want)}
	if server.profile == "" {
		l.request = fmt.Appendf(nil, "GET /%s HTTP/1.1\r\nHost: %s\r\nAccept: application/json\r\n\r\n", s.path(), server.addr)
		return l
	}
	if s.cut != "" {
		l.want = []byte(s.cut)
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, s.tool())
	l.request = fmt.Appendf(nil, "POST /t/acme HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
		"MCP-Protocol-Version: 2025-11-25\r\nContent-Length: %d\r\n\r\n%s", server.addr, len(body), body)
	return l
}

func medianOf(fs []restFigures, of func(restFigures) float64) float64 {
	v := make([]float64, len(fs))
	for i, f := range fs {
		v[i] = of(f)
	}
	return median(v)
}

// medianRatio is the median of the rounds' ratios.
func medianRatio(own, proxy []restFigures, of func(restFigures) float64) float64 {
	v := make([]float64, len(own))
	for i := range own {
		v[i] = of(own[i]) / cmp.Or(of(proxy[i]), 1e-9)
	}
	return median(v)
}

// restSpecification describes the upstream's answers as their owner would: with a
// schema of what they hold, links with their format.
func restSpecification(server string) ([]byte, error) {
	paths := map[string]any{}
	for _, s := range restShapes {
		var v any
		if err := json.Unmarshal(s.answer(), &v); err != nil {
			return nil, fmt.Errorf("answer %s: %w", s.name, err)
		}
		paths["/"+s.path()] = map[string]any{"get": map[string]any{
			"operationId": s.tool(), "summary": "Get " + s.path(),
			"responses": map[string]any{"200": map[string]any{
				"description": "the answer", "content": map[string]any{"application/json": map[string]any{"schema": schemaOf(v)}},
			}},
		}}
	}
	return json.Marshal(map[string]any{
		"openapi": "3.1.0", "info": map[string]any{"title": "Acme", "version": "1"},
		"servers": []any{map[string]any{"url": server}}, "paths": paths,
	})
}

// schemaOf returns a schema that v fulfils.
func schemaOf(v any) map[string]any {
	switch v := v.(type) {
	case map[string]any:
		properties := map[string]any{}
		for name, value := range v {
			properties[name] = schemaOf(value)
		}
		return map[string]any{"type": "object", "properties": properties}
	case []any:
		if len(v) == 0 {
			return map[string]any{"type": "array"}
		}
		return map[string]any{"type": "array", "items": schemaOf(v[0])}
	case string:
		if strings.HasPrefix(v, "https://") {
			return map[string]any{"type": "string", "format": "uri"}
		}
		return map[string]any{"type": "string"}
	case float64:
		return map[string]any{"type": "number"}
	case bool:
		return map[string]any{"type": "boolean"}
	default:
		return map[string]any{"type": []any{"string", "null"}}
	}
}

// serveRESTUpstream is the API.
func serveRESTUpstream(ctx context.Context, _ []string) error {
	answers := map[string][]byte{"/orgs/acme/repos": restRepositories()}
	for _, s := range restShapes {
		answers["/"+s.path()] = s.answer()
	}
	return serveFast(ctx, func(rc *fasthttp.RequestCtx) {
		answer, ok := answers[string(rc.Path())]
		if !ok {
			rc.Error("no such path", fasthttp.StatusNotFound)
			return
		}
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
