// Package mailtest is a mail server for tests that keeps the received messages.
package mailtest

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Server takes mail over SMTP (RFC 5321), with STARTTLS (RFC 3207) when it has a
// certificate and a login (RFC 4954) when it has a password. Set its fields before [Server.Start].
type Server struct {
	net.Listener

	TLS      *tls.Config
	Implicit bool // TLS from the first byte
	Password string

	mu      sync.Mutex
	got     []Mail // guarded by mu
	inClear bool   // guarded by mu; a login came without TLS
}

// Mail is a message that was taken.
type Mail struct {
	To   []string // addresses of RCPT
	Text string   // as it came
}

// Start listens on loopback until the test ends.
func (s *Server) Start(t *testing.T) *Server {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it ends with the test
	if err != nil {
		t.Fatal(err)
	}
	s.Listener = ln
	t.Cleanup(func() { _ = ln.Close() })
	go s.serve()
	return s
}

// Port is where it listens.
func (s *Server) Port() int { return s.Addr().(*net.TCPAddr).Port } //nolint:forcetypeassert // it listens on TCP

// Got are the messages that were taken.
func (s *Server) Got() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

// InClear reports whether a password came without TLS.
func (s *Server) InClear() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inClear
}

func (s *Server) serve() {
	for {
		c, err := s.Accept()
		if err != nil {
			return
		}
		go s.talk(c)
	}
}

func (s *Server) talk(c net.Conn) {
	defer func() { _ = c.Close() }()
	secure := s.Implicit
	if secure {
		c = tls.Server(c, s.TLS)
	}
	in := bufio.NewReader(c)
	say := func(lines ...string) { _, _ = fmt.Fprint(c, strings.Join(lines, "\r\n")+"\r\n") }
	say("220 mail.example ESMTP")
	in0, to := s.Password == "", []string(nil)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch strings.ToUpper(verb) {
		case "EHLO", "HELO":
			offers := []string{"250-mail.example"}
			if s.TLS != nil && !secure {
				offers = append(offers, "250-STARTTLS")
			}
			if s.Password != "" && secure {
				offers = append(offers, "250-AUTH PLAIN")
			}
			say(append(offers, "250 8BITMIME")...)
		case "STARTTLS":
			say("220 go ahead")
			c, secure = tls.Server(c, s.TLS), true
			in = bufio.NewReader(c)
		case "AUTH":
			_, given, _ := strings.Cut(rest, " ")
			plain, _ := base64.StdEncoding.DecodeString(given)
			s.mu.Lock()
			s.inClear = s.inClear || !secure
			s.mu.Unlock()
			if in0 = strings.HasSuffix(string(plain), "\x00"+s.Password); in0 {
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
			s.got = append(s.got, Mail{to, b.String()})
			s.mu.Unlock()
			to = nil
			say("250 taken")
		case "QUIT":
			say("221 bye")
			return
		case "MAIL", "RCPT":
			if !in0 {
				say("530 log in first")
				continue
			}
			if _, address, ok := strings.Cut(rest, "<"); ok && strings.EqualFold(verb, "RCPT") {
				address, _, _ = strings.Cut(address, ">")
				to = append(to, address)
			}
			say("250 ok")
		default:
			say("250 ok")
		}
	}
}
