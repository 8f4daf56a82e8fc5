package certificate

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/internal/tlsfiles"
	"github.com/sluicegate/sluice/internal/tlsfiles/tlsfilestest"
	"github.com/sluicegate/sluice/registry"
)

// TestTable: a domain has its certificate, other names have that of the files or none, and
// what cannot be used replaces nothing.
func TestTable(t *testing.T) {
	ca := tlsfilestest.Must(t, "test")
	pem := func(name string) secrets.Wire {
		i := ca.Must(t, time.Hour, name)
		return secrets.Wire{Secret: secrets.New(string(i.Certificate) + string(i.Key))}
	}
	shown := func(table *Table, name string) string {
		t.Helper()
		client, server := net.Pipe()
		done := make(chan error, 1)
		go func() { done <- tls.Server(server, table.Config()).HandshakeContext(t.Context()) }()
		c := tls.Client(client, &tls.Config{ServerName: name, InsecureSkipVerify: true})
		err := c.HandshakeContext(t.Context())
		<-done
		_ = client.Close()
		if err != nil {
			return err.Error()
		}
		return strings.Join(c.ConnectionState().PeerCertificates[0].DNSNames, " ")
	}
	serves := map[string]bool{"a.example": true, "b.example": true}
	o := Options{Base: tlsfiles.Config(), Serves: func(h string) bool { return serves[h] }}
	table := New(o)
	if err := table.Set(nil, []registry.EdgeCertificate{{Host: "a.example", PEM: pem("a.example")}, {Host: "gone.example", PEM: pem("gone.example")}}); err != nil {
		t.Fatal(err)
	}
	f := func(name, want string) {
		t.Helper()
		if got := shown(table, name); !strings.Contains(got, want) {
			t.Errorf("%q is shown %s, want %s", name, got, want)
		}
	}
	f("a.example", "a.example")
	f("A.Example", "a.example")
	f("b.example", "unrecognized name")
	f("gone.example", "unrecognized name") // no domain of the release any more
	f("other.example", "unrecognized name")
	f("", "unrecognized name")
	err := table.Set(nil, []registry.EdgeCertificate{{Host: "a.example", PEM: secrets.Wire{Secret: secrets.New("broken")}}, {Host: "b.example", PEM: pem("b.example")}})
	if err == nil || !strings.Contains(err.Error(), "a.example") {
		t.Errorf("a broken certificate: %v", err)
	}
	f("a.example", "a.example")
	f("b.example", "b.example")
	if table.Len() != 2 || table.Expiry().IsZero() {
		t.Errorf("%d certificates until %s", table.Len(), table.Expiry())
	}

	o.Base = tlsfiles.Config()
	o.Base.Certificates = []tls.Certificate{ca.Must(t, time.Hour, "files.example").Pair(t)}
	table = New(o)
	if err := table.Set(nil, []registry.EdgeCertificate{{Host: "a.example", PEM: pem("a.example")}}); err != nil {
		t.Fatal(err)
	}
	f("a.example", "a.example")
	f("other.example", "files.example")
	f("", "files.example")

	// A host that is none of the release, and then is one of the installation.
	gateway := []registry.EdgeCertificate{{Host: "gateway.other", PEM: pem("gateway.other")}}
	for _, own := range [][]string{nil, {"gateway.other"}} {
		if err := table.Set(own, gateway); err != nil {
			t.Fatal(err)
		}
		want := "files.example"
		if own != nil {
			want = own[0]
		}
		f("gateway.other", want)
	}
}

// TestFiles: handshakes use the files as they are now, those of the same files one
// configuration, and when they cannot be read what the listener began with.
func TestFiles(t *testing.T) {
	now, fault := tlsfiles.Config(), error(nil)
	base := tlsfiles.Config()
	base.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return now, fault }
	base.NextProtos, now.NextProtos = []string{"began"}, []string{"first"}
	table := New(Options{Base: base, Serves: func(string) bool { return true }})
	f := func(want string) *tls.Config {
		t.Helper()
		c, err := table.config(&tls.ClientHelloInfo{ServerName: "a.example"})
		if err != nil || c.NextProtos[0] != want || c.GetConfigForClient != nil || c.GetCertificate == nil {
			t.Fatalf("%+v, %v; want the files of %q", c, err, want)
		}
		return c
	}
	if first := f("first"); f("first") != first {
		t.Error("sessions cannot be resumed: each handshake has a configuration of its own")
	}
	now = now.Clone()
	now.NextProtos = []string{"second"}
	f("second")
	fault = errors.New("no such file")
	f("began")
	now, fault = nil, nil
	f("began")
}

// TestChallenge: only hosts of the release are asked for, and one that had none not again
// at once.
func TestChallenge(t *testing.T) {
	asked := 0
	var answer *registry.EdgeChallenge
	var fault error
	table := New(Options{
		Base: tlsfiles.Config(), Serves: func(h string) bool { return strings.HasSuffix(h, ".example") },
		Challenge: func(context.Context, string) (*registry.EdgeChallenge, error) { asked++; return answer, fault },
	})
	f := func(host, path, want string, asks int) {
		t.Helper()
		before := asked
		if got := table.Answer(host, path); got != want || asked-before != asks {
			t.Errorf("%s%s: %q after %d questions", host, path, got, asked-before)
		}
	}
	answer = &registry.EdgeChallenge{Type: registry.ChallengeHTTP, Token: "tok", KeyAuthorization: "tok.key"}
	f("a.example", ChallengePath+"tok", "tok.key", 1)
	f("A.example:80", ChallengePath+"tok", "tok.key", 1)
	f("a.example", ChallengePath+"other", "", 1)
	f("a.example", ChallengePath, "", 0)
	f("a.example", "/t/x", "", 0)
	f("a.other", ChallengePath+"tok", "", 0)
	answer.Type = registry.ChallengeTLSALPN
	f("a.example", ChallengePath+"tok", "", 1)
	c, err := table.config(&tls.ClientHelloInfo{ServerName: "a.example", SupportedProtos: []string{"acme-tls/1"}})
	if err != nil || c.Certificates[0].Leaf == nil && len(c.Certificates[0].Certificate) == 0 || c.NextProtos[0] != "acme-tls/1" {
		t.Errorf("tls-alpn-01: %+v, %v", c, err)
	}
	answer = nil
	f("b.example", ChallengePath+"tok", "", 1)
	f("b.example", ChallengePath+"tok", "", 0)
	fault = errors.New("the control plane is gone")
	if _, err := table.config(&tls.ClientHelloInfo{ServerName: "c.example", SupportedProtos: []string{"acme-tls/1"}}); !errors.Is(err, fault) {
		t.Error(err)
	}
	fault = nil
	for i := len(table.asked); i < maxAsked; i++ {
		table.Answer(fmt.Sprintf("h%d.example", i), ChallengePath+"tok")
	}
	if len(table.asked) != maxAsked {
		t.Errorf("%d hosts are remembered, not %d", len(table.asked), maxAsked)
	}
	table.Answer("more.example", ChallengePath+"tok")
	if len(table.asked) != 1 {
		t.Errorf("past the limit %d hosts are remembered", len(table.asked))
	}
}
