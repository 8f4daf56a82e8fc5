package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	diffFile = regexp.MustCompile(`^\+\+\+ (?:b/)?(.*)$`)
	diffHunk = regexp.MustCompile(`^@@ -\S+ \+(\d+)(?:,(\d+))? @@`)
)

// changedLines reads the output of "git diff -U0" and returns the lines that are
// new, by file.
func changedLines(diff []byte) (map[string]map[int]bool, error) {
	out := map[string]map[int]bool{}
	var lines map[int]bool
	for s := range strings.Lines(string(diff)) {
		s = strings.TrimRight(s, "\n")
		if m := diffFile.FindStringSubmatch(s); m != nil {
			lines = map[int]bool{}
			out[m[1]] = lines
			continue
		}
		m := diffHunk.FindStringSubmatch(s)
		if m == nil {
			continue
		}
		if lines == nil {
			return nil, fmt.Errorf("git diff: a hunk before its file: %q", s)
		}
		from, err := strconv.Atoi(m[1])
		if err != nil {
			return nil, err
		}
		n := 1
		if m[2] != "" {
			if n, err = strconv.Atoi(m[2]); err != nil {
				return nil, err
			}
		}
		for i := range n {
			lines[from+i] = true
		}
	}
	return out, nil
}
