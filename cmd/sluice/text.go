package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// byteSize is a size for people: 22.3 KiB.
func byteSize[T ~int | ~int64](n T) string {
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

// thousands writes 3184 as 3,184.
func thousands(n int) string {
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

// plural writes "1 tool" and "2 tools".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return thousands(n) + " " + noun + "s"
}

// saving writes how much smaller after is, as in "−81 %".
func saving(before, after int) string {
	if before <= 0 || before == after {
		return ""
	}
	percent := (after - before) * 100 / before
	if percent > 0 {
		return fmt.Sprintf("(+%d %%)", percent)
	}
	return fmt.Sprintf("(−%d %%)", -percent)
}

// tokenLine writes "3,184 → 611 tokens (−81 %)".
func tokenLine(before, after int) string {
	return strings.TrimSpace(fmt.Sprintf("%s → %s tokens %s", thousands(before), thousands(after), saving(before, after)))
}

// seconds writes a duration given in seconds: 212 ms.
func seconds(s float64) string { return shortDuration(time.Duration(s * float64(time.Second))) }

func shortDuration(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	case d < 10*time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	default:
		return d.Round(100 * time.Millisecond).String()
	}
}

// ago writes how long ago something was.
func ago(t, now time.Time) string {
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

// shortDigest writes sha256:8c1e… with enough digits to tell versions apart.
func shortDigest(d string) string {
	const shown = len("sha256:") + 12
	if len(d) <= shown {
		return d
	}
	return d[:shown] + "…"
}
