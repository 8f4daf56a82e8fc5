package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/forwarded"
	"github.com/sluicegate/sluice/internal/problem"
)

// TestPassOn: the leader sees of a request that a follower passed on what it would see of one
// that came to it, the client's address included, and nothing that the client made up.
func TestPassOn(t *testing.T) {
	t.Parallel()
	proxies, err := forwarded.Parse([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	var d database
	one, two, three := d.member(t, settings{tls: true}), d.member(t, settings{}), d.member(t, settings{proxies: proxies})
	d.leads(t, one, api("one"))
	for _, m := range []*member{two, three} {
		until(t, "it follows", func() bool { return m.Ready() == nil })
	}
	got := two.ask(t, "POST", "/v1/a%2Fb//c?x=1;2&y", "hello", "Host", "CONTROL.example:99", "X-Forwarded-For", "9.9.9.9", "Forwarded", "for=9.9.9.9;proto=https",
		"X-Forwarded-Proto", "https", "X-Real-Ip", "9.9.9.9", "Connection", "X-Dropped, Sluice-Pass, Via", "X-Dropped", "1", "Upgrade", "websocket", "Authorization", "Bearer x")
	if got.By != "one" || got.Method != http.MethodPost || got.URI != "/v1/a%2Fb//c?x=1;2&y" || got.Host != "CONTROL.example:99" || got.Body != "hello" || got.Via != "1.1 sluice" || got.Pass != "" || !got.Checked || got.TLS {
		t.Errorf("%+v", got)
	}
	if a, err := netip.ParseAddrPort(got.Client); err != nil || a.Addr() != netip.MustParseAddr("127.0.0.1") {
		t.Errorf("client %s", got.Client)
	}
	for _, name := range []string{"X-Forwarded-For", "Forwarded", "X-Forwarded-Proto", "X-Real-Ip", "X-Dropped", "Upgrade", "Connection"} {
		if got.Header.Get(name) != "" {
			t.Errorf("%s: %s was passed on", name, got.Header.Get(name))
		}
	}
	if got.Header.Get("Authorization") != "Bearer x" {
		t.Error("the token was not passed on")
	}
	// Behind a proxy that the operator named, the client is the one that it names.
	got = three.ask(t, "GET", "/", "", "X-Forwarded-For", "6.6.6.6, 203.0.113.7", "X-Forwarded-Proto", "https")
	if got.Client != "203.0.113.7:0" || !got.TLS {
		t.Errorf("behind a proxy: %+v", got)
	}
	// The leader itself, over TLS and with nothing to pass on.
	if got = one.ask(t, "GET", "/", ""); got.Checked || !got.TLS {
		t.Errorf("at the leader: %+v", got)
	}
	if res, text := two.do(t, "GET", "/v1/x", "", "Host", "evil.example"); res.StatusCode != http.StatusForbidden {
		t.Errorf("another host: %s %s", res.Status, text)
	}
	var metrics bytes.Buffer
	two.WritePrometheus(&metrics)
	for _, want := range []string{"sluice_cluster_leads 0\n", "sluice_cluster_leader_up 1\n", `sluice_cluster_requests_total{result="passed"} 1`} {
		if !strings.Contains(metrics.String(), want) {
			t.Errorf("%q is not in %s", want, metrics.String())
		}
	}
}

// TestForgedPass: nobody but a member of the cluster says whose a request is, and each pass is
// of one request, one leader and a moment.
func TestForgedPass(t *testing.T) {
	t.Parallel()
	var d database
	one, two := d.member(t, settings{}), d.member(t, settings{})
	d.leads(t, one, api("one"))
	until(t, "two follows", func() bool { return two.Ready() == nil })
	s := one.state.Load()
	host := strings.TrimPrefix(one.url, "http://")
	good := pass{number: s.number, at: time.Now(), client: netip.MustParseAddr("192.0.2.1"), member: "two"}
	sign := func(change func(*pass), key []byte, method, host, uri string) string {
		p := good
		change(&p)
		return p.sign(key, method, host, uri)
	}
	same := func(*pass) {}
	if got := one.ask(t, "GET", "/a", "", passHeader, sign(same, s.key, "GET", host, "/a")); got.Client != "192.0.2.1:0" || !got.Checked {
		t.Fatalf("a pass of a member: %+v", got)
	}
	f := func(status int, header ...string) {
		t.Helper()
		res, text := one.do(t, "GET", "/a", "", header...)
		if res.StatusCode != status || (res.Header.Get(refusedHeader) != "") != (status == http.StatusServiceUnavailable) {
			t.Errorf("%.80q: %s %s", header, res.Status, text)
		}
	}
	const forbidden, unavailable = http.StatusForbidden, http.StatusServiceUnavailable
	f(forbidden, passHeader, sign(same, []byte("another key"), "GET", host, "/a"))
	f(forbidden, passHeader, sign(same, s.key, "POST", host, "/a"))
	f(forbidden, passHeader, sign(same, s.key, "GET", "evil.example", "/a"))
	f(forbidden, passHeader, sign(same, s.key, "GET", host, "/b"))
	f(forbidden, passHeader, sign(func(p *pass) { p.at = p.at.Add(-maxPassAge - 2*time.Second) }, s.key, "GET", host, "/a"))
	f(forbidden, passHeader, sign(func(p *pass) { p.at = p.at.Add(maxPassAge + 2*time.Second) }, s.key, "GET", host, "/a"))
	f(http.StatusOK, passHeader, sign(func(p *pass) { p.at = p.at.Add(-maxPassAge + 10*time.Second) }, s.key, "GET", host, "/a"))
	f(unavailable, passHeader, sign(func(p *pass) { p.number-- }, s.key, "GET", host, "/a"))
	f(unavailable, passHeader, sign(func(p *pass) { p.number++ }, s.key, "GET", host, "/a"))
	f(forbidden, passHeader, "")
	f(forbidden, passHeader, "1 1 1 1 1 1 1")
	f(forbidden, passHeader, "2"+strings.TrimPrefix(sign(func(p *pass) { p.number-- }, s.key, "GET", host, "/a"), "1"))
	f(forbidden, passHeader, strings.Replace(sign(same, s.key, "GET", host, "/a"), "192.0.2.1", "192.0.2.2", 1))
	f(forbidden, passHeader, sign(same, s.key, "GET", host, "/a"), passHeader, sign(same, s.key, "GET", host, "/a"))
	// As long as can be, and longer.
	fill := maxPassBytes - len(sign(func(p *pass) { p.member = "" }, s.key, "GET", host, "/a"))
	f(http.StatusOK, passHeader, sign(func(p *pass) { p.member = strings.Repeat("m", fill) }, s.key, "GET", host, "/a"))
	f(forbidden, passHeader, sign(func(p *pass) { p.member = strings.Repeat("m", fill+1) }, s.key, "GET", host, "/a"))
	// A follower passes nothing on that was passed on, whoever wrote that, and believes none of it.
	for _, header := range []string{"x", sign(same, s.key, "GET", strings.TrimPrefix(two.url, "http://"), "/a")} {
		if res, text := two.do(t, "GET", "/a", "", passHeader, header); res.StatusCode != unavailable || res.Header.Get(refusedHeader) == "" {
			t.Errorf("a follower: %s %s", res.Status, text)
		}
	}
}

// TestFailOver: requests wait for the next leader, bodies included, and are refused with the
// time to come back when there is none.
func TestFailOver(t *testing.T) {
	t.Parallel()
	var d database
	one, two, three := d.member(t, settings{}), d.member(t, settings{}), d.member(t, settings{})
	res, text := two.do(t, "POST", "/v1/x", "body")
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") != strconv.Itoa(retryAfter) || res.Header.Get("Content-Type") != "application/problem+json" || !strings.Contains(text, "nothing was done") {
		t.Errorf("without a leader: %s %v %s", res.Status, res.Header, text)
	}
	if got := res.Header.Get("X-Content-Type-Options"); got != "nosniff" {
		t.Errorf("a browser may take an answer for what it is not: %q", got)
	}
	if res, text := two.do(t, "GET", "/readyz", ""); res.StatusCode != http.StatusServiceUnavailable || text != "not ready\n" {
		t.Errorf("/readyz without a leader: %s %s", res.Status, text)
	}
	if res, text := two.do(t, "GET", "/readyz?verbose", ""); res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(text, "[-]leader no control plane leads") {
		t.Errorf("/readyz without a leader: %s %s", res.Status, text)
	}
	if res, text := two.do(t, "GET", "/livez", ""); res.StatusCode != http.StatusOK || text != "ok\n" {
		t.Errorf("/livez: %s %s", res.Status, text)
	}
	if res, text := two.do(t, "POST", "/readyz", ""); res.StatusCode != http.StatusMethodNotAllowed || res.Header.Get("Allow") != "GET, HEAD" || text != "" {
		t.Errorf("POST /readyz: %s %v %s", res.Status, res.Header, text)
	}
	if got := res.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("what is refused while nobody leads may be kept: %q", got)
	}
	d.leads(t, one, api("one"))
	for _, m := range []*member{two, three} {
		until(t, "it follows one", func() bool { return m.Ready() == nil })
		if got := m.ask(t, "POST", "/", "a"); got.By != "one" {
			t.Errorf("%+v", got)
		}
	}
	if err := one.Ready(); err != nil {
		t.Errorf("the leader is not ready: %v", err)
	}
	if res, text := two.do(t, "GET", "/readyz?verbose", ""); res.StatusCode != http.StatusOK || !strings.Contains(text, "[+]leader "+one.Name()) {
		t.Errorf("/readyz: %s %s", res.Status, text)
	}
	// Nobody leads for a moment: what comes meanwhile, also at the next leader, is served.
	next := d.take()
	for _, m := range []*member{two, three} {
		until(t, "it knows that one does not lead", func() bool { return m.Ready() != nil })
	}
	var wg sync.WaitGroup
	for _, m := range []*member{two, three} {
		for i := range 20 {
			wg.Go(func() {
				if got := m.ask(t, "POST", "/", fmt.Sprint("body ", i)); got.By != "two" || got.Body != fmt.Sprint("body ", i) {
					t.Errorf("%+v", got)
				}
			})
		}
	}
	until(t, "all are there", func() bool { return len(two.slots) == 20 && len(three.slots) == 20 })
	if err := two.Lead(t.Context(), next, api("two")); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	// What it heard of the leader before, and acts on now, takes the lead from it no more.
	two.change(&state{})
	if got := two.ask(t, "POST", "/", "b"); got.By != "two" {
		t.Errorf("it leads no more: %+v", got)
	}
	// The one that was replaced refuses what is for it, and cannot say that it leads.
	if err := one.Repin(t.Context(), &term{&d, 1}); !problem.Is(err, problem.Unavailable) {
		t.Errorf("one announces itself: %v", err)
	}
}

