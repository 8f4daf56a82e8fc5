package cluster

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
)

const (
	// passHeader says of a request that a member passes on whose it is.
	passHeader = "Sluice-Pass" //nolint:gosec // a name
	// refusedHeader says that the leader's front refused a request before anything was done
	// with it.
	refusedHeader = "Sluice-Pass-Refused"
	// maxPassBytes of a pass: an address, a member and what authenticates them have 200.
	maxPassBytes = 512
	// maxPassAge is how far the clocks of two members may differ, and how long a pass that
	// somebody recorded could be shown again.
	maxPassAge = 2 * time.Minute
)

// pass is what a member says of a request that it passes on to the leader.
type pass struct {
	number uint64     // of the leader that it is for
	at     time.Time  // whole seconds
	client netip.Addr // whose request it is
	https  bool       // the client came over https
	member string     // who says so
}

// text is everything of a pass but what authenticates it.
func (p *pass) text() string {
	scheme := "http"
	if p.https {
		scheme = "https"
	}
	return "1 " + strconv.FormatUint(p.number, 10) + " " + strconv.FormatInt(p.at.Unix(), 10) + " " + p.client.String() + " " + scheme + " " + p.member
}

// mac authenticates a pass together with the request that it is of.
func mac(key []byte, text, method, host, uri string) []byte {
	h := hmac.New(sha256.New, key)
	for _, part := range []string{"sluice pass", text, method, host, uri} {
		h.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return h.Sum(nil)
}

// sign returns the header of a pass.
func (p *pass) sign(key []byte, method, host, uri string) string {
	text := p.text()
	return text + " " + base64.RawURLEncoding.EncodeToString(mac(key, text, method, host, uri))
}

// read verifies the pass of a request. It fails with [problem.Forbidden] when no member of
// this cluster wrote it for this request, and with [problem.Unavailable] when it is for
// another leader.
func read(r *http.Request, key []byte, number uint64, now time.Time) (*pass, error) {
	values := r.Header.Values(passHeader)
	if len(values) != 1 || len(values[0]) > maxPassBytes {
		return nil, forged()
	}
	parts := strings.Split(values[0], " ")
	if len(parts) != 7 || parts[0] != "1" {
		return nil, forged()
	}
	p := &pass{https: parts[4] == "https", member: parts[5]}
	var err error
	if p.number, err = strconv.ParseUint(parts[1], 10, 64); err != nil {
		return nil, forged()
	}
	if p.number != number { // it is authenticated with the key of another, so nothing of it is believed
		return nil, problem.New(problem.Unavailable, "the request is for another leader than this one").Fix("repeat it in a moment")
	}
	seconds, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		return nil, forged()
	}
	if p.client, err = netip.ParseAddr(parts[3]); err != nil {
		return nil, forged()
	}
	got, err := base64.RawURLEncoding.DecodeString(parts[6])
	if p.at = time.Unix(seconds, 0); err != nil || p.text() != strings.Join(parts[:6], " ") || !hmac.Equal(got, mac(key, p.text(), r.Method, r.Host, r.RequestURI)) {
		return nil, forged()
	}
	if now.Sub(p.at).Abs() > maxPassAge {
		return nil, problem.New(problem.Forbidden, "the clocks of control planes %s and this one differ by more than %s", p.member, maxPassAge).Fix("set the clocks, for example with NTP")
	}
	return p, nil
}

func forged() error {
	return problem.New(problem.Forbidden, "the header %s is not that of a control plane of this database", passHeader).Fix("leave it out: only control planes write it")
}
