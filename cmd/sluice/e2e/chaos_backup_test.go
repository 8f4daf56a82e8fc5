//go:build chaos && linux

package e2e

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	orasmemory "oras.land/oras-go/v2/content/memory"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/sluicegate/sluice/admin/store/storetest"
)

var (
	backups    = flag.Int("backups", 10, "how many backups TestChaosBackup makes")
	backupSize = flag.Int("backup.mb", 50, "how large they are at least, in MiB")
	backupFor  = flag.Duration("backup.for", 0, "with each database begin no backup after this `TIME`; 0 for no end")
	// A line of it is of one backup that restored and served, or of the publishes of a run.
	backupLog = flag.String("backup.log", "", "a `FILE` that keeps what was done: a later run of the same binary goes on there")
)

// TestChaosBackup backs up a control plane that publishes ten times a second, restores
// each backup, and calls a tool through what was restored.
func TestChaosBackup(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) { backUp(t, "SQLite", func() string { return "" }) })
	t.Run("PostgreSQL", func(t *testing.T) {
		server := storetest.Postgres(t)
		db, err := sql.Open("pgx", server)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		n := 0
		backUp(t, "PostgreSQL", func() string {
			if n > 1 { // the records of the restore before
				if _, err := db.ExecContext(t.Context(), fmt.Sprintf("DROP DATABASE b%d WITH (FORCE)", n)); err != nil {
					t.Fatal(err)
				}
			}
			n++
			if _, err := db.ExecContext(t.Context(), fmt.Sprintf("CREATE DATABASE b%d", n)); err != nil {
				t.Fatal(err)
			}
			return strings.Replace(server, "/postgres?", fmt.Sprintf("/b%d?", n), 1)
		})
	})
}

// backUp runs the test on databases that database makes; the empty name is a file.
func backUp(t *testing.T, kind string, database func() string) {
	done := openBackups(t, kind)
	if len(done.sizes) >= *backups {
		done.tell(t)
		return
	}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `[{"id":1,"name":"anvil"},{"id":2,"name":"bolt"}]`)
	}))
	defer upstream.Close()
	dir := t.TempDir()
	args := func(database string) []string {
		a := []string{"--allow-private-upstreams", "--log-level", "warn"}
		if database != "" {
			a = append(a, "--database", database)
		}
		return a
	}
	first := database()
	n := &node{gateway: freePort(t), admin: freePort(t), data: filepath.Join(dir, "data")}
	n.process = start(t, func() bool { return answers("http://" + n.gateway + "/readyz") }, binary,
		append([]string{"serve", "--listen", n.gateway, "--admin-listen", n.admin, "--data", n.data}, args(first)...)...)
	spec, err := filepath.Abs("testdata/things.yaml")
	if err != nil {
		t.Fatal(err)
	}
	n.cli(t, "add", spec, "--public", "--name", "things", "--base-url", upstream.URL)
	fill(t, n, dir, upstream.URL)
	want, _, err := ask(http.DefaultClient, "http://"+n.gateway+"/t/things")
	if err != nil || !strings.Contains(want, "anvil") {
		t.Fatalf("the first answer: %s, %v", want, err)
	}

	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(dir, "backup.key")
	if err := os.WriteFile(key, []byte(identity.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	published, began := 0, time.Now()
	wg.Go(func() {
		pub := &publisher{base: "http://" + n.admin, token: adminToken(t, n.data), toolset: "things", hc: &http.Client{Timeout: 20 * time.Second}}
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			if err := pub.once(); err != nil {
				t.Error(err)
				return
			}
			published++
			<-tick.C
		}
	})
	defer func() {
		stop()
		wg.Wait()
		done.add(t, "published", int64(published), time.Since(began))
		done.tell(t)
		if published == 0 {
			t.Error("nothing was published meanwhile")
		}
	}()
	for i := len(done.sizes); i < *backups && (*backupFor == 0 || time.Since(began) < *backupFor); i++ {
		file := filepath.Join(dir, "sluice.backup")
		began := time.Now()
		sluice(t, append([]string{"backup", file, "--data", n.data, "--recipient", identity.Recipient().String()}, withDatabase(first)...)...)
		wrote := time.Since(began)
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() < int64(*backupSize)<<20 {
			t.Fatalf("a backup of %d bytes, want %d MiB at least", info.Size(), *backupSize)
		}
		sluice(t, "backup", file, "--verify", "--identity", key, "--temp", dir)
		fresh, db := filepath.Join(dir, "restored"), database()
		sluice(t, append([]string{"restore", file, "--identity", key, "--data", fresh}, withDatabase(db)...)...)
		r := &node{gateway: freePort(t), admin: freePort(t), data: fresh}
		r.process = start(t, func() bool { return answers("http://" + r.gateway + "/readyz") }, binary,
			append([]string{"serve", "--listen", r.gateway, "--admin-listen", r.admin, "--data", fresh}, args(db)...)...)
		if got, _, err := ask(http.DefaultClient, "http://"+r.gateway+"/t/things"); err != nil || got != want {
			t.Fatalf("restored from backup %d: %v, %.300s; want %.300s", i+1, err, got, want)
		}
		r.stop(t)
		if err := os.RemoveAll(fresh); err != nil {
			t.Fatal(err)
		}
		done.add(t, "backup", info.Size(), wrote)
	}
}

