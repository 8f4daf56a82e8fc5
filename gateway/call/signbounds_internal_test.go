package call

import (
	"bytes"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/plugins/guest"
)

// TestMaxSignedBody: an auth plugin gets a body as long whole; of a longer one it gets the
// length and the digest.
func TestMaxSignedBody(t *testing.T) {
	for n, whole := range map[int]bool{guest.MaxSignedBody: true, guest.MaxSignedBody + 1: false} {
		var req fasthttp.Request
		req.SetRequestURI("https://api.example/x")
		req.SetBody(bytes.Repeat([]byte("b"), n))
		r := new(exchange).signable(&req, nil)
		if got := len(r.Body) == n; got != whole || !whole && r.Body != nil || r.BodyBytes != n || len(r.BodySHA256) != 64 {
			t.Errorf("a body of %d bytes: %d are given, %d said, digest %q", n, len(r.Body), r.BodyBytes, r.BodySHA256)
		}
	}
}
