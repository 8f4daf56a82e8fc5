// Package nearest finds the known name that a mistyped one probably means, for
// "did you mean". It is not the tool search, which finds names by their meaning:
// that is package selection.
package nearest

import (
	"cmp"
	"iter"
	"slices"
	"strings"
)

const (
	// maxName is the longest name, in bytes, that is looked at: a comparison takes the
	// product of two lengths.
	maxName = 64
	// maxNames bounds how many candidates are looked at.
	maxNames = 5000
)

// Name returns the name that is closest to what was typed, or "" when none is close.
// Upper case and the separators "_", "-", "." and " " do not count. A name is close when
// it takes at most a third as many changes as name has letters, and one change in the
// shortest; a change is a letter more, less, other, or two neighbours swapped (the optimal
// string alignment distance). Where no name is that close, the first with the same words in another
// order is ("orders_list", "list_orders"), then the first that begins with
// what was typed, three letters or more, then the first that has it elsewhere ("museum",
// "redocly-museum"). Of equals the first counts. Names over 64 bytes, and what follows
// 5,000 names, are not looked at.
func Name(name string, names iter.Seq[string]) string {
	if len(name) > maxName {
		return ""
	}
	typed := fold(name)
	best, least := "", max(len(typed)/3, 1)+1
	begins, holds, reordered := "", "", ""
	parts := words(name)
	tries := 0
	for n := range names {
		if tries++; tries > maxNames {
			break
		}
		if len(n) > maxName {
			continue
		}
		known := fold(n)
		if d := distance(typed, known); d < least {
			best, least = n, d
		}
		if reordered == "" && len(parts) > 1 && slices.Equal(parts, words(n)) {
			reordered = n
		}
		if begins == "" && len(typed) > 2 && strings.HasPrefix(known, typed) {
			begins = n
		}
		if holds == "" && len(typed) > 2 && strings.Contains(known, typed) {
			holds = n
		}
	}
	return cmp.Or(best, reordered, begins, holds)
}

// words are the words of a name with separators, in alphabetical order.
func words(name string) []string {
	parts := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return strings.ContainsRune("_-. ", r) })
	slices.Sort(parts)
	return parts
}

var separators = strings.NewReplacer("_", "", "-", "", ".", "", " ", "")

func fold(s string) string { return strings.ToLower(separators.Replace(s)) }

// distance is the optimal string alignment distance, in bytes.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			changed := last[j-1]
			if a[i-1] != b[j-1] {
				changed++
			}
			row[j] = min(changed, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
