package engine

import (
	"strconv"
	"strings"
	"testing"
)

// TestMaxSegment: programs that fill the segment, and a byte more.
func TestMaxSegment(t *testing.T) {
	room := MaxSegment - setHeader - setEntry
	room -= (setHeader + setEntry) % tableAlign // nothing stands off a boundary
	for n, ok := range map[int]bool{room: true, room + tableAlign: false} {
		b, err := makeSet(1, [][]byte{make([]byte, n)})
		if (err == nil) != ok || len(b) > MaxSegment || !ok && !strings.Contains(err.Error(), "more than") {
			t.Errorf("a program of %d bytes: %d bytes, %v", n, len(b), err)
		}
	}
}

// TestMaxModule: a module over the bound is not looked at.
func TestMaxModule(t *testing.T) {
	for n, looked := range map[int]bool{MaxModule: true, MaxModule + 1: false} {
		_, err := Open(make([]byte, n), "x")
		if err == nil || strings.Contains(err.Error(), "at most") == looked {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// TestMaxExp: exponents are told apart up to the bound; those beyond are all as huge.
func TestMaxExp(t *testing.T) {
	e := func(sign string, n int64) []byte { return []byte("1e" + sign + strconv.FormatInt(n, 10)) }
	for _, c := range []struct {
		a, b []byte
		want int
	}{
		{e("", maxExp-1), e("", maxExp), -1},
		{e("", maxExp), e("", maxExp+1), 0},
		{e("", maxExp), []byte("1e" + strings.Repeat("9", 400)), 0},
		{e("-", maxExp-1), e("-", maxExp), 1},
		{e("-", maxExp), e("-", maxExp+1), 0},
		{[]byte("1e-" + strings.Repeat("9", 400)), []byte("0"), 1},
	} {
		if got := compareNumbers(c.a, c.b); got != c.want {
			t.Errorf("%.30s and %.30s: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
