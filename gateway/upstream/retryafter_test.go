package upstream

import "testing"

// TestRetryAfter: the header is a number of seconds or a date (RFC 9110 §10.2.3), or not passed on.
func TestRetryAfter(t *testing.T) {
	for text, want := range map[string]string{
		"0": "seconds", "120": "seconds", "0123456789": "seconds", "Wed, 21 Oct 2026 07:28:00 GMT": "date",
		"": "none", "-1": "none", "+1": "none", "1/2": "none", "1:2": "none", "1.5": "none", " 1": "none", "soon": "none", "Wed, 21 Oct": "none",
		"1111111111111111111111111111111111111111": "seconds", "11111111111111111111111111111111111111111": "none",
	} {
		out, seconds := RetryAfter([]byte(text))
		got := "none"
		switch {
		case seconds && string(out) == text:
			got = "seconds"
		case !seconds && out != nil && string(out) == text:
			got = "date"
		}
		if got != want {
			t.Errorf("%q: %q, %t, want %s", text, out, seconds, want)
		}
	}
}
