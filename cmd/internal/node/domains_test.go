package node_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/certmagic"

	"github.com/sluicegate/sluice/admin/fleet/domain"
	"github.com/sluicegate/sluice/cmd/internal/node"
	"github.com/sluicegate/sluice/internal/acmetest"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// patience is how long a test waits for what takes a second: other tests use the machine.
const patience = time.Minute

// certified are the options of a node that gets certificates from a, whose gateway is at
// an address of loopback.
func certified(a *acmetest.Authority, dir, ip string, challenges ...string) node.Options {
	o := node.Options{Data: dir}
	o.Gateway.Listen = net.JoinHostPort(ip, strconv.Itoa(a.TLSPort))
	o.Domains = node.DomainOptions{CA: a.URL, Roots: a.Roots, Challenges: challenges, DNS: a.Addr, Listen: net.JoinHostPort(ip, strconv.Itoa(a.HTTPPort))}
	return o
}

// addDomain adds a domain of the toolset "shop", or with "" of the workspace, with the
// records that it wants, and verifies it.
func addDomain(t *testing.T, n *node.Node, a *acmetest.Authority, toolset, host string, ips ...string) domain.Domain {
	t.Helper()
	path := "/v1/domains"
	if toolset != "" {
		path = "/v1/toolsets/" + toolset + "/domains"
	}
	var d domain.Domain
	api(t, n, http.MethodPost, path, domain.New{Host: host}, &d)
	a.SetTXT(d.DNS[0].Name, d.DNS[0].Value)
	a.SetA(host, ips...)
	api(t, n, http.MethodPost, path+"/"+host+"/verify", nil, &d)
	if d.State == domain.Pending {
		t.Fatalf("%s is not verified: %s", host, d.Cause)
	}
	return d
}

// awaitDomain waits until a domain is as it should be.
func awaitDomain(t *testing.T, n *node.Node, host, what string, good func(*domain.Domain) bool) domain.Domain {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		var d domain.Domain
		api(t, n, http.MethodGet, "/v1/domains/"+host, nil, &d)
		if good(&d) {
			return d
		}
		if time.Now().After(end) {
			t.Fatalf("%s is not %s: %+v", host, what, d)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func live(d *domain.Domain) bool { return d.State == domain.Live }

// ask calls the tool of "shop" at a URL.
func ask(t *testing.T, c *http.Client, url string) string {
	t.Helper()
	const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_pet","arguments":{"id":"7"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"get_pet"}}
	res, err := c.Do(r)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(res.StatusCode, " ", string(b))
}

// TestDomains: a domain of a toolset is its URL once DNS proves it and the authority gave a
// certificate, by each of the challenges; that of a workspace has its toolsets below /t/;
// other names get no certificate; what is removed is served no more and revoked.
func TestDomains(t *testing.T) {
	for _, challenge := range []string{registry.ChallengeHTTP, registry.ChallengeTLSALPN} {
		t.Run(challenge, func(t *testing.T) {
			a := acmetest.New(t, 90*24*time.Hour)
			n, _ := start(t, certified(a, t.TempDir(), "127.0.0.1", challenge))
			gateway := net.JoinHostPort("127.0.0.1", strconv.Itoa(a.TLSPort))
			client := a.Client(gateway)
			deploy(t, n)

			addDomain(t, n, a, "shop", "tools.example.test", "127.0.0.1")
			d := awaitDomain(t, n, "tools.example.test", "live", live)
			if d.Certificate == nil || !strings.Contains(d.Certificate.Issuer, "Pebble") || d.URL != "https://tools.example.test/" {
				t.Errorf("live without a certificate: %+v", d)
			}
			if got := ask(t, client, d.URL); !strings.HasPrefix(got, "200 ") || !strings.Contains(got, "/pets/7") {
				t.Errorf("a call at the domain: %s", got)
			}
			for _, path := range []string{"t/shop", "x"} { // the domain is the toolset's, and nothing else
				if got := ask(t, client, d.URL+path); !strings.HasPrefix(got, "404 ") {
					t.Errorf("%s: %s", path, got)
				}
			}
			var ts struct{ URL string }
			if api(t, n, http.MethodGet, "/v1/toolsets/shop", nil, &ts); ts.URL != d.URL {
				t.Errorf("the toolset URL is %s", ts.URL)
			}

			addDomain(t, n, a, "", "all.example.test", "127.0.0.1")
			awaitDomain(t, n, "all.example.test", "live", live)
			if got := ask(t, client, "https://all.example.test/t/shop"); !strings.Contains(got, "/pets/7") {
				t.Errorf("a call at the domain of the workspace: %s", got)
			}
			if got := ask(t, client, "https://all.example.test/"); !strings.HasPrefix(got, "404 ") {
				t.Errorf("the root of the domain of the workspace: %s", got)
			}

			for _, name := range []string{"other.example.test", "127.0.0.1", ""} {
				c, err := tls.Dial("tcp", gateway, &tls.Config{ServerName: name, InsecureSkipVerify: true})
				if err == nil {
					t.Errorf("%q got the certificate of %v", name, c.ConnectionState().PeerCertificates[0].DNSNames)
					c.Close()
				}
			}
			plain := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:"+strconv.Itoa(a.HTTPPort)+"/x?y=1", http.NoBody)
			r.Host = "tools.example.test"
			res, err := plain.Do(r)
			if err != nil || res.Header.Get("Location") != "https://tools.example.test/x?y=1" {
				t.Errorf("port 80 sends to %v, %v", res, err)
			}

			leaf, err := a.Dial(t.Context(), gateway, "tools.example.test")
			if err != nil {
				t.Fatal(err)
			}
			client.CloseIdleConnections()
			removeDomain(t, n, "/v1/toolsets/shop/domains/tools.example.test")
			if _, err := a.Dial(t.Context(), gateway, "tools.example.test"); err == nil {
				t.Error("a domain that was removed is still certified")
			}
			for end := time.Now().Add(patience); !a.Revoked(leaf); time.Sleep(50 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("the certificate was not revoked")
				}
			}
			if api(t, n, http.MethodGet, "/v1/toolsets/shop", nil, &ts); ts.URL != "https://all.example.test/t/shop" {
				t.Errorf("the toolset URL is %s", ts.URL)
			}
		})
	}
}

func removeDomain(t *testing.T, n *node.Node, path string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, n.AdminURL()+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+n.Token().Reveal())
	if status, b := do(t, r); status != http.StatusNoContent {
		t.Fatalf("%s: %d %s", path, status, b)
	}
}

