package publish_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/gateway/edge"
	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/server"
	"github.com/sluicegate/sluice/registry/sign"
)

// The test binary started with this variable publishes in the directory it names
// until it is killed.
const (
	childVariable = "SLUICE_TEST_PUBLISH_IN"
	tornVariable  = "SLUICE_TEST_TORN_TAGS"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		err := publishForever(dir, os.Getenv(tornVariable) != "")
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(3)
	}
	os.Exit(m.Run())
}

// tornTags replaces the tag of the newest release in place, in two writes: the
// negative control. Between them it says so and waits to be killed, once something
// was acknowledged.
type tornTags struct {
	atomicfile.System

	acknowledged *atomic.Bool
}

func (s tornTags) Rename(from, to string) error {
	if !s.acknowledged.Load() || filepath.Base(filepath.Dir(to)) != "_tags" || filepath.Base(to) != oci.TagLatest {
		return s.System.Rename(from, to)
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(text[:len(text)/2]); err != nil {
		return err
	}
	fmt.Println("torn")
	time.Sleep(time.Minute) // it is killed here
	_, err = f.Write(text[len(text)/2:])
	return err
}

// fileRecords keeps what is live in one file, replaced atomically.
type fileRecords struct{ path string }

func (r fileRecords) Live(context.Context, string) ([]registry.ReleaseToolset, error) {
	b, err := os.ReadFile(r.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []registry.ReleaseToolset
	return out, json.Unmarshal(b, &out)
}

func (r fileRecords) save(live []registry.ReleaseToolset) error {
	b, err := json.Marshal(live)
	if err != nil {
		return err
	}
	return atomicfile.Write(r.path, b, 0o600)
}

func openWorld(dir string, sys atomicfile.System) (*publish.Publisher, *oci.Store, fileRecords, error) {
	rec := fileRecords{path: filepath.Join(dir, "live.json")}
	key, err := sign.OpenKey(filepath.Join(dir, "release.key"))
	if err != nil {
		return nil, nil, rec, err
	}
	backend, err := server.Open(server.Options{Dir: filepath.Join(dir, "registry"), System: sys})
	if err != nil {
		return nil, nil, rec, err
	}
	store := oci.NewStore(backend)
	p, err := publish.New(context.Background(), publish.Options{Store: store, Records: rec, ReleaseKey: key})
	return p, store, rec, err
}

// publishForever publishes a new content of one toolset again and again and
// prints a line for each that is live in the follower and on its disk.
func publishForever(dir string, torn bool) error {
	sys := atomicfile.OS
	var acknowledged atomic.Bool
	if torn {
		sys = tornTags{sys, &acknowledged}
	}
	p, store, rec, err := openWorld(dir, sys)
	if err != nil {
		return err
	}
	source := oci.NewSource(store, publish.DefaultGroup, time.Millisecond)
	follower, err := edge.New(edge.Options{
		Source: source, Dir: filepath.Join(dir, "cache"), Keys: p.Trusted(), Apply: func(*edge.State) error { return nil },
	})
	if err != nil {
		return err
	}
	go func() { _ = follower.Run(context.Background()) }()
	c, err := pushConnector(store, "things", "")
	if err != nil {
		return err
	}
	for {
		n := p.Current().Release().Revision + 1
		ts := toolset("one", "content "+strconv.FormatUint(n, 10), c)
		b, err := p.Bundle(context.Background(), ts, nil, nil)
		if err != nil {
			return err
		}
		err = rec.save([]registry.ReleaseToolset{{
			ID: ts.ID, Workspace: ts.Workspace, Slug: ts.Slug, Revision: n, Repository: b.Repository, Bundle: b.Digest,
		}})
		if err != nil {
			return err
		}
		r, err := p.Release(context.Background())
		if err != nil {
			return err
		}
		source.Wake()
		for follower.Status().Saved != r.Digest() {
			time.Sleep(100 * time.Microsecond)
		}
		fmt.Println("ack", r.Release().Revision, r.Digest())
		acknowledged.Store(true)
	}
}

type ack struct {
	revision uint64
	digest   registry.Digest
}

// killOnce runs the child, kills it a random moment after its first
// acknowledgement, or in the middle of a torn write, and returns the last one.
func killOnce(t *testing.T, dir string, torn bool) ack {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childVariable+"="+dir)
	if torn {
		cmd.Env = append(cmd.Env, tornVariable+"=1")
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var last ack
	lines := bufio.NewReader(out)
	read := func() error {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err
		}
		if line == "torn\n" {
			return cmd.Process.Kill()
		}
		var a ack
		if _, err := fmt.Sscanf(line, "ack %d %s\n", &a.revision, &a.digest); err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
		last = a
		return nil
	}
	if err := read(); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.Fatalf("the child did not start: %v, %s", err, stderr.String())
	}
	if !torn {
		kill := time.AfterFunc(rand.N(120*time.Millisecond), func() { _ = cmd.Process.Kill() })
		defer kill.Stop()
	}
	for {
		if err := read(); err != nil {
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			break
		}
	}
	_ = cmd.Wait() // killed
	return last
}

