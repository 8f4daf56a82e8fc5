package notify

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/notify/mailtest"
	"github.com/sluicegate/sluice/admin/store"
)

func newMailServer(t *testing.T, change func(*mailtest.Server)) (s *mailtest.Server, roots *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots = x509.NewCertPool()
	roots.AddCert(cert)
	s = &mailtest.Server{TLS: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}}
	change(s)
	return s.Start(t), roots
}

// TestMail: a message as text and HTML, over STARTTLS and over TLS with a login; none
// goes in the clear unless that is said, and none to a server that is not who it says.
func TestMail(t *testing.T) {
	f := func(security, user, password string, trusted bool, fault string, change func(*mailtest.Server)) {
		t.Helper()
		s, roots := newMailServer(t, change)
		h := newHall(t, time.Hour)
		if h.roots = x509.NewCertPool(); trusted {
			h.roots = roots
		}
		h.create(NewChannel{Name: "mail", Kind: Email, Password: password, Mail: &Mail{
			Host: "127.0.0.1", Port: s.Port(), Security: security, Username: user, From: "Sluice <sluice@a.example>", To: []string{"ops@a.example"},
		}})
		h.run()
		h.add(&Notice{Type: "a", Severity: Critical, Title: "Señor <b>", Lines: []Line{{Name: "Cause", Value: "a < b"}}, Command: "sluice doctor"})
		h.until("an attempt", func() bool {
			rows := h.deliveries(store.DeliveryFilter{})
			return len(rows) == 1 && rows[0].Attempts == 1
		})
		d := h.deliveries(store.DeliveryFilter{})[0]
		got := s.Got()
		if fault != "" {
			if !strings.Contains(d.Fault, fault) || len(got) != 0 || strings.Contains(d.Fault+d.Log, "pass-1234") || s.InClear() {
				t.Errorf("%s: %+v, %d messages", security, d, len(got))
			}
			return
		}
		if d.State != store.DeliveryDelivered || len(got) != 1 {
			t.Fatalf("%s: %+v", security, d)
		}
		for _, want := range []string{"Message-ID: <" + d.ID + "@a.example>", "multipart/alternative", "text/plain", "text/html", "a &lt; b", "Cause: a < b", "sluice doctor"} {
			if !strings.Contains(got[0].Text, want) {
				t.Errorf("%s: no %q in %s", security, want, got[0].Text)
			}
		}
	}
	login := func(s *mailtest.Server) { s.Password = "pass-1234" }
	f("", "", "", true, "", func(*mailtest.Server) {})
	f("starttls", "me", "pass-1234", true, "", login)
	f("tls", "me", "pass-1234", true, "", func(s *mailtest.Server) { s.Password, s.Implicit = "pass-1234", true })
	f("none", "", "", true, "", func(s *mailtest.Server) { s.TLS = nil })
	f("starttls", "", "", true, "did not take", func(s *mailtest.Server) { s.TLS = nil })
	f("starttls", "me", "pass-1234", false, "did not take", login)
	f("starttls", "me", "wrong", true, "did not take", login)
}
