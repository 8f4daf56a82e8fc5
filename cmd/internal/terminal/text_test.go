package terminal

import (
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/safehttp"
)

func TestTexts(t *testing.T) {
	f := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f(ByteSize(0), "0 B")
	f(ByteSize(1023), "1023 B")
	f(ByteSize(22835), "22.3 KiB")
	f(ByteSize(int64(13)<<20), "13.0 MiB")
	f(ByteSize(300<<10), "300 KiB")
	f(Thousands(0), "0")
	f(Thousands(999), "999")
	f(Thousands(1000), "1,000")
	f(Thousands(-1234567), "-1,234,567")
	f(Plural(1, "tool"), "1 tool")
	f(Plural(0, "tool"), "0 tools")
	f(TokenLine(3184, 611), "3,184 → 611 tokens (−80 %)")
	f(TokenLine(10, 10), "10 → 10 tokens")
	f(TokenLine(21, 30), "21 → 30 tokens (+42 %)")
	f(TokenLine(0, 0), "0 → 0 tokens")
	f(Seconds(0.0004), "0.4 ms")
	f(Seconds(0.212), "212 ms")
	f(Seconds(31.5), "31.5s")
	f(ShortDigest("sha256:0123456789abcdef0123"), "sha256:0123456789ab…")
	now := time.Unix(1_000_000, 0)
	f(Ago(now.Add(-2*time.Minute), now), "2 min ago")
	f(Ago(now.Add(-50*time.Hour), now), "2 days ago")
	f(safehttp.Redact("https://u:p@h/x?key=s#f"), "https://h/x")
	f(Printable("a\x1b[31mb\nc\u202e"), "ab c")
	f(SafeText("a\x1b]0;x\x07\n\tb"), "a\n\tb")
	f(FirstSentence("List pets. Returns a list."), "List pets.")
}
