package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	ggcr "github.com/google/go-containerregistry/pkg/registry"

	"github.com/sluicegate/sluice/admin/store/storetest"
	"github.com/sluicegate/sluice/registry/sign"
)

// clusterPlanes share the database.
const clusterPlanes = 3

// benchClusterEdges lets 100 edges, all in this process, follow three control planes on a
// real PostgreSQL and a registry, and deploys a toolset again and again through one that
// follows.
func benchClusterEdges(ctx context.Context, b *bench) error {
	root, err := os.MkdirTemp("", "sluice-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	database, err := storetest.StartServer(ctx)
	if errors.Is(err, storetest.ErrNoPostgres) {
		b.skip(err.Error(), "cluster.edges100.p99.ms")
		return nil
	}
	if err != nil {
		return err
	}
	defer database.Close()
	artifacts := httptest.NewServer(ggcr.New(ggcr.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo))))
	defer artifacts.Close()
	keys := filepath.Join(root, "keys")
	if err := os.Mkdir(keys, 0o700); err != nil {
		return err
	}
	for _, name := range []string{"release.key", "workspace.key"} {
		if _, err := sign.OpenKey(filepath.Join(keys, name)); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(keys, "master.key"), []byte(strings.Repeat("5a", 32)), 0o600); err != nil {
		return err
	}
	var planes []*node
	var urls []string
	defer func() {
		for _, n := range planes {
			n.Close()
		}
	}()
	for i := range clusterPlanes {
		n, err := b.serve(filepath.Join(root, fmt.Sprint("control", i)), "control", "--cluster", "--shared-keys", keys,
			"--database", database.URL("postgres"), "--registry", "oci://"+strings.TrimPrefix(artifacts.URL, "http://")+"/sluice?insecure=true")
		if err != nil {
			return err
		}
		planes, urls = append(planes, n), append(urls, "http://"+n.admin)
		if err := n.answers(ctx, n.admin); err != nil {
			return err
		}
	}
	leader, follower := planes[0], planes[1]
	token, err := os.ReadFile(filepath.Join(leader.data, "admin.token"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(follower.data, "admin.token"), token, 0o600); err != nil { //nolint:gosec // G703: a folder of this run
		return err
	}
	doc, err := json.Marshal(specification(0, "http://127.0.0.1:1"))
	if err != nil {
		return err
	}
	var ts struct{ ID string }
	in := map[string]any{"name": slug(0), "slug": slug(0), "source": map[string]any{"openapi": map[string]any{"document": string(doc)}}}
	if err := follower.api(ctx, http.MethodPost, "/v1/toolsets", in, &ts); err != nil {
		return err
	}
	var join struct{ Token string }
	if err := follower.api(ctx, http.MethodPost, "/v1/edges/join-tokens", map[string]any{"maxUses": edgeCount}, &join); err != nil {
		return err
	}
	took, err := followed(ctx, follower, root, strings.Join(urls, ","), ts.ID, join.Token)
	if err != nil {
		return err
	}
	memory, err := leader.memory("VmRSS")
	if err != nil {
		return err
	}
	b.report("cluster.edges100.p99.ms", milliseconds(took[len(took)*99/100]),
		fmt.Sprintf("median %s, %d deploys; the leader has %d MB", took[len(took)/2].Round(time.Millisecond/10), edgeDeploys, memory>>20))
	return nil
}
