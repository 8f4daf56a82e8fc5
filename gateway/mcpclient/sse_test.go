package mcpclient

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

type event struct{ name, data string }

func readAll(r io.Reader, limit int64) (out []event, err error) {
	var e eventReader
	e.reset(bufio.NewReaderSize(r, 16), limit)
	for {
		if err := e.next(); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return out, err
		}
		out = append(out, event{string(e.name), string(e.data)})
	}
}

func TestEvents(t *testing.T) {
	f := func(in string, want ...event) {
		t.Helper()
		for _, r := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in))} {
			got, err := readAll(r, 1000)
			if err != nil || len(got) != len(want) {
				t.Fatalf("%q: %v, %v; want %v", in, got, err, want)
			}
			for i := range got {
				if got[i] != want[i] {
					t.Fatalf("%q: %v, want %v", in, got, want)
				}
			}
		}
	}
	f("")
	f("data: a\n\n", event{"", "a"})
	f("data:a\r\rdata:b\r\n\r\n", event{"", "a"}, event{"", "b"})
	f("\xef\xbb\xbfevent: endpoint\ndata: /x\n\n", event{"endpoint", "/x"})
	f("data: a\ndata:  b\ndata\n\n", event{"", "a\n b\n"})
	f(": comment\nid: 1\nretry: 5\nevent: x\n\ndata: after\n\n", event{"", "after"})
	f("data: cut off")
	f("data: cut off\n")
	f("data: "+strings.Repeat("é", 60)+"\n\n", event{"", strings.Repeat("é", 60)})
}

func TestEventBounds(t *testing.T) {
	if got, err := readAll(strings.NewReader("data: "+strings.Repeat("x", 100)+"\n\n"), 100); err != nil || len(got) != 1 {
		t.Fatalf("at the limit: %v, %v", got, err)
	}
	for _, in := range []string{"data: " + strings.Repeat("x", 101) + "\n\n", strings.Repeat("data: xxxxxxxxxx\n", 11) + "\n", strings.Repeat("x", 200)} {
		if _, err := readAll(strings.NewReader(in), 100); !errors.Is(err, errEventTooLarge) {
			t.Fatalf("past the limit: %v", err)
		}
	}
}

// FuzzEvents: how the bytes are cut into reads changes nothing, no event is larger
// than the limit, and an event that is written again is read again.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("event: message\ndata: {\"a\":1}\r\n\r\ndata:x\rdata:y\n\n"))
	f.Add([]byte("\xef\xbb\xbfdata\n\n\n:\n\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		const limit = 256
		whole, err := readAll(bytes.NewReader(in), limit)
		bits, bitsErr := readAll(iotest.OneByteReader(bytes.NewReader(in)), limit)
		if len(whole) != len(bits) || !errors.Is(bitsErr, err) {
			t.Fatalf("%q: %v, %v at once; %v, %v in bytes", in, whole, err, bits, bitsErr)
		}
		for i, e := range whole {
			if e != bits[i] || len(e.data) > 2*limit {
				t.Fatalf("%q: %v at once, %v in bytes", in, e, bits[i])
			}
			if len(e.name) > 64 {
				continue
			}
			var b strings.Builder
			if e.name != "" {
				b.WriteString("event: " + e.name + "\n")
			}
			for line := range strings.SplitSeq(e.data, "\n") {
				b.WriteString("data: " + line + "\n")
			}
			again, err := readAll(strings.NewReader(b.String()+"\n"), 4*limit)
			if err != nil || len(again) != 1 || again[0] != e {
				t.Fatalf("%q written as %q was read as %v, %v", e, b.String(), again, err)
			}
		}
	})
}

// FuzzHeaderValue: any text survives its way through a header, and what is sent is a
// field value (RFC 9110 §5.5).
func FuzzHeaderValue(f *testing.F) {
	for _, s := range []string{"", "plain", " blank", "ü", "=?base64?eA==?=", "a\tb", "a\nb"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got := appendHeaderValue(nil, in)
		for _, c := range got {
			if c < ' ' && c != '\t' || c > '~' {
				t.Fatalf("%q became %q", in, got)
			}
		}
		text, coded := bytes.CutPrefix(got, []byte("=?base64?"))
		if coded {
			var err error
			if text, err = base64.StdEncoding.DecodeString(string(bytes.TrimSuffix(text, []byte("?=")))); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(text, in) || !coded && !bytes.Equal(bytes.TrimSpace(got), got) {
			t.Fatalf("%q became %q", in, got)
		}
	})
}
