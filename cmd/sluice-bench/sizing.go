package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/valyala/fasthttp"
	"golang.org/x/sync/errgroup"

	"github.com/sluicegate/sluice/admin/store/storetest"
)

const (
	// sizingMost toolsets are those that the bounds are of.
	sizingMost = 2000
	// sizingTogether toolsets are added at the same time.
	sizingTogether = 4
	// sizingConns connections call an edge for sizingLoad.
	sizingConns = 16
	sizingLoad  = 4 * time.Second
	// sizingIdle is how long the processor time of a node is watched that nobody asks.
	sizingIdle = 5 * time.Second
)

func init() {
	roles["sizing-upstream"] = func(ctx context.Context, _ []string) error {
		return serveFast(ctx, func(rc *fasthttp.RequestCtx) {
			rc.SetContentType("application/json")
			rc.Response.SetBodyString(`{"id":7,"name":"seven","url":"http://127.0.0.1/7","note":null}`)
		})
	}
}

// sizes are the numbers of toolsets of the table, of ten tools each.
var sizes = []int{10, 100, 500, sizingMost}

// sized is a row of the table: what nodes need for some toolsets.
type sized struct {
	toolsets                    int
	records                     string // "": in SQLite
	controlRSS, edgeRSS         int64  // bytes; the edge's after it was called
	database, registry, edge    int64  // bytes on disk
	add, page, all, publish     time.Duration
	pageCPU, allCPU, publishCPU time.Duration // of the control plane
	edgeReady                   time.Duration
	calls                       float64 // a second
	callCPU                     time.Duration
	controlIdle, edgeIdle       float64 // share of a processor
}

// benchSizing grows a control plane with one edge to 2,000 toolsets, and measures at each
// size of the table.
func benchSizing(ctx context.Context, b *bench) error {
	rows, err := b.grown(ctx, sizes, "")
	if err != nil {
		return err
	}
	last := rows[len(rows)-1]
	b.reportSized("sizing.2000.", &last)
	b.report("sizing.2000.edge_ready.ms", milliseconds(last.edgeReady), fmt.Sprintf("%s with %d", rows[0].edgeReady.Round(time.Millisecond/10), rows[0].toolsets))
	b.rows = append(b.rows, rows...)
	return b.writeSizing()
}

// benchSizingPostgres does the same with 2,000 toolsets in a PostgreSQL on this machine.
func benchSizingPostgres(ctx context.Context, b *bench) error {
	database, err := storetest.StartServer(ctx)
	if errors.Is(err, storetest.ErrNoPostgres) {
		b.skip(err.Error(), "sizing.postgres.2000.page.ms", "sizing.postgres.2000.publish.ms")
		return nil
	}
	if err != nil {
		return err
	}
	defer database.Close()
	rows, err := b.grown(ctx, []int{sizingMost}, database.URL("postgres"))
	if err != nil {
		return err
	}
	b.reportSized("sizing.postgres.2000.", &rows[0])
	b.rows = append(b.rows, rows...)
	return b.writeSizing()
}

// reportSized reports the bounds that hold for records of each kind.
func (b *bench) reportSized(name string, s *sized) {
	b.report(name+"page.ms", milliseconds(s.page), fmt.Sprintf("50 of them, %s of processor time; all in pages of 200: %s, %s", s.pageCPU.Round(time.Millisecond), s.all.Round(time.Millisecond), s.allCPU.Round(time.Millisecond)))
	b.report(name+"publish.ms", milliseconds(s.publish), fmt.Sprintf("%s of processor time of the control plane", s.publishCPU.Round(time.Millisecond)))
}

