package domain

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// names is DNS of a test.
type names struct {
	texts map[string][]string
	at    map[string]netip.Addr
}

func (n names) LookupTXT(_ context.Context, name string) ([]string, error) {
	if v, ok := n.texts[strings.TrimSuffix(name, ".")]; ok {
		return v, nil
	}
	return nil, &net.DNSError{Err: "no such host", IsNotFound: true}
}

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if a, ok := n.at[strings.TrimSuffix(host, ".")]; ok {
		return []netip.Addr{a}, nil
	}
	return nil, &net.DNSError{Err: "no such host", IsNotFound: true}
}

func openStore(t *testing.T, now func() time.Time) *store.Store {
	t.Helper()
	st, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "db"), Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	for _, ws := range []string{"one", "two"} {
		if err := st.EnsureWorkspace(t.Context(), ws, ws); err != nil {
			t.Fatal(err)
		}
	}
	return st
}

func TestAdd(t *testing.T) {
	st := openStore(t, nil)
	r := Open(Room{Store: st, Reserved: []string{"gateway.example"}})
	ctx := request.With(t.Context(), &request.Request{})
	f := func(written, want string) {
		t.Helper()
		row, err := r.Add(ctx, st.Workspace("one"), "", written)
		var got string
		if err == nil {
			got = row.Host
		} else {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", written, got, want)
		}
	}
	f(" Tools.Example.COM. ", "tools.example.com")
	f("bücher.example", "xn--bcher-kva.example")
	f("tools.example.com", "is there already")
	f("https://a.example/", "without https://")
	f("*.example.com", "not for a wildcard")
	f("a.example:443", "without a port")
	f("localhost", "cannot be a domain")
	f("192.0.2.1", "cannot be a domain")
	f("Gateway.Example", "of this installation itself")
	ws := st.Workspace("two")
	err := ws.Update(t.Context(), func(tx *store.Tx) error {
		for i := range maxDomains - 1 {
			if err := tx.AddDomain(t.Context(), &store.Domain{Host: fmt.Sprintf("h%d.example", i), Token: "t", State: Pending}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Add(ctx, ws, "", "last.example"); err != nil {
		t.Errorf("domain %d: %v", maxDomains, err)
	}
	if _, err := r.Add(ctx, ws, "", "more.example"); !problem.Is(err, problem.Conflict) {
		t.Errorf("domain %d: %v", maxDomains+1, err)
	}
}

// TestAnswers: what DNS lacks is named, with what to do.
func TestAnswers(t *testing.T) {
	row := &store.Domain{Host: "a.example", Token: "T"}
	proof := map[string][]string{"_sluice.a.example": {"v=spf1", "sluice-domain=T"}}
	at := func(s string) netip.Addr { return netip.MustParseAddr(s) }
	f := func(target string, dns names, want string) {
		t.Helper()
		err := Open(Room{Resolver: dns, Target: target}).check(t.Context(), row)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	f("", names{}, "there is no TXT record at _sluice.a.example")
	f("", names{texts: map[string][]string{"_sluice.a.example": {"sluice-domain=U"}}}, "does not have the value")
	f("", names{texts: proof}, "a.example has no address")
	f("", names{texts: proof, at: map[string]netip.Addr{"a.example": at("192.0.2.1")}}, "")
	f("192.0.2.1", names{texts: proof, at: map[string]netip.Addr{"a.example": at("::ffff:192.0.2.1")}}, "")
	f("192.0.2.2", names{texts: proof, at: map[string]netip.Addr{"a.example": at("192.0.2.1")}}, "a.example leads to 192.0.2.1, and the gateways are at 192.0.2.2")
	f("g.example", names{texts: proof, at: map[string]netip.Addr{"a.example": at("192.0.2.1"), "g.example": at("192.0.2.3")}}, "at g.example (192.0.2.3)")

	var many []netip.Addr
	for i := range maxShown {
		many = append(many, at(fmt.Sprintf("192.0.2.%d", i)))
	}
	if got := shown(many); strings.Contains(got, "…") || strings.Count(got, ",") != maxShown-1 {
		t.Error(got)
	}
	if got := shown(append(many, at("192.0.2.99"))); !strings.HasSuffix(got, ", …") || strings.Contains(got, "99") {
		t.Error(got)
	}
	if got := shown(nil); got != "no address" {
		t.Error(got)
	}
	long := strings.Repeat("x", maxCause)
	if got := causeOf(problem.New(problem.Unavailable, "%s", long)); got != long {
		t.Errorf("%d bytes of a cause are kept", len(got))
	}
	if got := causeOf(problem.New(problem.Unavailable, "%sy", long)); got != long {
		t.Errorf("%d bytes of a longer cause are kept", len(got))
	}
	if got := causeOf(errors.New("pgx: password")); got != request.InternalError {
		t.Error(got)
	}
}

// TestPauses: a domain that is not proven is looked at less and less often, and after a
// week no more.
func TestPauses(t *testing.T) {
	made := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	f := func(attempts int64, after, want time.Duration) {
		t.Helper()
		now := made.Add(after)
		got := nextCheck(&store.Domain{Attempts: attempts, CreatedAt: store.Time{Time: made}}, now)
		if want == 0 && got.Before(never) || want > 0 && got.Sub(now) != want {
			t.Errorf("after %d attempts and %s: %s", attempts, after, got)
		}
	}
	f(1, 0, firstCheck)
	f(2, 0, 2*firstCheck)
	f(60, time.Hour, longestCheck)
	f(60, checkFor-longestCheck, longestCheck)
	f(60, checkFor, 0)
}

// TestRetryAfter: pauses double up to the longest of their kind, and an authority that was
// asked too often is left alone for as long as it says.
func TestRetryAfter(t *testing.T) {
	now := time.Now()
	refused := problem.New(problem.Unavailable, "refused")
	limited := problem.New(problem.RateLimited, "too often").Because(&TooSoonError{now.Add(time.Hour), errors.New("wait")})
	for _, c := range []struct {
		err           error
		failures      int64
		longest, want time.Duration
	}{
		{refused, 1, longestRetry, firstRetry},
		{refused, 3, longestRetry, 4 * firstRetry},
		{refused, 4, longestOwn, 8 * firstRetry},
		{refused, 5, longestOwn, longestOwn},
		{refused, 30, longestRetry, longestRetry},
		{limited, 1, longestOwn, time.Hour},
		{limited, 30, longestRetry, longestRetry},
	} {
		if got := retryAfter(c.err, c.failures, c.longest, now); got != c.want {
			t.Errorf("%v, %d failures, longest %s: %s, want %s", c.err, c.failures, c.longest, got, c.want)
		}
	}
}
