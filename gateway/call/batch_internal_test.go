package call

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/batch"
	"github.com/sluicegate/sluice/gateway/snapshot"
)

// TestBatchCallsThatDidNotBegin: a call for which the batch had no time left is told as not
// made, also one that would have changed data.
func TestBatchCallsThatDidNotBegin(t *testing.T) {
	stopped, stop := context.WithCancelCause(t.Context())
	stop(ErrStopped)
	for want, ctx := range map[string]context.Context{
		"not called: no answer within the 1s that the batch may take": t.Context(),
		"not called: the gateway was stopped":                         stopped,
	} {
		x := newExchange()
		x.input = input{ctx: ctx, limit: time.Second, deadline: time.Now()}
		b, c := &batchRun{nested: nested{x: x}}, &batchCall{Call: batch.Call{ID: "1"}, tool: &snapshot.Tool{}, changes: true}
		b.make(ctx, c)
		if c.result.Error != want {
			t.Errorf("told %q, want %q", c.result.Error, want)
		}
	}
}

// TestBatchNamesAreBounded: as much as maxShownName of an unknown name is repeated.
func TestBatchNamesAreBounded(t *testing.T) {
	for n, whole := range map[int]bool{maxShownName: true, maxShownName + 1: false} {
		name := strings.Repeat("x", n)
		c := batchCall{Call: batch.Call{ID: "1", Name: name}}
		if got := string(c.appendHead(nil)); strings.Contains(got, name) != whole || !strings.HasSuffix(got, "]\n") {
			t.Errorf("a name of %d bytes: %s", n, got)
		}
	}
}

// TestShare: what an answer does not need of its share is for the others.
func TestShare(t *testing.T) {
	for _, test := range []struct {
		budget int
		needs  []int
		want   []int
	}{
		{0, []int{10, 9000}, []int{0, 0}},
		{10024, []int{10, 9000}, []int{10, 9000}},
		{2036, []int{9000, 100, 9000}, []int{950, 100, 950}},
		{200, []int{9000, 9000, 9000}, []int{batchLeast, batchLeast, batchLeast}},
	} {
		answers := make([]batchAnswer, len(test.needs))
		for i, n := range test.needs {
			answers[i].tokens = n
		}
		if got := share(test.budget, answers); fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%d of %v: %v, want %v", test.budget, test.needs, got, test.want)
		}
	}
}