// TestStreams: an answer arrives while it is made, and a body while it is sent.
func TestStreams(t *testing.T) {
	t.Parallel()
	var d database
	one, two := d.member(t, settings{}), d.member(t, settings{})
	arrived, on := make(chan string, 1), make(chan struct{})
	d.leads(t, one, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/up":
			b := make([]byte, 5)
			if _, err := io.ReadFull(r.Body, b); err != nil {
				t.Error(err)
			}
			arrived <- string(b)
			rest, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			_, _ = w.Write(rest)
		case "/down":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: 1\n\n")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-on:
				_, _ = io.WriteString(w, "data: 2\n\n")
			case <-r.Context().Done():
				arrived <- "gone"
			}
		}
	}))
	until(t, "two follows", func() bool { return two.Ready() == nil })
	body, sent := io.Pipe()
	go func() {
		_, _ = io.WriteString(sent, "first")
		if got := <-arrived; got != "first" {
			t.Errorf("the leader read %q", got)
		}
		_, _ = io.WriteString(sent, "second")
		_ = sent.Close()
	}()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, two.url+"/up", body)
	if err != nil {
		t.Fatal(err)
	}
	res, err := two.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(res.Body); err != nil || string(b) != "second" {
		t.Errorf("%q, %v", b, err)
	}
	_ = res.Body.Close()
	down := func() *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, two.url+"/down", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := two.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		first := make([]byte, len("data: 1\n\n"))
		if _, err := io.ReadFull(res.Body, first); err != nil || string(first) != "data: 1\n\n" {
			t.Fatalf("%q, %v", first, err)
		}
		return res
	}
	// It goes on when the leader does.
	res = down()
	on <- struct{}{}
	if b, err := io.ReadAll(res.Body); err != nil || string(b) != "data: 2\n\n" {
		t.Errorf("%q, %v", b, err)
	}
	_ = res.Body.Close()
	// A client that leaves is gone at the leader too.
	_ = down().Body.Close()
	if got := <-arrived; got != "gone" {
		t.Errorf("the leader was told %q", got)
	}
	// So is one whose follower ends.
	res = down()
	two.End()
	if b, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("it went on with %q", b)
	}
	_ = res.Body.Close()
	if got := <-arrived; got != "gone" {
		t.Errorf("the leader was told %q", got)
	}
	// What changes something is brought to its end.
	if res, text := two.do(t, "POST", "/up", "firstsecond"); res.StatusCode != http.StatusOK || text != "second" {
		t.Errorf("while its follower ends: %s %s", res.Status, text)
	}
}

