package toolset

import (
	"path"
	"strconv"
	"strings"

	"github.com/sluicegate/sluice/internal/problem"
)

// Globs is a list of names and patterns (path.Match); a leading ! leaves out.
// With patterns that only leave out, everything else is in.
type Globs struct{ In, out []string }

// ParseGlobs reads names and patterns; at is the JSON pointer of the list. It fails with
// problem.InvalidArgument at the entry that is none.
func ParseGlobs(list []string, at string) (Globs, error) {
	var g Globs
	for i, p := range list {
		pattern, not := strings.CutPrefix(p, "!")
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" || len(pattern) > 128 {
			return g, problem.New(problem.InvalidArgument, "%.80q is not a name or glob", p).At("", 0, 0, at+"/"+strconv.Itoa(i)).
				Fix("use names with * and ?, for example get_*")
		}
		if not {
			g.out = append(g.out, pattern)
		} else {
			g.In = append(g.In, pattern)
		}
	}
	return g, nil
}

// Match reports whether a name is in the list and not left out.
func (g Globs) Match(name string) bool {
	among := func(list []string) bool {
		for _, p := range list {
			if ok, err := path.Match(p, name); ok && err == nil {
				return true
			}
		}
		return false
	}
	return (len(g.In) == 0 || among(g.In)) && !among(g.out)
}