// check opens everything as the next start would and compares it with the last
// acknowledgement.
func check(dir string, last ack) error {
	p, store, rec, err := openWorld(dir, nil)
	if err != nil {
		return fmt.Errorf("control plane: %w", err)
	}
	at := func(what string, revision uint64, d registry.Digest) error {
		if revision < last.revision || revision == last.revision && d != last.digest {
			return fmt.Errorf("%s is at %d (%s), acknowledged was %d (%s)", what, revision, d.Short(), last.revision, last.digest.Short())
		}
		return nil
	}
	if err := at("the control plane", p.Current().Release().Revision, p.Current().Digest()); err != nil {
		return err
	}
	// The records may be ahead of the release by the one that was interrupted.
	live, err := rec.Live(context.Background(), "")
	if err != nil || len(live) != 1 || live[0].Revision < last.revision {
		return fmt.Errorf("records %+v, %w", live, err)
	}

	// The edge, with nothing but its cache.
	follower, err := edge.New(edge.Options{
		Source: nowhere{}, Dir: filepath.Join(dir, "cache"), Keys: p.Trusted(), Apply: func(*edge.State) error { return nil },
	})
	if err != nil {
		return err
	}
	if err := follower.Load(context.Background()); err != nil {
		return fmt.Errorf("edge: %w", err)
	}
	if s := follower.Status(); !s.Ready || at("the edge", s.Revision, s.Release) != nil {
		return fmt.Errorf("edge %+v: %w", s, at("the edge", s.Revision, s.Release))
	}
	// An edge that starts empty: everything the newest release names is whole.
	fresh, err := os.MkdirTemp(dir, "fresh")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	follower, err = edge.New(edge.Options{
		Source: oci.NewSource(store, publish.DefaultGroup, 0), Dir: fresh, Keys: p.Trusted(),
		Apply: func(s *edge.State) error {
			if s.Digest == p.Current().Digest() {
				cancel()
			}
			return nil
		},
	})
	if err != nil {
		return err
	}
	_ = follower.Run(ctx)
	if s := follower.Status(); s.Release != p.Current().Digest() {
		return fmt.Errorf("a new edge: %+v", s)
	}
	return nil
}

type nowhere struct{}

func (nowhere) Release(context.Context, registry.Digest) ([]byte, error) {
	return nil, errors.New("no control plane")
}

func (nowhere) Artifact(context.Context, string, registry.Digest, oci.Kind) (*oci.Artifact, error) {
	return nil, errors.New("no control plane")
}

// TestKilledWhilePublishing: every publish that was acknowledged is live at the
// control plane and at the edge after a kill at a random moment and a restart.
func TestKilledWhilePublishing(t *testing.T) {
	const rounds = 8 // about 3 s; the long run belongs to the chaos tests
	dir := t.TempDir()
	var last ack
	for i := range rounds {
		a := killOnce(t, dir, false)
		if a.revision <= last.revision {
			t.Fatalf("round %d acknowledged %d after %d", i, a.revision, last.revision)
		}
		last = a
		if err := check(dir, last); err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
	}
	t.Logf("%d releases, %d kills", last.revision, rounds)
}

// The negative control: tags that are written in place do not survive, and the
// same check says so.
func TestKilledWhilePublishingNoticesTornTags(t *testing.T) {
	dir := t.TempDir()
	err := check(dir, killOnce(t, dir, true))
	if err == nil {
		t.Fatal("killed in the middle of a torn write, and no check failed")
	}
	t.Logf("noticed: %v", err)
}
