//go:build chaos && linux

package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite"
)

const (
	// powerCuts is how often the power is cut at a moment that chance chooses.
	powerCuts = 20
	// disk is the size of the image: it is copied while everything stands still.
	diskBytes = 96 << 20
)

// disk is a file system in a file. What was not synced is in the memory of this
// machine and not in the file.
type disk struct{ image, at string }

func mount(t *testing.T, image, at string) *disk {
	t.Helper()
	if err := os.MkdirAll(at, 0o700); err != nil {
		t.Fatal(err)
	}
	// The file system's own regular commits would hide what is not synced.
	sh(t, "mount", "-o", "loop,commit=300", image, at)
	t.Cleanup(func() { _ = exec.Command("umount", "-l", at).Run() })
	return &disk{image, at}
}

func newDisk(t *testing.T) *disk {
	t.Helper()
	if os.Getuid() != 0 {
		t.Fatal("cutting the power needs root: it mounts a file system")
	}
	image := filepath.Join(t.TempDir(), "disk")
	f, err := os.Create(image)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(diskBytes); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	sh(t, "mkfs.ext4", "-q", "-F", image)
	return mount(t, image, filepath.Join(filepath.Dir(image), "mnt"))
}

func sh(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// cut copies what is on the disk, repairs the copy as a start after a power cut
// does, and mounts it.
func (d *disk) cut(t *testing.T) (at string, free func()) {
	t.Helper()
	dir := t.TempDir()
	image, at := filepath.Join(dir, "disk"), filepath.Join(dir, "mnt")
	sh(t, "cp", "--sparse=always", d.image, image)
	return at, func() { _ = exec.Command("umount", at).Run(); _ = os.Remove(image) }
}

func repair(t *testing.T, at string) {
	t.Helper()
	image := filepath.Join(filepath.Dir(at), "disk")
	// 1: errors were corrected.
	if out, err := exec.Command("e2fsck", "-fy", image).CombinedOutput(); err != nil {
		if x, ok := err.(*exec.ExitError); !ok || x.ExitCode() > 1 {
			t.Fatalf("e2fsck: %v\n%s", err, out)
		}
	}
	mount(t, image, at)
}

// writer makes acknowledged writes through the API: records and contents.
type writer struct {
	base, token string
	hc          *http.Client

	mu      sync.Mutex
	records []string // guarded by mu; names of API tokens that were made
	blobs   []string // guarded by mu; digests that were pushed
}

func (w *writer) do(method, url, contentType string, body []byte, basic bool) (int, error) {
	req, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	if basic {
		req.SetBasicAuth("x", w.token)
	} else {
		req.Header.Set("Authorization", "Bearer "+w.token)
	}
	req.Header.Set("Content-Type", contentType)
	resp, err := w.hc.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

func (w *writer) run(ctx context.Context, n int) {
	for i := 0; ctx.Err() == nil; i++ {
		name := fmt.Sprintf("w%d-%d", n, i)
		if status, err := w.do(http.MethodPost, w.base+"/v1/tokens", "application/json", []byte(`{"name":"`+name+`","role":"viewer"}`), false); err == nil && status == http.StatusCreated {
			w.mu.Lock()
			w.records = append(w.records, name)
			w.mu.Unlock()
		}
		content := bytes.Repeat([]byte(name+" "), 200)
		sum := sha256.Sum256(content)
		digest := "sha256:" + hex.EncodeToString(sum[:])
		at := w.base + "/v2/default/plugins/chaos/blobs/uploads/?digest=" + digest
		if status, err := w.do(http.MethodPost, at, "application/octet-stream", content, true); err == nil && status == http.StatusCreated {
			w.mu.Lock()
			w.blobs = append(w.blobs, digest)
			w.mu.Unlock()
		}
	}
}

func (w *writer) acknowledged() (records, blobs []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.records...), append([]string(nil), w.blobs...)
}

// TestChaosPower cuts the power under a control plane that is written to: every
// write that was acknowledged is there after the repair, records and contents.
func TestChaosPower(t *testing.T) {
	d := newDisk(t)
	data := filepath.Join(d.at, "data")
	addr := freePort(t)
	serve := func(data, addr string) *process {
		return start(t, func() bool { return answers("http://" + addr + "/readyz") }, binary,
			"serve", "--role", "control", "--data", data, "--admin-listen", addr, "--log-level", "error")
	}
	p := serve(data, addr)
	token, err := os.ReadFile(filepath.Join(data, "admin.token"))
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{base: "http://" + addr, token: strings.TrimSpace(string(token)), hc: &http.Client{Timeout: time.Minute}}
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() { w.run(ctx, i) })
	}
	defer func() { stop(); wg.Wait() }()
	total := 0
	for cut := range powerCuts {
		time.Sleep(time.Duration(50+rand.IntN(700)) * time.Millisecond) // a moment that chance chooses
		if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond) // answers that were sent arrive
		records, blobs := w.acknowledged()
		at, free := d.cut(t)
		if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		repair(t, at)
		after := freePort(t)
		q := serve(filepath.Join(at, "data"), after)
		var have struct {
			Items      []struct{ Name string }
			NextCursor string
		}
		n := &node{data: filepath.Join(at, "data"), admin: after}
		names := map[string]bool{}
		for path := "/v1/tokens?limit=200"; ; path = "/v1/tokens?limit=200&cursor=" + have.NextCursor {
			have.Items, have.NextCursor = nil, ""
			n.api(t, path, &have)
			for _, x := range have.Items {
				names[x.Name] = true
			}
			if have.NextCursor == "" {
				break
			}
		}
		lost := 0
		for _, name := range records {
			if !names[name] {
				lost++
			}
		}
		if lost > 0 {
			t.Errorf("cut %d: %d of %d acknowledged records are lost", cut, lost, len(records))
		}
		check := &writer{token: w.token, hc: w.hc}
		for i, b := range blobs {
			if i%7 != cut%7 && i < len(blobs)-50 { // the newest, and some of the others
				continue
			}
			if status, err := check.do(http.MethodGet, "http://"+after+"/v2/default/plugins/chaos/blobs/"+b, "", nil, true); err != nil || status != http.StatusOK {
				t.Errorf("cut %d: the acknowledged content %s: %d, %v", cut, b, status, err)
			}
		}
		q.stop(t)
		out, _ := exec.Command(binary, "doctor", filepath.Join(at, "data")).CombinedOutput() // the disk is small, and it says so
		if bad := strings.Count(string(out), "✗") - strings.Count(string(out), "✗ disk"); bad > 0 || !strings.Contains(string(out), "✓ contents") {
			t.Errorf("cut %d: doctor:\n%s", cut, out)
		}
		free()
		total = len(records) + len(blobs)
	}
	t.Logf("%d power cuts, %d acknowledged writes at the last, none lost", powerCuts, total)
}

// TestChaosPowerControl: the same with a database that does not sync loses
// acknowledged writes, so the test above would see it.
func TestChaosPowerControl(t *testing.T) {
	d := newDisk(t)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(d.at, "x.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE x (n INTEGER PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	sh(t, "sync", "-f", d.at) // the table is there, what follows is not synced
	for n := range 1000 {
		if _, err := db.Exec("INSERT INTO x VALUES (?)", n); err != nil {
			t.Fatal(err)
		}
	}
	at, free := d.cut(t)
	defer free()
	repair(t, at)
	copied, err := sql.Open("sqlite", "file:"+filepath.Join(at, "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	var n int
	switch err := copied.QueryRow("SELECT COUNT(*) FROM x").Scan(&n); {
	case err != nil:
		t.Logf("the database cannot be read: %v", err)
	case n == 1000:
		t.Fatal("a database that does not sync lost nothing: the test cuts no power")
	default:
		t.Logf("%d of 1000 acknowledged rows are lost without syncing", 1000-n)
	}
}
