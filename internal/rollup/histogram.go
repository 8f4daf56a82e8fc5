package rollup

import (
	"encoding/binary"
	"errors"
	"math"
	"sync/atomic"
	"time"
)

const (
	// perDecade is VictoriaMetrics' layout: an estimate is at most 13.6 % off.
	perDecade = 18
	decades   = 8
	// lowest is the upper bound of the first bucket; nothing the gateway does is
	// faster.
	lowest = 10 * time.Microsecond
	// Buckets is how many there are: those between lowest and 1,000 s, one below and
	// one above.
	Buckets = perDecade*decades + 2
)

// MaxEncoded is the longest encoding of a histogram: an index and a count of ten
// bytes for each bucket.
const MaxEncoded = Buckets * (1 + binary.MaxVarintLen64)

// ErrEncoding is returned for bytes that encode no histogram.
var ErrEncoding = errors.New("rollup: this is not a histogram")

// bounds are the upper bounds of all buckets but the last, which has none.
var bounds = func() (b [Buckets - 1]time.Duration) {
	for i := range b {
		b[i] = time.Duration(math.Round(float64(lowest) * math.Pow(10, float64(i)/perDecade)))
	}
	return b
}()

// bucketOf finds the bucket of a duration: the first whose bound it does not
// exceed.
func bucketOf(d time.Duration) int {
	if d <= lowest {
		return 0
	}
	i := int(math.Ceil(math.Log10(float64(d)/float64(lowest)) * perDecade))
	// The logarithm is not exact at the bounds, which are whole nanoseconds.
	for i > 0 && i < len(bounds) && d <= bounds[i-1] {
		i--
	}
	for i < len(bounds) && d > bounds[i] {
		i++
	}
	return min(i, Buckets-1)
}

// Histogram counts durations by bucket. The zero Histogram is empty.
type Histogram [Buckets]uint64

// Add counts one duration.
func (h *Histogram) Add(d time.Duration) { h[bucketOf(d)]++ }

// Merge adds the counts of o.
func (h *Histogram) Merge(o *Histogram) {
	for i, n := range o {
		h[i] += n
	}
}

// Count is how many durations were counted.
func (h *Histogram) Count() (n uint64) {
	for _, c := range h {
		n += c
	}
	return n
}

// Quantile estimates the duration that a share q (0 to 1) of all does not exceed;
// 0 of an empty histogram. It is within a bucket's width of the true one; beyond
// 1,000 s it says 1,000 s.
func (h *Histogram) Quantile(q float64) time.Duration {
	total := h.Count()
	if total == 0 {
		return 0
	}
	rank := max(q, 0) * float64(total)
	var seen float64
	for i, n := range h {
		if n == 0 || seen+float64(n) < rank {
			seen += float64(n)
			continue
		}
		switch i {
		case 0:
			return lowest
		case Buckets - 1:
			return bounds[Buckets-2]
		}
		// Between the bounds the logarithm is taken as even.
		share := min((rank-seen)/float64(n), 1)
		low, high := float64(bounds[i-1]), float64(bounds[i])
		return time.Duration(low * math.Pow(high/low, share))
	}
	return bounds[Buckets-2]
}

// AppendBinary appends the encoding: for each bucket that is not empty the distance
// from the one before and the count, as varints. An empty histogram is no bytes.
func (h *Histogram) AppendBinary(dst []byte) []byte {
	last := -1
	for i, n := range h {
		if n == 0 {
			continue
		}
		dst = binary.AppendUvarint(dst, uint64(i-last))
		dst = binary.AppendUvarint(dst, n)
		last = i
	}
	return dst
}

// MergeBinary adds the counts that b encodes. It fails with [ErrEncoding], and then
// h is as it was; counts that do not fit are refused with it.
func (h *Histogram) MergeBinary(b []byte) error {
	next := *h
	for last := -1; len(b) > 0; {
		step, n := binary.Uvarint(b)
		if n <= 0 || step == 0 || step > Buckets || last+int(step) >= Buckets {
			return ErrEncoding
		}
		b = b[n:]
		count, m := binary.Uvarint(b)
		last += int(step)
		if m <= 0 || count == 0 || next[last]+count < count {
			return ErrEncoding
		}
		b = b[m:]
		next[last] += count
	}
	*h = next
	return nil
}

// Live counts durations of many goroutines. It must not be copied.
type Live [Buckets]atomic.Uint64

// Add counts one duration without allocating.
func (l *Live) Add(d time.Duration) { l[bucketOf(d)].Add(1) }

// Drain moves what was counted into h, adding to what is there, and starts again
// from nothing. What is counted meanwhile is in h or stays, never in both or none.
func (l *Live) Drain(h *Histogram) {
	for i := range l {
		if l[i].Load() != 0 {
			h[i] += l[i].Swap(0)
		}
	}
}