// TestDomainsOfEdges: the control plane obtains certificates of domains whose challenges
// reach any of its edges, and of the host of its public URL, which edges need not be told;
// all of them show them, also after a restart without the control plane.
func TestDomainsOfEdges(t *testing.T) {
	const edges, hosts = 3, 100
	most := certmagic.RateLimitEvents
	certmagic.RateLimitEvents = hosts + 1 // in ten seconds; it is a minute and a half for all of them otherwise
	defer func() { certmagic.RateLimitEvents = most }()
	a := acmetest.New(t, 90*24*time.Hour)
	o := node.Options{Data: t.TempDir(), Role: node.RoleControl, Domains: node.DomainOptions{CA: a.URL, Roots: a.Roots, DNS: a.Addr}}
	o.Gateway.PublicURL = "https://gateway.example.test"
	a.SetA("gateway.example.test", "127.0.0.10", "127.0.0.11", "127.0.0.12")
	plane, stopPlane := start(t, o)
	deploy(t, plane)
	var join struct{ Token string }
	api(t, plane, http.MethodPost, "/v1/edges/join-tokens", map[string]any{"maxUses": edges}, &join)
	var ips []string
	run := make([]func() func(), edges)
	for i := range edges {
		ip, dir := fmt.Sprintf("127.0.0.%d", 10+i), t.TempDir()
		ips = append(ips, ip)
		run[i] = func() func() {
			o := certified(a, dir, ip)
			o.Role, o.Domains.CA, o.Domains.Roots, o.Domains.Challenges, o.Domains.TLS = node.RoleEdge, "", nil, nil, true
			o.Edge = node.EdgeOptions{ControlPlane: plane.AdminURL(), Name: fmt.Sprintf("edge%d", i), JoinToken: func() (secrets.Secret, error) { return secrets.New(join.Token), nil }}
			n, stop := start(t, o)
			if err := n.AwaitRelease(t.Context()); err != nil {
				t.Fatal(err)
			}
			return stop
		}
	}
	stops := make([]func(), edges)
	for i := range run {
		stops[i] = run[i]()
	}
	host := func(i int) string { return fmt.Sprintf("tools%d.example.test", i) }
	for i := range hosts {
		addDomain(t, plane, a, "shop", host(i), ips[i%edges])
	}
	all := func(when string) {
		t.Helper()
		for _, ip := range ips {
			addr := net.JoinHostPort(ip, strconv.Itoa(a.TLSPort))
			for i := range hosts {
				shows(t, a, addr, host(i), when)
			}
			shows(t, a, addr, "gateway.example.test", when)
			if got := ask(t, a.Client(addr), "https://gateway.example.test/t/shop"); !strings.Contains(got, "/pets/7") {
				t.Errorf("a call at the public URL of %s, %s: %s", ip, when, got)
			}
			if got := ask(t, a.Client(addr), "https://"+host(0)+"/"); !strings.Contains(got, "/pets/7") {
				t.Errorf("a call at %s, %s: %s", ip, when, got)
			}
		}
	}
	for i := range hosts {
		awaitDomain(t, plane, host(i), "live", live)
	}
	all("with the control plane")
	stopPlane()
	stops[0]()
	stops[0] = run[0]()
	all("without the control plane")
}

