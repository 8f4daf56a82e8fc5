package edge

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/sign"
)

func releaseNamed(epoch, revision uint64) registry.ReleaseName {
	var n registry.ReleaseName
	if err := json.Unmarshal(fmt.Appendf(nil, `{"epoch":%d,"revision":%d}`, epoch, revision), &n); err != nil {
		panic(err)
	}
	return n
}

// TestNeeds: a release needs the credentials of its toolsets and of what is on trial beside
// them, but for those of single callers.
func TestNeeds(t *testing.T) {
	toolset := func(slug string, auth ...registry.AuthShape) *Toolset {
		out := &Toolset{ReleaseToolset: registry.ReleaseToolset{Slug: slug}, Bundle: &registry.Toolset{}}
		for i := range auth {
			out.Bundle.Connectors = append(out.Bundle.Connectors, registry.ConnectorRef{Auth: &auth[i]})
		}
		return out
	}
	header := func(id string) registry.AuthShape {
		return registry.AuthShape{Type: registry.AuthHeader, CredentialID: id}
	}
	one := toolset("one", header("a"), registry.AuthShape{Type: registry.AuthNone}, registry.AuthShape{Type: registry.AuthOAuth2, CredentialID: "u", User: true})
	one.Candidate = toolset("one", header("trial"))
	two := toolset("two", registry.AuthShape{Type: registry.AuthList, Items: []registry.AuthShape{header("b"), header("c")}})
	n := needsOf(&State{Release: &registry.Release{Epoch: 3, Revision: 4}, Digest: "d", Toolsets: []*Toolset{one, two}})
	if got := fmt.Sprint(n.toolsets); got != "map[a:one b:two c:two trial:one]" {
		t.Errorf("needed: %s", got)
	}
	if n.release.String() != "3.4" || n.release.Digest != "d" {
		t.Errorf("of release %+v", n.release)
	}
	for have, want := range map[string]string{
		"a b c trial": "", "b c trial": "a of toolset one", "a trial": "b of toolset two, c of toolset two",
	} {
		if got := n.without(func(id string) bool { return slices.Contains(strings.Fields(have), id) }); got != want {
			t.Errorf("with %s: %q is missing, want %q", have, got, want)
		}
	}
	for many, want := range map[int]string{maxNamed: "", maxNamed + 1: ", and 1 more"} {
		n := &needs{toolsets: map[string]string{}}
		for i := range many {
			n.toolsets[fmt.Sprint(i)] = "t"
		}
		got := n.without(func(string) bool { return false })
		if strings.Count(got, "of toolset") != maxNamed || !strings.HasSuffix(got, want) || strings.Contains(got, "more") != (want != "") {
			t.Errorf("of %d: %q", many, got)
		}
		if !strings.HasPrefix(got, "0 of toolset t, 1 of toolset t, 2 of toolset t, 3 of toolset t, 4 of toolset t") {
			t.Errorf("not in their order: %q", got)
		}
	}
}