// TestHostile: requests that two readers could read in two ways reach no leader; large bodies
// and slow clients are bounded.
func TestHostile(t *testing.T) {
	t.Parallel()
	var d database
	one, two := d.member(t, settings{}), d.member(t, settings{})
	const limit = 1 << 20
	var served sync.Map
	d.leads(t, one, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served.Store(r.URL.Path, true)
		if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, limit)); err != nil {
			if _, large := errors.AsType[*http.MaxBytesError](err); large {
				w.WriteHeader(http.StatusRequestEntityTooLarge)
				return
			}
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	until(t, "two follows", func() bool { return two.Ready() == nil })
	raw := func(text string) string {
		t.Helper()
		c, err := net.Dial("tcp", strings.TrimPrefix(two.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = io.WriteString(c, text)
		b, _ := io.ReadAll(c)
		return string(b)
	}
	const smuggled = "GET /smuggled HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
	for name, text := range map[string]string{
		"both lengths":     "POST /a HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled,
		"two lengths":      "POST /a HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nContent-Length: 0\r\n\r\n" + smuggled,
		"odd encoding":     "POST /a HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: xchunked\r\n\r\n" + smuggled,
		"space in a name":  "POST /a HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length : 49\r\n\r\n" + smuggled,
		"line feed only":   "POST /a HTTP/1.1\nHost: 127.0.0.1\nContent-Length: 0\n\n" + smuggled,
		"two hosts":        "GET /a HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n" + smuggled,
		"folded header":    "GET /a HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\r\n Sluice-Pass: b\r\n\r\n" + smuggled,
		"chunk of nothing": "POST /a HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n" + smuggled,
	} {
		got := raw(text)
		if got != "" && !strings.HasPrefix(got, "HTTP/1.1 400") && !strings.HasPrefix(got, "HTTP/1.1 501") {
			t.Errorf("%s: %.200q", name, got)
		}
	}
	for _, path := range []string{"/smuggled"} {
		if _, ok := served.Load(path); ok {
			t.Errorf("the leader served %s", path)
		}
	}
	// A request behind one with a body is one of its own, at the follower and at the leader.
	got := raw("POST /a HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 44\r\n\r\nGET /inside HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n...GET /behind HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
	if _, inside := served.Load("/inside"); inside || strings.Count(got, "HTTP/1.1 200") != 2 {
		t.Errorf("a request in a body was served: %v; %q", inside, got)
	}
	if _, ok := served.Load("/behind"); !ok {
		t.Error("the request behind a body was not served")
	}

	// The leader's limit is told, not a broken connection.
	for range 5 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, two.url+"/large", io.LimitReader(zeros{}, 64*limit))
		if err != nil {
			t.Fatal(err)
		}
		res, err := two.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _ = res.Body.Close(); res.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("a large body: %s", res.Status)
		}
	}
	// One that sends nothing any more is let go, and its place is free again.
	if got := raw("POST /slow HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\nabc"); !strings.HasPrefix(got, "HTTP/1.1 400") || !strings.Contains(got, "too slow") {
		t.Errorf("a client that stands still: %q", got)
	}
	until(t, "all places are free", func() bool { return len(two.slots) == 0 })
	// No more than maxPassed at the same time.
	for range maxPassed {
		two.slots <- struct{}{}
	}
	if res, text := two.do(t, "GET", "/busy", ""); res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(text, "as many requests as it can") || res.Header.Get("Retry-After") == "" {
		t.Errorf("one more than it may pass on: %s %s", res.Status, text)
	}
	<-two.slots
	if res, text := two.do(t, "GET", "/busy", ""); res.StatusCode != http.StatusOK {
		t.Errorf("as many as it may pass on: %s %s", res.Status, text)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// TestOtherKeys: a member without the leader's keys does not follow.
func TestOtherKeys(t *testing.T) {
	t.Parallel()
	var d database
	one := d.member(t, settings{})
	d.leads(t, one, api("one"))
	for name, s := range map[string]settings{"key-encryption key": {ring: ringOf(t, "b")}, "release key": {release: "r2"}} {
		ring := s.ring
		if ring == nil {
			ring = ringOf(t, "a")
		}
		f, err := New(Options{URL: "http://127.0.0.1:1", Records: &d, Keyring: ring, Keys: map[string][]string{"release": {s.release}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{f.Check(t.Context()), f.Run(t.Context())} {
			if !problem.Is(err, problem.Conflict) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "copy the folder keys") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestOtherCertificate: requests go to nobody who only has the leader's address.
func TestOtherCertificate(t *testing.T) {
	t.Parallel()
	var d database
	one, two := d.member(t, settings{tls: true, pin: Pin([]byte("another certificate"))}), d.member(t, settings{})
	d.leads(t, one, api("one"))
	until(t, "two knows the leader", func() bool { return two.state.Load().peer != nil })
	if res, text := two.do(t, "POST", "/v1/x", "secret"); res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(text, "nothing was done") {
		t.Errorf("%s %s", res.Status, text)
	}
	if err := two.Ready(); err == nil || !strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("it is ready: %v", err)
	}
}

func TestParseURL(t *testing.T) {
	t.Parallel()
	f := func(text string, plain, ok bool) {
		t.Helper()
		if _, err := ParseURL(text, plain); (err == nil) != ok {
			t.Errorf("%s, %v: %v", text, plain, err)
		}
	}
	f("https://one.example:7301", false, true)
	f("https://one.example/", false, true)
	f("http://127.0.0.1:7301", false, true)
	f("http://[::1]:7301", false, true)
	f("http://one.example:7301", false, false)
	f("http://one.example:7301", true, true)
	f("https://user@one.example", false, false)
	f("https://one.example/path", false, false)
	f("https://one.example?x", false, false)
	f("ftp://one.example", true, false)
	f("one.example:7301", true, false)
	f("", true, false)
}
