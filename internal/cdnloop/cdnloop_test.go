package cdnloop

import (
	"context"
	"net/http"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	times := func(n int) string { return strings.TrimSuffix(strings.Repeat("sluice, ", n), ", ") }
	for name, c := range map[string]struct {
		fields []string
		next   string
		want   Verdict
	}{
		"no header":              {nil, "", Fine},
		"an empty one":           {[]string{""}, "", Fine},
		"one gateway":            {[]string{"sluice"}, "sluice, sluice", Fine},
		"another's":              {[]string{"cloudflare; subreqs=1"}, "cloudflare; subreqs=1, sluice", Fine},
		"a host and its port":    {[]string{"cdn.example.com:8080"}, "cdn.example.com:8080, sluice", Fine},
		"an IP literal":          {[]string{"[2001:db8::1]:443"}, "[2001:db8::1]:443, sluice", Fine},
		"quoted":                 {[]string{`foo123.foocdn.example; a="b, sluice, \"; x", barcdn.example;k=v`}, `foo123.foocdn.example; a="b, sluice, \"; x", barcdn.example;k=v, sluice`, Fine},
		"empty elements":         {[]string{",sluice,, a ,"}, ",sluice,, a ,, sluice", Fine},
		"several fields":         {[]string{"sluice", "a"}, "sluice, a, sluice", Fine},
		"as many as may be":      {[]string{times(maxWeight)}, times(maxWeight + 1), Fine},
		"one more":               {[]string{times(maxWeight + 1)}, "", TooFar},
		"one more, in two":       {[]string{times(maxWeight), "a, sluice"}, "", TooFar},
		"in capitals":            {[]string{strings.ToUpper(times(maxWeight + 1))}, "", TooFar},
		"with parameters":        {[]string{strings.Repeat("sluice ; a=b ,", maxWeight+1)}, "", TooFar},
		"names that only begin":  {[]string{strings.Repeat("sluice.example, ", maxWeight+1) + "x"}, strings.Repeat("sluice.example, ", maxWeight+1) + "x, sluice", Fine},
		"as long as may be":      {[]string{strings.Repeat("a", maxHeader-2)}, strings.Repeat("a", maxHeader-2) + ", sluice", Fine},
		"longer":                 {[]string{strings.Repeat("a", maxHeader-1)}, "", TooFar},
		"many empty fields":      {make([]string, maxHeader), "", TooFar},
		"a weight":               {[]string{"sluice; weight=3"}, "sluice; weight=3, sluice", Fine},
		"weights that are added": {[]string{"sluice;Weight=3, sluice", "a; weight=9, sluice;k=v; weight=4"}, "sluice;Weight=3, sluice, a; weight=9, sluice;k=v; weight=4, sluice", Fine},
		"one too many":           {[]string{"sluice; weight=4, sluice; weight=5"}, "", TooFar},
		"a weight of nothing":    {[]string{strings.Repeat("sluice;weight=0,", maxWeight+1)}, "", TooFar},
		"one beyond all":         {[]string{"sluice; weight=18446744073709551617"}, "", TooFar},
		"one that is no number":  {[]string{"sluice; weight=-1"}, "", TooFar},
		"two ids":                {[]string{"a b"}, "", Malformed},
		"no id":                  {[]string{"; a=b"}, "", Malformed},
		"a parameter of no name": {[]string{"a; =b"}, "", Malformed},
		"of no value":            {[]string{"a; b="}, "", Malformed},
		"without =":              {[]string{"a; b"}, "", Malformed},
		"an open quote":          {[]string{`a; b="c`}, "", Malformed},
		"an open escape":         {[]string{`a; b="c\`}, "", Malformed},
		"what ends a quote":      {[]string{`a; b="c"d`}, "", Malformed},
		"a control character":    {[]string{"a; b=\"\x01\""}, "", Malformed},
		"an odd character":       {[]string{"a@b"}, "", Malformed},
		"a name beyond ASCII":    {[]string{"slüice"}, "", Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			r, got := Read(bytesOf(c.fields))
			next := ""
			if r != nil {
				next = r.next()
			}
			if next != c.next || got != c.want {
				t.Errorf("%q, %d, want %q, %d", next, got, c.next, c.want)
			}
		})
	}
}

func bytesOf(fields []string) (b [][]byte) {
	for _, f := range fields {
		b = append(b, []byte(f))
	}
	return b
}

func TestSent(t *testing.T) {
	ctx := With(t.Context(), nil)
	if got := Sent(ctx); got != Own || ctx != t.Context() {
		t.Errorf("%q without a header", got)
	}
	r, _ := Read(bytesOf([]string{"a"}))
	inner, stop := context.WithCancel(With(ctx, r))
	defer stop()
	inner = Counted(inner)
	root := Counted(ctx)
	for i, want := range []string{"sluice", "sluice; weight=3", "sluice; weight=3", "sluice; weight=5", "sluice; weight=5"} {
		if got := Sent(inner); got != "a, "+want {
			t.Errorf("call %d that came through another: %q", i+1, got)
		}
		if got := Sent(root); got != want {
			t.Errorf("call %d: %q, want %q", i+1, got, want)
		}
		if got := Sent(ctx); got != Own {
			t.Errorf("a call that makes no others: %q", got)
		}
	}
	var last string
	for range 1000 {
		last = Sent(root)
	}
	if _, v := Read(bytesOf([]string{last + ", sluice"})); v != Fine {
		t.Errorf("the last call of a script reaches no gateway: %q", last)
	}
	if n := testing.AllocsPerRun(100, func() { Read(nil); Sent(With(ctx, nil)); Sent(root) }); n != 0 {
		t.Errorf("%v allocations without a header, want 0", n)
	}
}

// TestStream: a stream that is opened again and again weighs what it did at first.
func TestStream(t *testing.T) {
	r, _ := Read(bytesOf([]string{"a"}))
	r.next()
	s := r.Stream()
	for range 100 {
		if got := Sent(With(t.Context(), s)); got != "a, sluice; weight=3" {
			t.Fatalf("%q", got)
		}
	}
	if got := Sent(With(t.Context(), (*Request)(nil).Stream())); got != Own {
		t.Errorf("%q without a header", got)
	}
}

func TestRefused(t *testing.T) {
	r, _ := Read(bytesOf([]string{"sluice"}))
	through, root := Counted(With(t.Context(), r)), Counted(t.Context())
	for _, ctx := range []context.Context{through, root, t.Context()} {
		if Answered(ctx, http.StatusTooManyRequests); Refused(ctx) {
			t.Error("refused by another status")
		}
		if Answered(ctx, http.StatusLoopDetected); Refused(ctx) != (ctx == through) {
			t.Errorf("refused: %v", Refused(ctx))
		}
	}
}

// TestFanOut: however often each call makes calls, what comes of one request is bounded.
func TestFanOut(t *testing.T) {
	for _, fan := range []int{1, 2, 20, 256} {
		served, sent := 0, 0
		var serve func(header string)
		serve = func(header string) {
			sent++
			var fields []string
			if header != "" {
				fields = []string{header}
			}
			r, v := Read(bytesOf(fields))
			if v != Fine {
				return
			}
			served++
			ctx := Counted(With(t.Context(), r))
			for range fan {
				if Refused(ctx) {
					return
				}
				next := Sent(ctx)
				if _, v := Read(bytesOf([]string{next})); v == TooFar {
					Answered(ctx, http.StatusLoopDetected)
				}
				serve(next)
			}
		}
		serve("")
		t.Logf("each call makes %d: %d served, %d sent", fan, served, sent)
		if most := 1800; sent > most || served < maxWeight {
			t.Errorf("each call makes %d: %d served, %d sent, want at most %d", fan, served, sent, most)
		}
	}
}
