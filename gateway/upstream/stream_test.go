package upstream

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

// FuzzLastEvent: what is given of a stream is its beginning and ends with an event, and
// nothing whole comes behind it.
func FuzzLastEvent(f *testing.F) {
	for _, s := range []string{"", "data: a\n\ndata: b", "data: a\r\n\r\ndata", "\n\n", "{}\n{", "a\r\n\r\n\n\n"} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, events bool) {
		end := "\n"
		if events {
			end = "\n\n"
		}
		n := lastEvent(body, end)
		if n < 0 || n > len(body) {
			t.Fatalf("%d of %d bytes", n, len(body))
		}
		if whole := string(body[:n]); n > 0 && !strings.HasSuffix(whole, end) && !strings.HasSuffix(whole, "\r\n\r\n") {
			t.Fatalf("%q ends in no event", whole)
		}
		if rest := body[n:]; bytes.Contains(rest, []byte(end)) {
			t.Fatalf("a whole event is left in %q", rest)
		}
	})
}

// FuzzUnpackStream: whatever part of a compressed stream has come, what is given of it is
// the beginning of what was sent, in whole events.
func FuzzUnpackStream(f *testing.F) {
	f.Add([]byte("data: a\n\ndata: b\n\n"), uint16(30))
	f.Add([]byte("data: a"), uint16(5))
	f.Add(bytes.Repeat([]byte("data: a\n\n"), 400), uint16(20))
	f.Fuzz(func(t *testing.T, sent []byte, cut uint16) {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if _, err := z.Write(sent); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		var x Exchange
		x.GoesOn = true
		x.response.Header.SetContentType("text/event-stream")
		x.response.Header.Set(fasthttp.HeaderContentEncoding, "gzip")
		x.response.SetBody(packed.Bytes()[:min(int(cut), packed.Len())])
		if err := x.unpack("a.example", Limits{MaxBody: 1 << 20}); err != nil || !x.packed {
			return // nothing whole has come
		}
		if !bytes.HasPrefix(sent, x.plain) || lastEvent(x.plain, "\n\n") != len(x.plain) {
			t.Fatalf("%q of %q", x.plain, sent)
		}
	})
}
