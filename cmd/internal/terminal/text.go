package terminal

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sluicegate/sluice/internal/textfilter"
)

// ByteSize is a size for people: 22.3 KiB.
func ByteSize[T ~int | ~int64](n T) string {
	f, unit := float64(n), "B"
	for _, next := range []string{"KiB", "MiB", "GiB"} {
		if f < 1024 {
			break
		}
		f, unit = f/1024, next
	}
	if unit == "B" {
		return fmt.Sprintf("%d B", n)
	}
	if f >= 100 {
		return fmt.Sprintf("%.0f %s", f, unit)
	}
	return fmt.Sprintf("%.1f %s", f, unit)
}

// Thousands writes 3184 as 3,184.
func Thousands(n int) string {
	s := strconv.Itoa(n)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Plural writes "1 tool" and "2 tools".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Thousands(n) + " " + noun + "s"
}

// Saving writes how much smaller after is, as in "−81 %".
func Saving(before, after int) string {
	if before <= 0 || before == after {
		return ""
	}
	percent := (after - before) * 100 / before
	switch {
	case percent > 0:
		return fmt.Sprintf("(+%d %%)", percent)
	case percent == 0:
		return "(0 %)"
	}
	return fmt.Sprintf("(−%d %%)", -percent)
}

// TokenLine writes "3,184 → 611 tokens (−81 %)".
func TokenLine(before, after int) string {
	return strings.TrimSpace(fmt.Sprintf("%s → %s tokens %s", Thousands(before), Thousands(after), Saving(before, after)))
}

// Seconds writes a duration given in seconds: 212 ms.
func Seconds(s float64) string { return ShortDuration(time.Duration(s * float64(time.Second))) }

// ShortDuration writes a duration as a person reads it: 7.3 ms, 212 ms, 12.3s.
func ShortDuration(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	case d < 10*time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	default:
		return d.Round(100 * time.Millisecond).String()
	}
}

// Ago writes how long ago something was.
func Ago(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	d := now.Sub(t)
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	default:
		return fmt.Sprintf("%d days ago", int(d.Hours()/24))
	}
}

// Since writes how long ago something was, seen from now.
func Since(t time.Time) string { return Ago(t, time.Now()) }

// ShortDigest writes sha256:8c1e… with enough digits to tell versions apart.
func ShortDigest(d string) string {
	const shown = len("sha256:") + 12
	if len(d) <= shown {
		return d
	}
	return d[:shown] + "…"
}

// SafeText takes what a terminal would obey out of text that an upstream wrote;
// lines and tabs stay.
func SafeText(s string) string { return textfilter.Clean(s) }

// FirstSentence cuts a description to what fits into a table.
func FirstSentence(s string) string {
	const most = 60
	s, _, _ = strings.Cut(s, "\n")
	if i := strings.Index(s, ". "); i > 0 {
		s = s[:i+1]
	}
	r := []rune(s)
	if len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
