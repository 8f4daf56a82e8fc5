package domain

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// slowAuthority gives certificates at once, but for hosts that begin with "slow", which it
// keeps waiting until its context ends.
type slowAuthority struct {
	mu      sync.Mutex
	held    map[string]Held
	waiting []string
	revoked []string
	fails   bool // to revoke
	rang    chan struct{}
	asked   []string // what was obtained, or refused
	refused error
}

func (a *slowAuthority) Get(host string) (Held, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	h, ok := a.held[host]
	return h, ok
}

func (a *slowAuthority) Hosts() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []string
	for h := range a.held {
		out = append(out, h)
	}
	return out
}

func (a *slowAuthority) Obtain(ctx context.Context, host string) error {
	a.mu.Lock()
	if strings.HasPrefix(host, "slow") {
		a.waiting = append(a.waiting, host)
		a.mu.Unlock()
		a.rang <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
	defer a.mu.Unlock()
	if a.asked = append(a.asked, host); a.refused != nil {
		return a.refused
	}
	end := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	if _, ok := a.held[host]; ok {
		end = end.AddDate(1, 0, 0)
	}
	a.held[host] = Held{NotAfter: end}
	return nil
}

func (a *slowAuthority) Revoke(_ context.Context, host string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.revoked = append(a.revoked, host)
	if a.fails {
		return problem.New(problem.Unavailable, "the authority is away")
	}
	delete(a.held, host)
	return nil
}

func (a *slowAuthority) RenewDue(context.Context) error {
	a.rang <- struct{}{}
	return nil
}

func (*slowAuthority) Fault(string) error { return nil }

func (*slowAuthority) Challenge(context.Context, string) (*registry.EdgeChallenge, error) {
	return nil, nil //nolint:nilnil // nothing is asked
}

func (*slowAuthority) Changed() <-chan struct{} { return nil }

// proven adds domains that DNS proved, of a workspace with a live toolset.
func proven(t *testing.T, st *store.Store, workspace string, hosts ...string) {
	t.Helper()
	err := st.Workspace(workspace).Update(t.Context(), func(tx *store.Tx) error {
		spec := &store.Specification{Digest: "sha256:spec", Name: "spec", Content: []byte("spec")}
		v := &store.ConnectorVersion{Digest: "sha256:connector", SpecDigest: spec.Digest, Report: "{}"}
		ts := &store.Toolset{Name: workspace, Slug: workspace, Connector: "shop", ConnectorDigest: v.Digest, LiveRevision: 1}
		if err := errors.Join(tx.PutSpecification(t.Context(), spec), tx.PutConnector(t.Context(), &store.Connector{Name: "shop"}, v), tx.CreateToolset(t.Context(), ts)); err != nil {
			return err
		}
		for _, host := range hosts {
			row := &store.Domain{Host: host, Token: "t", State: Verified, VerifiedAt: store.Time{Time: tx.Now()}}
			if err := tx.AddDomain(t.Context(), row); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSlowDomains: hosts that an authority is slow about keep neither those of another
// workspace waiting, nor the installation's own, nor revocations, and one workspace has no
// more than its share of what goes on at the same time.
func TestSlowDomains(t *testing.T) {
	st := openStore(t, nil)
	a := &slowAuthority{held: map[string]Held{"gone.example": {}}, rang: make(chan struct{}, ofWorkspace+1)}
	r := Open(Room{Store: st, Certificates: a, Own: []string{"slow-gateway.example"}})
	var slow []string
	for i := range ofWorkspace + 1 {
		slow = append(slow, fmt.Sprintf("slow%d.example", i))
	}
	proven(t, st, "one", slow...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	round := func() {
		t.Helper()
		if err := r.Round(ctx); err != nil {
			t.Fatal(err)
		}
	}
	round()
	for range ofWorkspace + 1 {
		<-a.rang // those of the workspace, and the gateway's
	}
	proven(t, st, "two", "quick.example")
	round()
	<-r.wake
	round()
	for {
		row, err := st.Workspace("two").Domain(t.Context(), "quick.example")
		if err != nil {
			t.Fatal(err)
		}
		if row.State == Live {
			break
		}
		<-r.wake
		round()
	}
	a.mu.Lock()
	if len(a.waiting) != ofWorkspace+1 || !slices.Contains(a.waiting, "slow-gateway.example") {
		t.Errorf("the authority is asked about %d slow hosts at the same time: %v", len(a.waiting), a.waiting)
	}
	if !slices.Equal(a.revoked, []string{"gone.example"}) {
		t.Errorf("revoked: %v", a.revoked)
	}
	a.mu.Unlock()
	cancel()
	r.jobs.all.Wait()
}

// TestOwnOfEdges: where the gateways are edges, the installation's own host is asked for when
// one of them knows of it.
func TestOwnOfEdges(t *testing.T) {
	a := &slowAuthority{held: map[string]Held{}}
	r := Open(Room{Store: openStore(t, nil), Certificates: a, Own: []string{"gateway.example"}, Edges: true})
	for _, want := range []int{0, 1} {
		if err := r.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.jobs.all.Wait()
		if got := len(a.Hosts()); got != want {
			t.Errorf("%d certificates, want %d", got, want)
		}
		r.Told()
	}
}

// TestAuthorityBound: of all workspaces together no more than the bound is asked about.
func TestAuthorityBound(t *testing.T) {
	st := openStore(t, nil)
	a := &slowAuthority{held: map[string]Held{}, rang: make(chan struct{}, atAuthority+1)}
	r := Open(Room{Store: st, Certificates: a})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for i := range atAuthority + 1 {
		host := fmt.Sprintf("slow%d.example", i)
		r.begin(ctx, host, fmt.Sprint("ws", i), func(octx context.Context) bool { return a.Obtain(octx, host) == nil })
	}
	for range atAuthority {
		<-a.rang
	}
	if n := len(r.jobs.running); n != atAuthority {
		t.Errorf("%d at the same time, want %d", n, atAuthority)
	}
	cancel()
	r.jobs.all.Wait()
	select {
	case <-r.wake:
		t.Error("what failed and was not kept is begun again at once")
	default:
	}
}

// TestRevocationFails: it is tried again later, not in each round.
func TestRevocationFails(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	st := openStore(t, func() time.Time { return now })
	a := &slowAuthority{held: map[string]Held{"gone.example": {}}, fails: true}
	r := Open(Room{Store: st, Certificates: a})
	for range 3 {
		if err := r.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.jobs.all.Wait()
	}
	if len(a.revoked) != 1 {
		t.Errorf("%d tries", len(a.revoked))
	}
	now = now.Add(revokeRetry)
	if err := r.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.jobs.all.Wait()
	if len(a.revoked) != 2 {
		t.Errorf("%d tries after the pause", len(a.revoked))
	}
}

// TestRenewsAtStart: what ended while no control plane ran is renewed at once.
func TestRenewsAtStart(t *testing.T) {
	a := &slowAuthority{held: map[string]Held{}, rang: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		Open(Room{Store: openStore(t, nil), Certificates: a}).Run(ctx)
	}()
	<-a.rang
	cancel()
	<-done
}

// TestExpiredIsRenewed: what ends while a control plane runs is asked for at once, then as what was
// never obtained: not again in each round, and at once when somebody verifies the domain, also when
// the authority was away for so long that the turn of renewals is hours ahead.
func TestExpiredIsRenewed(t *testing.T) {
	now := time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)
	st := openStore(t, func() time.Time { return now })
	a := &slowAuthority{held: map[string]Held{}, rang: make(chan struct{}, 8)}
	r := Open(Room{Store: st, Certificates: a, Own: []string{"gateway.example"}, Resolver: names{
		texts: map[string][]string{"_sluice.tools.example": {"sluice-domain=t"}}, at: map[string]netip.Addr{"tools.example": netip.MustParseAddr("192.0.2.1")},
	}})
	proven(t, st, "one", "tools.example")
	state := func(want string, asked int) *store.Domain {
		t.Helper()
		a.asked = nil
		for range 3 {
			if err := r.Round(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.jobs.all.Wait()
		}
		row, err := st.Workspace("one").Domain(t.Context(), "tools.example")
		if n := len(a.asked); err != nil || row.State != want || n != asked {
			t.Errorf("it is %+v, asked for %q; want %s and %d: %v", row, a.asked, want, asked, err)
		}
		return row
	}
	state(Live, 2)
	state(Live, 0)
	now, a.refused = now.AddDate(1, 0, 0), problem.New(problem.Unreachable, "the authority is away") // when the certificates end
	row := state(Failed, 2)
	if !strings.Contains(row.Cause, "the authority is away") || row.Attempts != 1 || !row.NextAt.Equal(now.Add(firstRetry)) {
		t.Errorf("%+v", row)
	}
	now = now.Add(firstRetry)
	if row = state(Failed, 2); !row.NextAt.Equal(now.Add(2 * firstRetry)) {
		t.Errorf("it is tried again at %s", row.NextAt)
	}
	a.refused = nil
	state(Failed, 0)
	if row, err := r.Verify(t.Context(), st.Workspace("one"), "tools.example"); err != nil || row.State != Verified {
		t.Fatalf("%+v, %v", row, err)
	}
	state(Live, 1)
	now = now.Add(2 * firstRetry)
	state(Live, 1) // that of the installation
}