// shows waits until a gateway shows the certificate of a host.
func shows(t *testing.T, a *acmetest.Authority, addr, host, when string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		leaf, err := a.Dial(t.Context(), addr, host)
		if err == nil && leaf.VerifyHostname(host) == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s at %s, %s: %v", host, addr, when, err)
		}
	}
}

// TestDomainFaults: what keeps a domain from being live is in its cause.
func TestDomainFaults(t *testing.T) {
	a := acmetest.New(t, 90*24*time.Hour)
	o := certified(a, t.TempDir(), "127.0.0.1")
	o.Domains.Target = "gateways.example.test"
	n, stop := start(t, o)
	deploy(t, n)
	a.SetA("gateways.example.test", "127.0.0.1")
	var d domain.Domain
	const host, path = "tools.example.test", "/v1/toolsets/shop/domains"
	api(t, n, http.MethodPost, path, domain.New{Host: host}, &d)
	pending := func(want string) {
		t.Helper()
		if api(t, n, http.MethodPost, path+"/"+host+"/verify", nil, &d); d.State != domain.Pending || !strings.Contains(d.Cause, want) {
			t.Errorf("%s, %q; want it pending: %s", d.State, d.Cause, want)
		}
	}
	if len(d.DNS) != 2 || d.DNS[1].Type != "CNAME" || d.DNS[1].Value != "gateways.example.test" {
		t.Errorf("the records to make: %+v", d.DNS)
	}
	pending("there is no TXT record at _sluice." + host)
	a.SetTXT(d.DNS[0].Name, "sluice-domain=another")
	pending("does not have the value of this domain")
	a.Fail(d.DNS[0].Name, true)
	pending("DNS does not answer")
	a.Fail(d.DNS[0].Name, false)
	a.SetTXT(d.DNS[0].Name, d.DNS[0].Value)
	pending(host + " has no address")
	a.SetA(host, "127.0.0.9")
	pending(host + " leads to 127.0.0.9, and the gateways are at gateways.example.test (127.0.0.1)")
	a.SetA(host, "127.0.0.1")
	a.Set(acmetest.Down)
	api(t, n, http.MethodPost, path+"/"+host+"/verify", nil, &d)
	d = awaitDomain(t, n, host, "failed", func(d *domain.Domain) bool { return d.State == domain.Failed })
	if !strings.Contains(d.Cause, "gave no certificate") || d.NextAt.IsZero() {
		t.Errorf("with the authority down: %+v", d)
	}
	a.Set(acmetest.Works)
	d = domain.Domain{}
	if api(t, n, http.MethodPost, path+"/"+host+"/verify", nil, &d); d.State != domain.Verified || d.Cause != "" {
		t.Errorf("asked for again: %s, %q", d.State, d.Cause)
	}
	awaitDomain(t, n, host, "live", live)

	// The authority was asked too often: it is not asked again, whoever wants it.
	const limited = "limited.example.test"
	a.Set(acmetest.Limited)
	a.SetA(limited, "127.0.0.1")
	api(t, n, http.MethodPost, path, domain.New{Host: limited}, &d)
	a.SetTXT(d.DNS[0].Name, d.DNS[0].Value)
	asked := a.Orders()
	for range 3 {
		api(t, n, http.MethodPost, path+"/"+limited+"/verify", nil, &d)
		d = awaitDomain(t, n, limited, "limited", func(d *domain.Domain) bool { return strings.Contains(d.Cause, "too many certificates") })
		if d.State != domain.Failed || time.Until(d.NextAt) < 50*time.Minute || !strings.Contains(d.Cause, "it is not asked about this host before") {
			t.Errorf("an authority that was asked too often is asked again at %s: %s, %s", d.NextAt, d.State, d.Cause)
		}
	}
	if n := a.Orders() - asked; n != 1 {
		t.Errorf("the authority was asked %d times", n)
	}
	a.Set(acmetest.Works)

	// After a restart the certificate is there, and the authority is not asked.
	orders := a.Orders()
	stop()
	n, _ = start(t, o)
	gateway := net.JoinHostPort("127.0.0.1", strconv.Itoa(a.TLSPort))
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		_, err := a.Dial(t.Context(), gateway, host)
		if err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	if a.Orders() != orders {
		t.Errorf("%d orders after a restart, %d before", a.Orders(), orders)
	}

	// The name leads to another server, and the operator did not say where the gateways are.
	o.Domains.Target = ""
	a.SetA("wrong.example.test", "127.0.0.9")
	addDomainAt(t, n, a, "wrong.example.test")
}

// addDomainAt adds a domain whose address is another's: the gateway's target refuses it.
func addDomainAt(t *testing.T, n *node.Node, a *acmetest.Authority, host string) {
	t.Helper()
	var d domain.Domain
	api(t, n, http.MethodPost, "/v1/domains", domain.New{Host: host}, &d)
	a.SetTXT(d.DNS[0].Name, d.DNS[0].Value)
	if api(t, n, http.MethodPost, "/v1/domains/"+host+"/verify", nil, &d); d.State != domain.Pending {
		t.Errorf("%s is %s", host, d.State)
	}
}