// backupsDone is what runs of the same binary did with one kind of database and one size.
type backupsDone struct {
	kind      string
	head      string // of its lines in backup.log
	sizes     []int64
	writing   time.Duration
	published int64
	publishes time.Duration // how long somebody published
}

// openBackups reads what was done before.
func openBackups(t *testing.T, kind string) *backupsDone {
	t.Helper()
	program, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	d := &backupsDone{kind: kind, head: fmt.Sprintf("%.6x %s %d MiB", sha256.Sum256(program), kind, *backupSize)}
	if *backupLog == "" {
		return d
	}
	b, err := os.ReadFile(*backupLog)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var what string
		var n, took int64
		rest, ours := strings.CutPrefix(line, d.head+" ")
		if _, err := fmt.Sscan(rest, &what, &n, &took); ours && err == nil { // the last line may be cut off
			d.count(what, n, time.Duration(took)*time.Millisecond)
		}
	}
	return d
}

func (d *backupsDone) count(what string, n int64, took time.Duration) {
	if what == "backup" {
		d.sizes, d.writing = append(d.sizes, n), d.writing+took
	} else {
		d.published, d.publishes = d.published+n, d.publishes+took
	}
}

// add keeps one line.
func (d *backupsDone) add(t *testing.T, what string, n int64, took time.Duration) {
	d.count(what, n, took)
	if *backupLog == "" {
		return
	}
	f, err := os.OpenFile(*backupLog, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(f, "%s %s %d %d\n", d.head, what, n, took.Milliseconds())
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

func (d *backupsDone) tell(t *testing.T) {
	t.Helper()
	if len(d.sizes) == 0 {
		return
	}
	var total int64
	for _, n := range d.sizes {
		total += n
	}
	n := len(d.sizes)
	t.Logf("%s: %d of %d backups of %d MB restore and serve; written in %s on average; %d publishes meanwhile, %.1f a second",
		d.kind, n, max(n, *backups), total/int64(n)/1e6, (d.writing / time.Duration(n)).Round(time.Millisecond), d.published, float64(d.published)/d.publishes.Seconds())
}

func withDatabase(url string) []string {
	if url == "" {
		return nil
	}
	return []string{"--database", url}
}

// sluice runs a command that needs no node.
func sluice(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), binary, args...).CombinedOutput(); err != nil {
		t.Fatalf("sluice %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func adminToken(t *testing.T, data string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(data, "admin.token"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// fill makes a backup of the node at least backup.mb large, with what does not compress:
// nine twelfths are records (specifications), the rest is in the registry.
func fill(t *testing.T, n *node, dir, upstream string) {
	random := func(size int) string {
		b := make([]byte, size)
		_, _ = rand.Read(b) // never fails
		return base64.StdEncoding.EncodeToString(b)
	}
	repo, err := remote.NewRepository(n.admin + "/default/plugins/padding")
	if err != nil {
		t.Fatal(err)
	}
	repo.PlainHTTP = true
	repo.Client = &auth.Client{Credential: auth.StaticCredential(n.admin, auth.Credential{Username: "any", Password: adminToken(t, n.data)})}
	for i := range (*backupSize + 11) / 12 {
		d := map[string]any{
			"openapi": "3.0.3", "info": map[string]any{"title": "padding", "version": "1"}, "servers": []any{map[string]any{"url": upstream}},
			"paths": map[string]any{"/": map[string]any{"get": map[string]any{"operationId": "list", "responses": map[string]any{"200": map[string]any{"description": "things"}}}}},
		}
		for k := range 4 {
			d[fmt.Sprint("x-padding-", k)] = random(2304 << 10) // 3 MiB of text: a string may have 4
		}
		b, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "padding.json")
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		n.cli(t, "add", file, "--public", "--name", fmt.Sprint("padding", i))

		ctx, tag := t.Context(), fmt.Sprint("v", i)
		content := orasmemory.New()
		layer, err := oras.PushBytes(ctx, content, "application/wasm", []byte(random(2304<<10)))
		if err != nil {
			t.Fatal(err)
		}
		config, err := oras.PushBytes(ctx, content, "application/vnd.wasm.config.v0+json",
			fmt.Appendf(nil, `{"architecture":"wasm","os":"wasip1","layerDigests":[%q]}`, layer.Digest))
		if err != nil {
			t.Fatal(err)
		}
		m, err := oras.PackManifest(ctx, content, oras.PackManifestVersion1_1, "application/vnd.sluice.plugin.v1",
			oras.PackManifestOptions{Layers: []ocispec.Descriptor{layer}, ConfigDescriptor: &config})
		if err != nil {
			t.Fatal(err)
		}
		if err := content.Tag(ctx, m, tag); err != nil {
			t.Fatal(err)
		}
		if _, err := oras.Copy(ctx, content, tag, repo, tag, oras.DefaultCopyOptions); err != nil {
			t.Fatal(err)
		}
	}
}
