package edge_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/fleet"
	"github.com/sluicegate/sluice/gateway/edge"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// After a fault the first question is not held, so that an edge that is well again
// says so at once.
func TestAsksAtOnceAfterFault(t *testing.T) {
	p := newPlane(t)
	p.deploy("one", "a")
	e := p.enrol(filepath.Join(t.TempDir(), "cache"), p.join(`{"allWorkspaces":true}`))
	e.stop()
	known := e.Status().Release
	var mu sync.Mutex
	var waits []string
	status := 0
	p.set(func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path != registry.EdgeReleasePath {
			return false
		}
		waits = append(waits, r.URL.Query().Get("wait"))
		switch status {
		case 0:
			panic(http.ErrAbortHandler)
		case http.StatusOK:
			w.WriteHeader(http.StatusNotModified)
		default:
			w.WriteHeader(status)
		}
		return true
	})
	for _, status = range []int{http.StatusOK, 0, http.StatusServiceUnavailable, http.StatusOK, http.StatusOK} {
		_, err := e.remote.Release(t.Context(), known)
		if errors.Is(err, registry.ErrUnchanged) != (status == http.StatusOK) {
			t.Fatalf("%d: %v", status, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(slices.Compact(slices.Clone(waits)), " "); got != "1 0 1" {
		t.Errorf("questions waited %q", waits)
	}
}

// A node enrols once, with a token that is good once, and keeps its identity.
func TestEnrol(t *testing.T) {
	p := newPlane(t)
	token := p.join(`{"labels":{"region":"eu"}}`)
	dir := filepath.Join(t.TempDir(), "cache")
	e := p.enrol(dir, token)
	edgeID, group := e.remote.Edge(), e.remote.Group()
	if !strings.HasPrefix(edgeID, "edge_") || group == "default" {
		t.Fatalf("enrolled as %s in %s", edgeID, group)
	}
	info, err := os.Stat(filepath.Join(dir, "identity.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("identity: %v, %v", info, err)
	}
	e.until("ready", func(s edge.Status) bool { return s.Ready })
	e.stop()
	again := p.enrol(dir, secrets.Secret{}) // needs no token
	if again.remote.Edge() != edgeID {
		t.Fatalf("became %s, was %s", again.remote.Edge(), edgeID)
	}
	other, err := edge.OpenRemote(edge.RemoteOptions{
		ControlPlane: "https://" + p.addr, Dir: t.TempDir(), Name: "other", Client: p.client(),
		JoinToken: func() (secrets.Secret, error) { return token, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Enrol(t.Context()); err == nil || !strings.Contains(err.Error(), "used up") || other.Enrolled() {
		t.Fatalf("a token that was used gives %v", err)
	}
	if _, err := edge.OpenRemote(edge.RemoteOptions{ControlPlane: "https://elsewhere.example", Dir: dir, Client: p.client()}); err == nil {
		t.Fatal("the identity was accepted for another control plane")
	}
}

// lossy delivers requests and loses the answers of the first ones.
type lossy struct {
	http.RoundTripper
	lose int
}

func (l *lossy) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.RoundTripper.RoundTrip(r)
	if err == nil && l.lose > 0 {
		l.lose--
		_ = resp.Body.Close()
		return nil, errors.New("the answer was lost")
	}
	return resp, err
}

// A node whose enrolment was answered, and which did not get the answer, is the same edge when it asks
// again, also after a restart. Nobody else gets in with its token, nor with its request once it was heard of.
func TestEnrolAnswerLost(t *testing.T) {
	p := newPlane(t)
	token, dir := p.join(`{"labels":{"region":"eu"}}`), filepath.Join(t.TempDir(), "cache")
	var sent []byte
	p.set(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == registry.EdgeEnrolPath && len(sent) == 0 {
			sent, _ = io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(sent))
		}
		return false
	})
	remote := func(dir, name string, lose int) *edge.Remote {
		client := p.client()
		client.Transport = &lossy{client.Transport, lose}
		r, err := edge.OpenRemote(edge.RemoteOptions{
			ControlPlane: "https://" + p.addr, Dir: dir, Name: name, Client: client, JoinToken: func() (secrets.Secret, error) { return token, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	lost := remote(dir, "far", 2)
	for range 2 {
		if err := lost.Enrol(t.Context()); err == nil || !strings.Contains(err.Error(), "lost") {
			t.Fatal(err)
		}
	}
	for _, stranger := range []*edge.Remote{remote(t.TempDir(), "far", 0), remote(dir, "another-name", 0)} {
		if err := stranger.Enrol(t.Context()); err == nil || !strings.Contains(err.Error(), "used up") {
			t.Errorf("somebody else with the token: %v", err)
		}
	}
	again := remote(dir, "far", 0)
	if err := again.Enrol(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := again.Release(t.Context(), ""); err != nil {
		t.Errorf("its release: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "joining.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the keys are there twice: %v", err)
	}
	code, list := p.api("GET", "/v1/edges", "")
	if code != http.StatusOK || strings.Count(string(list), `"id":"edge_`) != 1 || !strings.Contains(string(list), again.Edge()) {
		t.Errorf("edges: %d %s", code, list)
	}
	// The request of somebody who recorded it, after the edge has spoken.
	e := p.enrol(dir, secrets.Secret{})
	e.until("ready", func(s edge.Status) bool { return s.Ready })
	if err := e.remote.Report(t.Context(), registry.EdgeStatus{}); err != nil {
		t.Fatal(err)
	}
	e.stop()
	resp, err := p.client().Post("https://"+p.addr+registry.EdgeEnrolPath, "application/json", bytes.NewReader(sent))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("a recorded request: %d", resp.StatusCode)
	}
}

// Keys of another control plane, or a file that is damaged, are not joined with.
func TestEnrolKeysOfAnother(t *testing.T) {
	for name, text := range map[string]string{"damaged": "{", "empty": "{}", "elsewhere": `{"controlPlane":"https://elsewhere.example"}`} {
		p, dir := newPlane(t), t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "joining.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if e := p.enrol(dir, p.join(`{"allWorkspaces":true}`)); e.remote.Edge() == "" {
			t.Errorf("%s: not enrolled", name)
		}
	}
}

func (p *plane) client() *http.Client {
	pool := x509.NewCertPool()
	pool.AddCert(p.authority.cert)
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	p.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// A token that expires is renewed with the node's key, before and after it did.
func TestTokenIsRenewed(t *testing.T) {
	for _, days := range []int64{16, 40} {
		p := newPlane(t)
		good := p.deploy("one", "a")
		e := p.enrol(filepath.Join(t.TempDir(), "cache"), p.join(`{"allWorkspaces":true}`))
		e.live(good)
		ahead := days * int64(24*time.Hour)
		p.clock.Store(ahead)
		e.clock.Store(ahead)
		next := p.deploy("two", "a")
		e.live(next)
		if err := e.remote.Report(t.Context(), registry.EdgeStatus{Ready: true}); err != nil {
			t.Fatal(err)
		}
		if err := e.remote.Fault(); err != nil {
			t.Fatal(err)
		}
		_, b := p.api("GET", "/v1/edges/far", "")
		var shown fleet.Edge
		if err := json.Unmarshal(b, &shown); err != nil || shown.TokenExpires.Before(p.st.Now().Add(20*24*time.Hour)) {
			t.Fatalf("after %d days: %s", days, b)
		}
	}
}
