package operation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

func parsed(t *testing.T, text string) jsonscan.Value {
	t.Helper()
	v, err := jsonscan.Parse([]byte(text), 0)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestNumberBounds: a number is taken apart as far as it costs little; beyond, it is left
// as it is, and no check refuses what it cannot tell.
func TestNumberBounds(t *testing.T) {
	e := func(n int64) decimal { return parseDecimal(fmt.Appendf(nil, "1e%d", n)) }
	// A literal's exponent is one less than that of 0.1.
	for _, c := range []struct {
		a, b decimal
		want int
	}{
		{e(maxExp - 1), e(maxExp), -1},
		{e(maxExp), e(maxExp + 1), 0},
		{e(-maxExp), e(-maxExp - 1), 0},
		{e(1 - maxExp), e(-maxExp), 1},
		{e(maxExp), parseDecimal([]byte("1e" + strings.Repeat("9", 300))), 0},
	} {
		if got := compareDecimals(c.a, c.b); got != c.want {
			t.Errorf("%v and %v: %d, want %d", c.a, c.b, got, c.want)
		}
	}
	for n, out := range map[int]bool{maxIntegerDigits: true, maxIntegerDigits + 1: false} {
		text := fmt.Sprintf("1e%d", n-1)
		want := text
		if out {
			want = "1" + strings.Repeat("0", n-1)
		}
		if got := string(appendInteger(nil, []byte(text))); got != want {
			t.Errorf("%d digits: %.20s of %d bytes", n, got, len(got))
		}
		// 1 and 1e-(n-1) are told apart with n digits.
		if got := multipleOf(parseDecimal([]byte("7")), parseDecimal(fmt.Appendf(nil, "2e%d", 1-n))); !got {
			t.Errorf("a multiple of %d digits is refused", n)
		}
		if got := multipleOf(parseDecimal([]byte("3"+strings.Repeat("0", n-2)+"1")), parseDecimal([]byte("2"))); got == out {
			t.Errorf("an odd number of %d digits is a multiple of two: %v", n, got)
		}
	}
}

// TestCompareBounds: so much is compared without regard to order; beyond, equal texts are
// equal values.
func TestCompareBounds(t *testing.T) {
	for n, same := range map[int]bool{maxUnordered: true, maxUnordered + 1: false} {
		pad := strings.Repeat("x", n-len(`{"a":"","b":1}`))
		a, b := parsed(t, `{"a":"`+pad+`","b":1}`), parsed(t, `{"b":1,"a":"`+pad+`"}`)
		if len(a.Raw()) != n || equalValues(a, b) != same || !equalValues(a, a) {
			t.Errorf("objects of %d bytes in another order are equal: %v, want %v", len(a.Raw()), !same, same)
		}
	}
	for n, found := range map[int]bool{maxPairwise: true, maxPairwise + 1: false} {
		items := []string{"1.0", "1"} // one value, two texts
		for i := len(items); i < n; i++ {
			items = append(items, fmt.Sprint(i+10))
		}
		if got := !unique(parsed(t, "["+strings.Join(items, ",")+"]")); got != found {
			t.Errorf("of %d items two that are equal are found: %v, want %v", n, got, found)
		}
		items[0] = items[1]
		if unique(parsed(t, "["+strings.Join(items, ",")+"]")) {
			t.Errorf("%d items with a text twice are unique", n)
		}
	}
}

// TestMaxTold: headers of the answer that a plan may name.
func TestMaxTold(t *testing.T) {
	for n, ok := range map[int]bool{maxTold: true, maxTold + 1: false} {
		p := Plan{Version: PlanVersion, Method: "GET", Path: "/"}
		for i := range n {
			p.Told = append(p.Told, fmt.Sprint("X-", i))
		}
		if _, err := p.Compile(); (err == nil) != ok {
			t.Errorf("%d headers: %v", n, err)
		}
	}
}