// TestVaultSaysWhatIsMissing: of the live release and of an answer, unless the control plane
// says why, or is of a version that does not say.
func TestVaultSaysWhatIsMissing(t *testing.T) {
	v := &Vault{asked: make(chan struct{})}
	v.values.Store(&map[string]registry.EdgeCredential{"have": {ID: "have", Version: 7}})
	if err := v.Missing(); err != nil {
		t.Errorf("before a release is live: %v", err)
	}
	v.live = &needs{release: releaseNamed(1, 5), toolsets: map[string]string{"have": "t"}}
	if err := v.Missing(); err != nil {
		t.Errorf("with all: %v", err)
	}
	v.live.toolsets["lost"] = "t"
	if err := v.Missing(); !problem.Is(err, problem.Unavailable) || !strings.Contains(err.Error(), "lost of toolset t") || strings.Contains(err.Error(), "have of") {
		t.Errorf("without one: %v", err)
	}
	v.silent = true
	if err := v.Missing(); err != nil {
		t.Errorf("of a control plane that does not say: %v", err)
	}
	v.silent, v.absent = false, map[string]string{"lost": "empty"}
	if err := v.Missing(); err != nil {
		t.Errorf("of one that says why: %v", err)
	}
	// An answer accounts for what it has and what it says of the rest, when it is for the
	// live release or does not say.
	older, same, newer := releaseNamed(1, 4), releaseNamed(1, 5), releaseNamed(2, 0)
	for _, c := range []struct {
		answered *registry.ReleaseName
		sent     bool
		absent   bool
		lacks    bool
	}{
		{nil, false, true, true}, {&older, false, true, true}, {&same, false, true, true}, {&newer, false, true, false}, {&same, true, true, false}, {&same, true, false, true},
	} {
		v.sent, v.absent = map[string]bool{"have": c.sent}, nil
		if c.absent {
			v.absent = map[string]string{"lost": "empty"}
		}
		if err := v.incompleteLocked(c.answered); (err != nil) != c.lacks || err != nil && !problem.Is(err, problem.Unavailable) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	v.live = nil
	if err := v.incompleteLocked(&same); err != nil {
		t.Errorf("without a live release: %v", err)
	}

	if c, err := v.Credential("have"); err != nil || c.Version != 7 {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := v.Credential("lost"); !problem.Is(err, problem.NotFound) {
		t.Errorf("%v", err)
	}
	if v.PoolKey() != nil {
		t.Error("a key of a pool that was never told")
	}
	key := []byte("key")
	if v.pool.Store(&key); string(v.PoolKey()) != "key" {
		t.Error("the key of the pool is another")
	}
}

// TestNewest: the newest release that a node has seen is the live one or that of the last
// answer.
func TestNewest(t *testing.T) {
	older, newer := releaseNamed(1, 9), releaseNamed(2, 1)
	v := &Vault{}
	if v.newestLocked() != nil {
		t.Error("none was seen")
	}
	v.release = &older
	if got := v.newestLocked(); got == nil || *got != older {
		t.Errorf("%v, want that of the answer", got)
	}
	v.live = &needs{release: newer}
	if got := v.newestLocked(); got == nil || *got != newer {
		t.Errorf("%v, want the live one", got)
	}
	v.release, v.live.release = &newer, older
	if got := v.newestLocked(); got == nil || *got != newer {
		t.Errorf("%v, want that of the answer", got)
	}
	v.release = nil
	if got := v.newestLocked(); got == nil || *got != older {
		t.Errorf("%v, want the only one", got)
	}
}

// TestTokensOfUsersEnd: the token of a caller is used to the second that it ends, is
// renewed, or was asked for long ago, whichever is first.
func TestTokensOfUsersEnd(t *testing.T) {
	now := time.Unix(1e9, 0)
	x := secrets.Wire{Secret: secrets.New("x")}
	for _, c := range []struct{ renew, expires, lasts time.Duration }{
		{0, 0, userTokenTTL},
		{time.Minute, 0, time.Minute},
		{time.Hour, 0, userTokenTTL},
		{0, time.Minute, time.Minute},
		{0, time.Hour, userTokenTTL},
		{time.Minute, 30 * time.Second, 30 * time.Second},
		{userTokenTTL, 0, userTokenTTL},
	} {
		var u userTokens
		in := registry.EdgeCredential{Value: x}
		if c.renew != 0 {
			in.Renew = now.Add(c.renew).Unix()
		}
		if c.expires != 0 {
			in.Expires = now.Add(c.expires).Unix()
		}
		u.put("a", in, 0, now)
		for at, want := range map[time.Duration]bool{0: true, c.lasts - time.Second: true, c.lasts: false, c.lasts + time.Hour: false} {
			if _, ok := u.get("a", now.Add(at)); ok != want {
				t.Errorf("%+v, after %v: %v", c, at, ok)
			}
		}
		if _, ok := u.get("b", now); ok {
			t.Error("another caller's token")
		}
	}
	var u userTokens
	u.follow(3)
	if u.now() != 3 {
		t.Errorf("epoch %d", u.now())
	}
}

// TestIdentityIsWhole: an identity that lacks what a node needs is refused, and none is
// nobody's fault.
func TestIdentityIsWhole(t *testing.T) {
	seal, err := secrets.NewSealKey()
	if err != nil {
		t.Fatal(err)
	}
	whole := func() *identity {
		return &identity{Edge: "e", Group: "main", SealKey: seal.Bytes(), SignSeed: make([]byte, ed25519.SeedSize)}
	}
	for what, change := range map[string]func(*identity){
		"": func(*identity) {}, "edge": func(i *identity) { i.Edge = "" }, "group": func(i *identity) { i.Group = "" }, "a group's name": func(i *identity) { i.Group = "../x" },
		"a short seed": func(i *identity) { i.SignSeed = i.SignSeed[1:] }, "a long seed": func(i *identity) { i.SignSeed = append(i.SignSeed, 0) },
		"the seal key": func(i *identity) { i.SealKey = nil },
	} {
		dir, i := t.TempDir(), whole()
		change(i)
		b, err := json.Marshal(i)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fileIdentity), b, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readIdentity(dir)
		if what == "" && (err != nil || got.Edge != "e") || what != "" && !problem.Is(err, problem.InvalidArgument) {
			t.Errorf("%q: %+v, %v", what, got, err)
		}
	}
	if got, err := readIdentity(t.TempDir()); got != nil || err != nil {
		t.Errorf("not enrolled: %v, %v", got, err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, fileIdentity), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readIdentity(dir); !problem.Is(err, problem.InvalidArgument) {
		t.Errorf("no JSON: %v", err)
	}
}

// TestWhatIsSentToAnother: what a request to a control plane that failed may be sent again
// for, and how it is aimed at another one.
func TestWhatIsSentToAnother(t *testing.T) {
	for status := 200; status < 600; status++ {
		if got, want := away(status), status == 502 || status == 503 || status == 504; got != want {
			t.Errorf("%d: away %v", status, got)
		}
	}
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE"} {
		for op, dialed := range map[string]bool{"dial": true, "read": false, "write": false} {
			err := fmt.Errorf("ask: %w", &net.OpError{Op: op, Err: errors.New("x")})
			if got, want := unsent(method, err), dialed || method == "GET" || method == "HEAD"; got != want {
				t.Errorf("%s after %s: %v", method, op, got)
			}
		}
		if got := unsent(method, errors.New("x")); got != (method == "GET" || method == "HEAD") {
			t.Errorf("%s after another fault: %v", method, got)
		}
	}
	planes, err := ParseControlPlanes("https://a.example/x, http://b.example/y%2Fz/")
	if err != nil || len(planes) != 2 {
		t.Fatal(planes, err)
	}
	f := &failover{planes: planes}
	for path, want := range map[string]string{"/x/v1/edge": "http://b.example/y%2Fz/v1/edge", "/x/v1/a%2Fb": "http://b.example/y%2Fz/v1/a%2Fb"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://a.example"+path, strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.aim(req, 1, true)
		if err != nil || got.Host != "" || got.Body == nil || got.URL.Host != "b.example" || got.URL.Scheme != "http" {
			t.Errorf("%s: %+v, %v", path, got.URL, err)
			continue
		}
		if u, err := url.PathUnescape(want); err != nil || "http://b.example"+got.URL.Path != u {
			t.Errorf("%s: %s, want %s", path, got.URL.Path, want)
		}
		if req.URL.Host != "a.example" {
			t.Error("the caller's request is changed")
		}
		req.GetBody = nil
		if _, err := f.aim(req, 1, true); err == nil {
			t.Error("a body that cannot be read again is sent again")
		}
		if _, err := f.aim(req, 1, false); err != nil {
			t.Errorf("the first time: %v", err)
		}
		req.GetBody = func() (io.ReadCloser, error) { return nil, errors.New("gone") }
		if _, err := f.aim(req, 1, true); err == nil {
			t.Error("a body that is gone is sent again")
		}
	}
}

// TestWhoSaysWhatIsAbsent: a key of the release that is live or prepared, and before there is one
// a key that the node was told when it was enrolled; for this node and this release.
func TestWhoSaysWhatIsAbsent(t *testing.T) {
	dir := t.TempDir()
	own := *enrolled(t, dir)
	v := OpenVault((&desk{}).ask(t, dir))
	key := map[string]*sign.Key{}
	trusted := map[string][]registry.TrustedKey{}
	for _, name := range []string{"enrolled", "live", "next"} {
		k, err := sign.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		key[name], trusted[name] = k, []registry.TrustedKey{k.Trusted(registry.UseRelease, "")}
	}
	own.Trusted = trusted["enrolled"]
	v.remote.id = &own
	release := releaseNamed(1, 5)
	release.Digest = registry.DigestOf(nil)
	other := releaseNamed(1, 6)
	other.Digest = release.Digest
	says := func(by, edge string, of, answered *registry.ReleaseName) error {
		t.Helper()
		env, err := sign.SignAbsence(key[by], &registry.AbsenceNotice{Edge: edge, Release: *of, Absent: []registry.Absence{{Credential: "lost", Reason: registry.AbsentDeleted}}})
		if err != nil {
			t.Fatal(err)
		}
		out, err := v.absencesLocked(&registry.EdgeCredentials{Edge: own.Edge, Release: answered, Absent: env})
		if (err == nil) != (len(out) == 1 && out["lost"] == registry.AbsentDeleted) {
			t.Errorf("absent are %v, %v", out, err)
		}
		return err
	}
	for have, want := range map[string]string{"": "enrolled", "live": "live", "next": "next", "live next": "live next"} {
		v.live, v.next = nil, nil
		if strings.Contains(have, "live") {
			v.live = &needs{release: release, trusted: trusted["live"]}
		}
		if strings.Contains(have, "next") {
			v.next = []*needs{{release: release, trusted: trusted["next"]}}
		}
		for by := range key {
			if err := says(by, own.Edge, &release, &release); (err == nil) != strings.Contains(want, by) {
				t.Errorf("with %q, signed by that of %s: %v", have, by, err)
			}
		}
	}
	v.live, v.next = nil, nil
	for what, err := range map[string]error{
		"another edge": says("enrolled", "edge_2", &release, &release), "another release": says("enrolled", own.Edge, &release, &other), "no release": says("enrolled", own.Edge, &release, nil),
	} {
		if !problem.Is(err, problem.InvalidRelease) {
			t.Errorf("for %s: %v", what, err)
		}
	}
}

// TestNewsOfFaults: the first failure is news, and the first answer behind it.
func TestNewsOfFaults(t *testing.T) {
	var v Vault
	for i, c := range []struct {
		err  error
		news bool
	}{{nil, false}, {errDisk, true}, {errDisk, false}, {io.EOF, false}, {nil, true}, {nil, false}} {
		if news := v.set(c.err); news != c.news || !errors.Is(v.Fault(), c.err) {
			t.Errorf("%d: news %t, fault %v", i, news, v.Fault())
		}
	}
}
