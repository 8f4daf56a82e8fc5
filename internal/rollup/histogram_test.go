package rollup

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

func TestBounds(t *testing.T) {
	for i, b := range bounds {
		if got := bucketOf(b); got != i {
			t.Errorf("%v is in bucket %d, want %d", b, got, i)
		}
		if got := bucketOf(b + 1); got != i+1 {
			t.Errorf("%v is in bucket %d, want %d", b+1, got, i+1)
		}
	}
	f := func(d time.Duration, want int) {
		t.Helper()
		if got := bucketOf(d); got != want {
			t.Errorf("%v is in bucket %d, want %d", d, got, want)
		}
	}
	f(-time.Second, 0)
	f(0, 0)
	f(1000*time.Second, Buckets-2)
	f(1000*time.Second+1, Buckets-1)
	f(math.MaxInt64, Buckets-1)
}

// The estimate of a quantile is never further off than one bucket is wide.
func TestQuantile(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var h Histogram
	var all []time.Duration
	for range 20000 {
		d := time.Duration(float64(time.Millisecond) * math.Exp(r.NormFloat64()*1.5))
		h.Add(d)
		all = append(all, d)
	}
	slices.Sort(all)
	for _, q := range []float64{0.01, 0.5, 0.9, 0.95, 0.99, 0.999, 1} {
		want := all[min(int(q*float64(len(all))), len(all)-1)]
		got := h.Quantile(q)
		if ratio := float64(got) / float64(want); ratio < 1/1.14 || ratio > 1.14 {
			t.Errorf("q%v is %v, want %v", q, got, want)
		}
	}
	var empty, high Histogram
	high.Add(time.Hour)
	if empty.Quantile(0.5) != 0 || high.Quantile(0.5) != 1000*time.Second {
		t.Errorf("empty %v, beyond the last bound %v", empty.Quantile(0.5), high.Quantile(0.5))
	}
}

func TestEncoding(t *testing.T) {
	var h Histogram
	if b := h.AppendBinary(nil); len(b) != 0 {
		t.Fatalf("an empty histogram is %x", b)
	}
	for i := range h {
		h[i] = math.MaxUint64
	}
	b := h.AppendBinary(nil)
	if len(b) != MaxEncoded {
		t.Errorf("the longest encoding has %d bytes, want %d", len(b), MaxEncoded)
	}
	var got Histogram
	if err := got.MergeBinary(b); err != nil || got != h {
		t.Fatalf("read back as %v, %v", got, err)
	}
	for _, bad := range [][]byte{{0, 1}, {1}, {1, 0}, {Buckets + 1, 1}, {0xff}, {1, 0xff}, {1, 1}} {
		before := got
		if err := got.MergeBinary(bad); !errors.Is(err, ErrEncoding) || got != before {
			t.Errorf("%x: %v", bad, err)
		}
	}
}

func FuzzMergeBinary(f *testing.F) {
	f.Add([]byte{1, 1, 3, 200, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		var h, again Histogram
		if h.MergeBinary(b) != nil {
			if h != again {
				t.Fatal("a refused encoding was counted")
			}
			return
		}
		if err := again.MergeBinary(h.AppendBinary(nil)); err != nil || again != h {
			t.Fatalf("%x reads as %v, written and read again as %v, %v", b, h, again, err)
		}
	})
}

// Nothing is counted twice or not at all while it is drained.
func TestLive(t *testing.T) {
	var l Live
	var h Histogram
	var wg sync.WaitGroup
	const each = 20000
	for range 4 {
		wg.Go(func() {
			for i := range each {
				l.Add(time.Duration(i) * time.Microsecond)
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for open := true; open; {
		select {
		case <-done:
			open = false
		default:
		}
		l.Drain(&h)
	}
	if got := h.Count(); got != 4*each {
		t.Fatalf("%d, want %d", got, 4*each)
	}
	if n := testing.AllocsPerRun(100, func() { l.Add(time.Millisecond) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkLive(b *testing.B) {
	var l Live
	b.ReportAllocs()
	for b.Loop() {
		l.Add(1234567)
	}
}

// TestEachBucketAlone: what is in one bucket only is read again, in the last one, too, which is
// as far from the beginning as a step can be.
func TestEachBucketAlone(t *testing.T) {
	for i := range Buckets {
		var h, got Histogram
		h[i] = 3
		if err := got.MergeBinary(h.AppendBinary(nil)); err != nil || got != h {
			t.Errorf("bucket %d: %v", i, err)
		}
	}
}
