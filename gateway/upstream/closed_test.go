package upstream_test

import (
	"io"
	"syscall"
	"testing"

	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/problem"
)

// TestClosed: a server that closed the connection because of a client certificate is not one that
// can be asked again.
func TestClosed(t *testing.T) {
	for _, x := range []struct {
		kind  problem.Kind
		cause error
		want  bool
	}{
		{problem.Unreachable, io.EOF, true},
		{problem.Unreachable, syscall.EPIPE, true},
		{problem.Unreachable, io.ErrUnexpectedEOF, false},
		{problem.Unauthenticated, io.EOF, false},
		{problem.UpstreamMalformed, syscall.ECONNRESET, false},
	} {
		if got := upstream.Closed(problem.New(x.kind, "x").Because(x.cause)); got != x.want {
			t.Errorf("%s because of %v: %t", x.kind, x.cause, got)
		}
	}
	if upstream.Closed(io.EOF) || upstream.Closed(nil) {
		t.Error("what is no problem of an upstream is one")
	}
}
