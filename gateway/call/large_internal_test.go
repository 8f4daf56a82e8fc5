package call

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicegate/sluice/gateway/answer"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/plugins/jq"
)

// TestLarge: a large answer is rendered in a scratch of the Caller's and a small one in its own; as is one
// that others read, and one that waited long enough.
func TestLarge(t *testing.T) { synctest.Test(t, testLarge) }

func testLarge(t *testing.T) {
	c := &Caller{large: make(chan *scratch, 1)}
	c.large <- &scratch{form: make([]byte, 1, keepScratch+1), small: make([]byte, 1, 10)}
	begin := func(size int) *exchange {
		x := newExchange()
		x.c, x.ready, x.body = c, &snapshot.Ready{Answer: &answer.Plan{}}, make([]byte, size)
		return x
	}
	small, filtered, reshaped := begin(largeBody-1), begin(largeBody), begin(largeBody)
	filtered.ready.Plugins = []*snapshot.Plugin{{}}
	reshaped.ready.Answer.Reshape = &jq.Program{}
	for what, x := range map[string]*exchange{"small": small, "of a plugin": filtered, "of an expression": reshaped} {
		if x.takeLarge(); x.scratch != &x.own || len(c.large) != 1 {
			t.Errorf("an answer %s takes a scratch of the Caller's", what)
		}
		x.returnLarge(c)
	}
	x, late, next := begin(largeBody), begin(largeBody), begin(largeBody)
	if x.takeLarge(); x.scratch == &x.own || x.render(x.received).scratch != x.scratch {
		t.Fatal("a large answer is rendered in memory of its own")
	}
	from := time.Now()
	if late.takeLarge(); late.scratch != &late.own || time.Since(from) != largeWait {
		t.Errorf("behind %v two have one scratch", time.Since(from))
	}
	go next.takeLarge()
	synctest.Wait()
	s := x.scratch
	x.returnLarge(c)
	if synctest.Wait(); next.scratch != s {
		t.Error("one that waits does not get the scratch that is given back")
	}
	if x.scratch != &x.own || len(s.small) != 0 || cap(s.small) != 10 || s.form != nil {
		t.Error("a scratch that is given back keeps an answer, or more memory than keepScratch")
	}
	next.returnLarge(c)
	if late.returnLarge(c); len(c.large) != 1 {
		t.Errorf("%d scratches of one are left", len(c.large))
	}
}
