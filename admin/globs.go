package admin

import (
	"path"
	"strconv"
	"strings"

	"github.com/sluicegate/sluice/internal/problem"
)

// globs is a list of names and patterns (path.Match); a leading ! leaves out.
// With patterns that only leave out, everything else is in.
type globs struct{ in, out []string }

func parseGlobs(list []string, at string) (globs, error) {
	var g globs
	for i, p := range list {
		pattern, not := strings.CutPrefix(p, "!")
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" || len(pattern) > 128 {
			return g, problem.New(problem.InvalidArgument, "%.80q is not a name or glob", p).At("", 0, 0, at+"/"+strconv.Itoa(i)).
				Fix("use names with * and ?, for example get_*")
		}
		if not {
			g.out = append(g.out, pattern)
		} else {
			g.in = append(g.in, pattern)
		}
	}
	return g, nil
}

func (g globs) match(name string) bool {
	among := func(list []string) bool {
		for _, p := range list {
			if ok, err := path.Match(p, name); ok && err == nil {
				return true
			}
		}
		return false
	}
	return (len(g.in) == 0 || among(g.in)) && !among(g.out)
}
