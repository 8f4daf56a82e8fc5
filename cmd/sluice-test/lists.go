package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// maxQuarantined tests are a few to fix; more mean that the suite is not trusted.
const maxQuarantined = 5

// quarantineDays is how long a test may stand in the list.
const quarantineDays = 14

// A quarantined test may fail when it passes alone and in its package.
type quarantined struct {
	pkg, test, reason string
	left              int // days
}

// A skip is a test that may skip with CI=true when the reason that it gives has word.
type skip struct {
	pkg, test, word string
}

// readQuarantine reads lines of "PACKAGE TEST DATE REASON…", where DATE is the day on
// which the test came into the list. It fails when an entry is older than
// quarantineDays at now, or younger than now. No name is an empty list.
func readQuarantine(name string, now time.Time) ([]quarantined, error) {
	var out []quarantined
	err := readLines(name, 4, func(f []string) error {
		since, err := time.Parse(time.DateOnly, f[2])
		if err != nil {
			return fmt.Errorf("%s: the third word is the day of the entry, as 2006-01-02", f[1])
		}
		left := quarantineDays - int(now.Sub(since).Hours()/24)
		switch {
		case left <= 0:
			return fmt.Errorf("%s came here on %s, and %d days are over: fix it, or remove the test", f[1], f[2], quarantineDays)
		case left > quarantineDays:
			return fmt.Errorf("%s came here on %s, which is after the commit", f[1], f[2])
		case strings.Contains(f[1], "/"):
			return fmt.Errorf("%s: name the test, not a part of it", f[1])
		}
		out = append(out, quarantined{f[0], f[1], f[3], left})
		return nil
	})
	if err == nil && len(out) > maxQuarantined {
		err = fmt.Errorf("%s has %d tests, and %d are allowed: fix one first", name, len(out), maxQuarantined)
	}
	return out, err
}

// readSkips reads lines of "PACKAGE TEST WORD".
func readSkips(name string) ([]skip, error) {
	var out []skip
	err := readLines(name, 3, func(f []string) error {
		out = append(out, skip{f[0], f[1], f[2]})
		return nil
	})
	return out, err
}

// readLines calls add with the n fields of each line, of which the last is the rest
// of the line. Empty lines and those that begin with # are left out.
func readLines(name string, n int, add func([]string) error) error {
	if name == "" {
		return nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	at := 0
	for line := range strings.Lines(string(text)) {
		at++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		f := strings.Fields(line)
		if len(f) < n {
			return fmt.Errorf("%s:%d: %d words are needed", name, at, n)
		}
		f = append(f[:n-1:n-1], strings.Join(f[n-1:], " "))
		if err := add(f); err != nil {
			return fmt.Errorf("%s:%d: %w", name, at, err)
		}
	}
	return nil
}
