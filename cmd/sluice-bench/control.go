package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/sluicegate/sluice/gateway/edge"
	"github.com/sluicegate/sluice/internal/secrets"
)

// benchFollow measures what a release costs a node.
func benchFollow(ctx context.Context, b *bench) error {
	r, err := b.goBench(ctx, "./gateway/edge", "^BenchmarkPublish$", "10x")
	if err != nil {
		return err
	}
	value, of, over, err := r.ratio("BenchmarkPublish/impl=sluice", "BenchmarkPublish/impl=baseline")
	if err != nil {
		return err
	}
	b.report("control.publish.1of1000", value, fmt.Sprintf("%s over %s", nanoseconds(of), nanoseconds(over)))
	return nil
}

// benchStore compares the store with database/sql.
func benchStore(ctx context.Context, b *bench) error {
	r, err := b.goBench(ctx, "./admin/store", "^BenchmarkTransaction$", "")
	if err != nil {
		return err
	}
	value, of, over, err := r.ratio("BenchmarkTransaction/impl=baseline", "BenchmarkTransaction/impl=sluice")
	if err != nil {
		return err
	}
	b.report("control.sqlite.vs_raw", value, fmt.Sprintf("%s over %s", nanoseconds(of), nanoseconds(over)))
	return nil
}

// benchRules measures what an evaluation of alert rules costs a control plane.
func benchRules(ctx context.Context, b *bench) error {
	r, err := b.goBench(ctx, "./admin/notify/alert", "^BenchmarkRules$", "10x")
	if err != nil {
		return err
	}
	value, err := r.median("BenchmarkRules", "cpu-ms/round")
	if err != nil {
		return err
	}
	b.report("alerts.rules.2000.cpu_ms", value, "")
	return nil
}

const (
	edgeCount   = 100
	edgeDeploys = 10
)

// arrivals are when each edge made each revision live.
type arrivals struct {
	mu   sync.Mutex
	at   map[uint64][]time.Time // guarded by mu; by revision of the toolset
	rung chan struct{}          // capacity 1
}

func (a *arrivals) note(revision uint64) {
	a.mu.Lock()
	a.at[revision] = append(a.at[revision], time.Now())
	a.mu.Unlock()
	select {
	case a.rung <- struct{}{}:
	default:
	}
}

// wait waits until every edge has a revision, or a later one that overtook it.
func (a *arrivals) wait(ctx context.Context, revision uint64) ([]time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		a.mu.Lock()
		got := slices.Clone(a.at[revision])
		a.mu.Unlock()
		if len(got) >= edgeCount {
			return got, nil
		}
		select {
		case <-a.rung:
		case <-ctx.Done():
			return nil, fmt.Errorf("revision %d is live at %d of %d edges: %w", revision, len(got), edgeCount, ctx.Err())
		}
	}
}

// benchEdges lets 100 edges, all in this process, follow a control plane, and
// deploys a toolset again and again.
func benchEdges(ctx context.Context, b *bench) error {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"id":7}`)) // the client is gone when this fails
	}))
	defer upstream.Close()
	root, err := os.MkdirTemp("", "sluice-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	n, err := b.node(filepath.Join(root, "control"))
	if err != nil {
		return err
	}
	defer n.Close()
	if err := n.ready(ctx); err != nil {
		return err
	}
	doc, err := json.Marshal(specification(0, upstream.URL))
	if err != nil {
		return err
	}
	var ts struct {
		ID       string `json:"id"`
		Revision uint64 `json:"revision"`
	}
	in := map[string]any{"name": slug(0), "slug": slug(0), "source": map[string]any{"openapi": map[string]any{"document": string(doc)}}}
	if err := n.api(ctx, http.MethodPost, "/v1/toolsets", in, &ts); err != nil {
		return err
	}
	var join struct{ Token string }
	if err := n.api(ctx, http.MethodPost, "/v1/edges/join-tokens", map[string]any{"maxUses": edgeCount}, &join); err != nil {
		return err
	}
	took, err := followed(ctx, n, root, "http://"+n.admin, ts.ID, join.Token)
	if err != nil {
		return err
	}
	p99 := took[len(took)*99/100]
	b.report("control.edges100.p99.ms", float64(p99.Microseconds())/1000,
		fmt.Sprintf("median %s, %d deploys", took[len(took)/2].Round(time.Millisecond/10), edgeDeploys))
	return nil
}

// followed lets edges follow control planes, and deploys a toolset again and again. It
// returns how long each deploy took to each edge, sorted.
func followed(ctx context.Context, by *node, root, control, toolset, join string) ([]time.Duration, error) {
	seen := &arrivals{at: map[uint64][]time.Time{}, rung: make(chan struct{}, 1)}
	ectx, stop := context.WithCancel(ctx)
	var edges sync.WaitGroup
	defer edges.Wait()
	defer stop()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * edgeCount}}
	for i := range edgeCount {
		f, err := joinEdge(ectx, control, filepath.Join(root, fmt.Sprint("edge", i)), secrets.New(join), client, seen)
		if err != nil {
			return nil, err
		}
		edges.Go(func() { _ = f.Run(ectx) }) // it ends with the context
	}
	var took []time.Duration
	var ts struct{ Revision uint64 }
	for i := range edgeDeploys {
		if err := by.api(ctx, http.MethodPatch, "/v1/toolsets/"+toolset, map[string]any{"description": fmt.Sprint("deploy ", i)}, nil); err != nil {
			return nil, err
		}
		began := time.Now()
		if err := by.api(ctx, http.MethodPost, "/v1/toolsets/"+toolset+"/deploy", map[string]any{"reason": "benchmark"}, &ts); err != nil {
			return nil, err
		}
		times, err := seen.wait(ctx, ts.Revision)
		if err != nil {
			return nil, err
		}
		for _, at := range times {
			took = append(took, at.Sub(began))
		}
	}
	slices.Sort(took)
	return took, nil
}

// joinEdge enrols one edge and makes its follower.
func joinEdge(ctx context.Context, control, dir string, join secrets.Secret, client *http.Client, seen *arrivals) (*edge.Follower, error) {
	r, err := edge.OpenRemote(edge.RemoteOptions{
		ControlPlane: control, Client: client, Dir: dir, Name: "bench", JoinToken: func() (secrets.Secret, error) { return join, nil },
	})
	if err != nil {
		return nil, err
	}
	if err := r.Enrol(ctx); err != nil {
		return nil, err
	}
	var last uint64
	return edge.New(edge.Options{Source: r, Dir: dir, Group: r.Group(), Keys: r.Trusted(), Apply: func(s *edge.State) error {
		if len(s.Toolsets) > 1 {
			return errors.New("an edge got more than its toolset")
		}
		for _, t := range s.Toolsets {
			if t.Revision > last {
				last = t.Revision
				seen.note(last)
			}
		}
		return nil
	}})
}