// grown grows a control plane with its records in a file or, where a URL is given, in PostgreSQL,
// and measures it at each of some sizes.
func (b *bench) grown(ctx context.Context, sizes []int, database string) ([]sized, error) {
	root, err := os.MkdirTemp("", "sluice-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(root)
	up, err := b.role(ctx, "sizing-upstream")
	if err != nil {
		return nil, err
	}
	defer up.Close()
	var args []string
	if database != "" {
		args = []string{"--database", database}
	}
	control, err := b.serve(filepath.Join(root, "control"), "control", args...)
	if err != nil {
		return nil, err
	}
	defer control.Close()
	if err := control.answers(ctx, control.admin); err != nil {
		return nil, err
	}
	var join struct{ Token string }
	if err := control.api(ctx, http.MethodPost, "/v1/edges/join-tokens", map[string]any{"maxUses": 1}, &join); err != nil {
		return nil, err
	}
	token := filepath.Join(root, "join")
	if err := os.WriteFile(token, []byte(join.Token), 0o600); err != nil {
		return nil, err
	}
	r := &sizing{b: b, control: control, database: database, upstream: "http://" + up.addr, edgeArgs: []string{
		"--control-plane", "http://" + control.admin, "--join-token-file", token, "--edge-name", "bench",
	}, edgeData: filepath.Join(root, "edge")}
	var rows []sized
	for _, n := range sizes {
		row, err := r.measure(ctx, n)
		if err != nil {
			return nil, fmt.Errorf("%d toolsets: %w", n, err)
		}
		if database != "" {
			row.records = "PostgreSQL"
		}
		b.logf("%s", row)
		rows = append(rows, *row)
	}
	return rows, nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// sizing grows one control plane.
type sizing struct {
	b        *bench
	control  *node
	database string // URL; "": a file of the control plane
	upstream string
	edgeArgs []string
	edgeData string
	made     []string // identifiers of toolsets
	tool     string
}

func (r *sizing) measure(ctx context.Context, n int) (*sized, error) {
	row := &sized{toolsets: n}
	before := len(r.made)
	began := time.Now()
	if err := r.grow(ctx, n); err != nil {
		return nil, err
	}
	row.add = time.Since(began) / time.Duration(n-before)
	var readies []time.Duration
	var err error
	if row.page, row.pageCPU, err = r.each(ctx, func(int) error { return r.control.api(ctx, http.MethodGet, "/v1/toolsets", nil, nil) }); err != nil {
		return nil, err
	}
	if row.all, row.allCPU, err = r.each(ctx, func(int) error { return r.listAll(ctx, n) }); err != nil {
		return nil, err
	}
	at := func(i int) string { return "/v1/toolsets/" + r.made[i%len(r.made)] }
	for i := range r.b.count {
		if err := r.control.api(ctx, http.MethodPatch, at(i), map[string]any{"description": fmt.Sprint("number ", n, " ", i)}, nil); err != nil {
			return nil, err
		}
	}
	if row.publish, row.publishCPU, err = r.each(ctx, func(i int) error {
		return r.control.api(ctx, http.MethodPost, at(i)+"/deploy", map[string]any{"reason": "benchmark"}, nil)
	}); err != nil {
		return nil, err
	}
	for range min(r.b.count, 3) {
		took, err := r.edge(ctx, row)
		if err != nil {
			return nil, err
		}
		readies = append(readies, took)
	}
	row.edgeReady = middle(readies)
	if row.controlIdle, err = idle(ctx, r.control.child); err != nil {
		return nil, err
	}
	if row.controlRSS, err = r.control.memory("VmRSS"); err != nil {
		return nil, err
	}
	if row.database, err = r.databaseSize(ctx); err != nil {
		return nil, err
	}
	if row.registry, err = sizeOf(r.control.data, "registry"); err != nil {
		return nil, err
	}
	row.edge, err = sizeOf(r.edgeData, "")
	return row, err
}

// each does something as often as a benchmark repeats, and returns its median time and the
// processor time of the control plane for one.
func (r *sizing) each(ctx context.Context, do func(i int) error) (took, cpu time.Duration, err error) {
	before, err := r.control.cpu()
	if err != nil {
		return 0, 0, err
	}
	var times []time.Duration
	for i := range r.b.count {
		began := time.Now()
		if err := errors.Join(do(i), ctx.Err()); err != nil {
			return 0, 0, err
		}
		times = append(times, time.Since(began))
	}
	after, err := r.control.cpu()
	return middle(times), (after - before) / time.Duration(r.b.count), err
}

// middle is the median of times.
func middle(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// grow adds toolsets until there are n, some at the same time.
func (r *sizing) grow(ctx context.Context, n int) error {
	from := len(r.made)
	r.made = append(r.made, make([]string, n-from)...)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(sizingTogether)
	for i := from; i < n; i++ {
		g.Go(func() error {
			doc, err := json.Marshal(specification(i, r.upstream))
			if err != nil {
				return err
			}
			var made struct{ ID, Status string }
			in := map[string]any{"name": slug(i), "slug": slug(i), "source": map[string]any{"openapi": map[string]any{"document": string(doc)}}, "access": "none"}
			if err := r.control.api(ctx, http.MethodPost, "/v1/toolsets", in, &made); err != nil {
				return err
			}
			if r.made[i] = made.ID; made.Status != "live" {
				return r.control.api(ctx, http.MethodPost, "/v1/toolsets/"+made.ID+"/deploy", map[string]any{"reason": "benchmark"}, nil)
			}
			return nil
		})
	}
	return g.Wait()
}

// listAll lists all toolsets, in the largest pages.
func (r *sizing) listAll(ctx context.Context, want int) error {
	got, cursor := 0, ""
	for {
		var page struct {
			Items      []json.RawMessage
			NextCursor string
		}
		if err := r.control.api(ctx, http.MethodGet, "/v1/toolsets?limit=200"+cursor, nil, &page); err != nil {
			return err
		}
		if got += len(page.Items); page.NextCursor == "" {
			break
		}
		cursor = "&cursor=" + page.NextCursor
	}
	if got != want {
		return fmt.Errorf("%d toolsets are listed, want %d", got, want)
	}
	return nil
}

// edge starts the edge on what it has, and returns when it was ready. It joins the first
// time, and follows to what is new.
func (r *sizing) edge(ctx context.Context, row *sized) (time.Duration, error) {
	if _, err := os.Stat(r.edgeData); errors.Is(err, fs.ErrNotExist) || row.calls == 0 {
		e, err := r.b.serve(r.edgeData, "edge", r.edgeArgs...)
		if err != nil {
			return 0, err
		}
		err = r.load(ctx, e, row)
		e.Close()
		if err != nil {
			return 0, err
		}
	}
	began := time.Now()
	e, err := r.b.serve(r.edgeData, "edge", r.edgeArgs...)
	if err != nil {
		return 0, err
	}
	defer e.Close()
	err = e.answers(ctx, e.admin)
	return time.Since(began), err
}

// load calls a tool of the newest toolset once the edge has it.
func (r *sizing) load(ctx context.Context, e *node, row *sized) (err error) {
	newest := slug(len(r.made) - 1)
	if err := e.poll(ctx, func() error {
		tools, err := e.list(ctx, newest)
		if err == nil {
			r.tool = tools[0].Name
		}
		return err
	}); err != nil {
		return err
	}
	if row.edgeIdle, err = idle(ctx, e.child); err != nil {
		return err
	}
	l := &load{addr: e.gateway, request: callRequest(e.gateway, newest, r.tool), connections: sizingConns, duration: sizingLoad, want: []byte("seven")}
	before, err := e.cpu()
	if err != nil {
		return err
	}
	answers, took, err := l.run(ctx)
	if err != nil {
		return err
	}
	after, err := e.cpu()
	if err != nil {
		return err
	}
	row.calls, row.callCPU = float64(answers)/took.Seconds(), (after-before)/time.Duration(answers)
	row.edgeRSS, err = e.memory("VmRSS")
	return err
}

// callRequest is an HTTP request that calls a tool.
func callRequest(host, toolset, tool string) []byte {
	const version = "2026-07-28"
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{"id":"7"},"_meta":{"io.modelcontextprotocol/protocolVersion":%q,`+
		`"io.modelcontextprotocol/clientInfo":{"name":"sluice-bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, tool, version)
	return fmt.Appendf(nil, "POST /t/%s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
		"Mcp-Protocol-Version: %s\r\nMcp-Method: tools/call\r\nMcp-Name: %s\r\nContent-Length: %d\r\n\r\n%s", toolset, host, version, tool, len(body), body)
}

// idle is the share of a processor that a process has while nobody asks it.
func idle(ctx context.Context, c *child) (float64, error) {
	before, err := c.cpu()
	if err != nil {
		return 0, err
	}
	select {
	case <-time.After(sizingIdle):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	after, err := c.cpu()
	return (after - before).Seconds() / sizingIdle.Seconds(), err
}

func (r *sizing) databaseSize(ctx context.Context) (n int64, err error) {
	if r.database == "" {
		return sizeOf(r.control.data, "sluice.db")
	}
	db, err := pgx.Connect(ctx, r.database)
	if err != nil {
		return 0, err
	}
	err = db.QueryRow(ctx, "SELECT pg_database_size(current_database())").Scan(&n)
	return n, errors.Join(err, db.Close(ctx))
}

// sizeOf is the size of the files of a directory whose path begins with name.
func sizeOf(dir, name string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil || !strings.HasPrefix(rel, name) {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}

// serve starts "sluice serve" with a role. admin is the admin API of a control plane, and the
// operations listener of an edge.
func (b *bench) serve(data, role string, args ...string) (*node, error) {
	return b.startNode(data, func(n *node) []string {
		all := []string{"serve", "--role", role, "--data", data, "--allow-private-upstreams=127.0.0.0/8", "--log-level", "warn"}
		if role == "control" {
			all = append(all, "--admin-listen", n.admin)
		} else {
			all = append(all, "--listen", n.gateway, "--ops-listen", n.admin)
		}
		return append(all, args...)
	})
}

// answers waits until /readyz at an address says yes.
func (n *node) answers(ctx context.Context, addr string) error {
	return n.poll(ctx, func() error {
		_, err := n.do(ctx, http.MethodGet, n.scheme+addr+"/readyz", nil, nil)
		return err
	})
}

func (s *sized) String() string {
	return strings.Join(s.cells(), " | ")
}

const sizingHead = "| toolsets | tools | control plane: memory, idle processor | database, registry | added, each | page of 50 | all | publish of one | edge: memory, idle processor | edge's disk | edge restart to ready | calls/s, processor time each |\n" +
	"| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"

func (s *sized) cells() []string {
	mb := func(n int64) string { return figure(float64(n)/(1<<20)) + " MB" }
	ms := func(d time.Duration) string { return figure(milliseconds(d)) + " ms" }
	both := func(took, cpu time.Duration) string { return ms(took) + ", " + ms(cpu) }
	return []string{
		strings.TrimSpace(strconv.Itoa(s.toolsets) + " " + s.records), strconv.Itoa(s.toolsets * toolsPerToolset),
		mb(s.controlRSS) + ", " + figure(s.controlIdle*100) + " %", mb(s.database) + ", " + mb(s.registry), ms(s.add), both(s.page, s.pageCPU), both(s.all, s.allCPU), both(s.publish, s.publishCPU),
		mb(s.edgeRSS) + ", " + figure(s.edgeIdle*100) + " %", mb(s.edge), ms(s.edgeReady), fmt.Sprintf("%.0f, %d µs", s.calls, s.callCPU.Microseconds()),
	}
}

// writeSizing puts the table of what was measured between the marks of the file that was named.
func (b *bench) writeSizing() error {
	name, rows := b.sizing, b.rows
	if name == "" {
		return nil
	}
	doc, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var t bytes.Buffer
	t.WriteString(sizingHead)
	for i := range rows {
		t.WriteString("| " + strings.Join(rows[i].cells(), " | ") + " |\n")
	}
	if doc, err = replaceBetween(doc, sizingBegin, tableEnd, t.Bytes()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.WriteFile(name, doc, 0o644) //nolint:gosec // documentation is for everyone
}
