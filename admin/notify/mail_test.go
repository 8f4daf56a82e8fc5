package notify

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
)

// mailServer takes mail over SMTP (RFC 5321), with STARTTLS (RFC 3207) when it has a
// certificate and a login (RFC 4954) when it has a password.
type mailServer struct {
	net.Listener
	tls      *tls.Config
	implicit bool // TLS from the first byte
	password string
	mu       sync.Mutex
	got      []string // guarded by mu; messages
	clear    bool     // guarded by mu; a login came without TLS
}

func (s *mailServer) serve() {
	for {
		c, err := s.Accept()
		if err != nil {
			return
		}
		go s.talk(c)
	}
}

func (s *mailServer) talk(c net.Conn) {
	defer func() { _ = c.Close() }()
	secure := s.implicit
	if secure {
		c = tls.Server(c, s.tls)
	}
	in := bufio.NewReader(c)
	say := func(lines ...string) { _, _ = fmt.Fprint(c, strings.Join(lines, "\r\n")+"\r\n") }
	say("220 mail.example ESMTP")
	in0 := s.password == ""
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch strings.ToUpper(verb) {
		case "EHLO", "HELO":
			offers := []string{"250-mail.example"}
			if s.tls != nil && !secure {
				offers = append(offers, "250-STARTTLS")
			}
			if s.password != "" && secure {
				offers = append(offers, "250-AUTH PLAIN")
			}
			say(append(offers, "250 8BITMIME")...)
		case "STARTTLS":
			say("220 go ahead")
			c, secure = tls.Server(c, s.tls), true
			in = bufio.NewReader(c)
		case "AUTH":
			_, given, _ := strings.Cut(rest, " ")
			plain, _ := base64.StdEncoding.DecodeString(given)
			s.mu.Lock()
			s.clear = s.clear || !secure
			s.mu.Unlock()
			if in0 = strings.HasSuffix(string(plain), "\x00"+s.password); in0 {
				say("235 welcome")
			} else {
				say("535 no")
			}
		case "DATA":
			say("354 go on")
			var b strings.Builder
			for {
				line, err := in.ReadString('\n')
				if err != nil {
					return
				}
				if line == ".\r\n" {
					break
				}
				b.WriteString(line)
			}
			s.mu.Lock()
			s.got = append(s.got, b.String())
			s.mu.Unlock()
			say("250 taken")
		case "QUIT":
			say("221 bye")
			return
		case "MAIL", "RCPT":
			if !in0 {
				say("530 log in first")
				continue
			}
			say("250 ok")
		default:
			say("250 ok")
		}
	}
}

func newMailServer(t *testing.T, change func(*mailServer)) (s *mailServer, roots *x509.CertPool) {
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
	s = &mailServer{tls: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}}
	change(s)
	if s.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	go s.serve()
	return s, roots
}

// TestMail: a message as text and HTML, over STARTTLS and over TLS with a login; none
// goes in the clear unless that is said, and none to a server that is not who it says.
func TestMail(t *testing.T) {
	f := func(security, user, password string, trusted bool, fault string, change func(*mailServer)) {
		t.Helper()
		s, roots := newMailServer(t, change)
		h := newHall(t, time.Hour)
		if h.roots = x509.NewCertPool(); trusted {
			h.roots = roots
		}
		h.create(NewChannel{Name: "mail", Kind: Email, Password: password, Mail: &Mail{
			Host: "127.0.0.1", Port: s.Addr().(*net.TCPAddr).Port, Security: security, Username: user, From: "Sluice <sluice@a.example>", To: []string{"ops@a.example"},
		}})
		h.run()
		h.add(&Notice{Type: "a", Severity: Critical, Title: "Señor <b>", Lines: []Line{{Name: "Cause", Value: "a < b"}}, Command: "sluice doctor"})
		h.until("an attempt", func() bool {
			rows := h.deliveries(store.DeliveryFilter{})
			return len(rows) == 1 && rows[0].Attempts == 1
		})
		d := h.deliveries(store.DeliveryFilter{})[0]
		s.mu.Lock()
		defer s.mu.Unlock()
		if fault != "" {
			if !strings.Contains(d.Fault, fault) || len(s.got) != 0 || strings.Contains(d.Fault+d.Log, "pass-1234") || s.clear {
				t.Errorf("%s: %+v, %d messages", security, d, len(s.got))
			}
			return
		}
		if d.State != store.DeliveryDelivered || len(s.got) != 1 {
			t.Fatalf("%s: %+v", security, d)
		}
		for _, want := range []string{"Message-ID: <" + d.ID + "@a.example>", "multipart/alternative", "text/plain", "text/html", "a &lt; b", "Cause: a < b", "sluice doctor"} {
			if !strings.Contains(s.got[0], want) {
				t.Errorf("%s: no %q in %s", security, want, s.got[0])
			}
		}
	}
	login := func(s *mailServer) { s.password = "pass-1234" }
	f("", "", "", true, "", func(*mailServer) {})
	f("starttls", "me", "pass-1234", true, "", login)
	f("tls", "me", "pass-1234", true, "", func(s *mailServer) { s.password, s.implicit = "pass-1234", true })
	f("none", "", "", true, "", func(s *mailServer) { s.tls = nil })
	f("starttls", "", "", true, "did not take", func(s *mailServer) { s.tls = nil })
	f("starttls", "me", "pass-1234", false, "did not take", login)
	f("starttls", "me", "wrong", true, "did not take", login)
}
