package redact

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := Text(in, 1000); got != want {
			t.Errorf("%q became\n%q, want\n%q", in, got, want)
		}
	}
	f(`HTTP 404 Not Found: there is no pet 17`, `HTTP 404 Not Found: there is no pet 17`)
	f(`{"message":"bad","api_key":"abc","n":1}`, `{"message":"bad","api_key":[redacted],"n":1}`)
	f(`{\"password\":\"a b\",\"x\":1}`, `{\"password\":[redacted],\"x\":1}`)
	f(`https://u:p@db.example/x?access_token=abc&y=2`, `https://[redacted]@db.example/x?access_token=[redacted]&y=2`)
	f(`postgres://u:half@rest@db/x`, `postgres://[redacted]@db/x`)
	f(`Authorization: Bearer abcdefghij`, `Authorization: [redacted]`)
	f(`sent Bearer abcdefghij there`, `sent Bearer [redacted] there`)
	f(`write to jane.doe@example.co.uk now`, `write to [redacted] now`)
	f(`call +49 (30) 1234-5678 or 4111 1111 1111 1111`, `call [redacted] or [redacted]`)
	f(`at 2026-11-21 and 2026-11-21T10:00:00Z`, `at 2026-11-21 and 2026-11-21T10:00:00Z`)
	f(`at 2026-11-21 10:00:00.123`, `at 2026-11-21 10:00:00.123`)
	f(`donaudampfschifffahrtsgesellschaft /repos/acme/gadgets/issues/comments`, `donaudampfschifffahrtsgesellschaft /repos/acme/gadgets/issues/comments`)
	f("-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY----- end", "[redacted] end")
	f("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0", "[redacted]")
	f("a\xffb", "a\uFFFDb")
}

// Keys as APIs issue them do not stay in a text.
func TestKeys(t *testing.T) {
	missed := 0
	const tries = 300
	for range tries {
		b := make([]byte, 24)
		_, _ = rand.Read(b)
		for _, key := range []string{hex.EncodeToString(b), base64.RawURLEncoding.EncodeToString(b), "ghp_" + base64.RawStdEncoding.EncodeToString(b)} {
			if strings.Contains(Text("refused "+key+" here", 1000), key[4:]) {
				missed++
			}
		}
	}
	if missed > tries*3/100 {
		t.Errorf("%d of %d keys stayed", missed, 3*tries)
	}
}

// TestRandom tries each of the rules for a key at its limit and one past it.
func TestRandom(t *testing.T) {
	f := func(s string, want bool) {
		t.Helper()
		if got := random(s); got != want {
			t.Errorf("random(%q) = %v", s, got)
		}
	}
	run := strings.Repeat
	// Letters and digits in turns: every fifth character is of another class.
	f(run("a", 5)+"1"+run("a", 8)+"11"+"aaaa", true) // 4 changes, 20 characters
	f(run("a", 5)+"1"+run("a", 8)+"11"+"aaaaa", false)
	f("111aa1aa1", true)  // letters: 4
	f("11a11aa11", true)  // letters: 3
	f("11a111a11", false) // letters: 2
	f("aa1aaa11", true)   // digits: 3
	f("aa1aaaa1", false)  // digits: 2
	f("aa9aaa99", true)   // digits: 3, of the last one
	// Twelve digits with a letter.
	f(run("1", 12)+"a", true)
	f(run("1", 11)+"a", false)
	f(run("1", 12), false)
	// Cases in turns: every fourth character is of another class, five times at least.
	f("aBaBaB", true)
	f("aBaBa", false)
	f("aZaZaZ", true) // the ends of the alphabets
	f("zAzAzA", true)
	f("0a0a0a9z9", true)
	f("aaaaBBBBaaaBBBaaaBBB", true) // 20 characters
	f("aaaaBBBBaaaaBBBaaaBBB", false)
	f("", false)
	f("---", false)
	f("a-B-a-B-a-B", true) // what is not a letter or digit does not count
}

func TestLimit(t *testing.T) {
	if MaxBytes != 64<<10 {
		t.Errorf("%d bytes of a text are looked at, want 64 KB", MaxBytes)
	}
	for limit, want := range map[int]string{-1: "", 0: "", 1: "", 2: "é", 3: "éa", 4: "éa"} {
		if got := Text("éa", limit); got != want {
			t.Errorf("at most %d bytes: %q, want %q", limit, got, want)
		}
	}
	if got := Text("abcé", 4); got != "abc" {
		t.Errorf("%q", got)
	}
	if got := Text(strings.Repeat("a b ", MaxBytes/4+1), MaxBytes+5); len(got) != MaxBytes {
		t.Errorf("%d bytes", len(got))
	}
}

func FuzzText(f *testing.F) {
	f.Add(`{"token":"x"}`, 10)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit %= 2000
		got := Text(s, limit)
		if len(got) > max(limit, 0) || !utf8.ValidString(got) {
			t.Fatalf("%q: %d bytes of %d", s, len(got), limit)
		}
	})
}
