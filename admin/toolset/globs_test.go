package toolset

import (
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
)

func TestGlobs(t *testing.T) {
	f := func(list string, name string, want bool) {
		t.Helper()
		g, err := ParseGlobs(strings.Fields(list), "/tools")
		if err != nil || g.Match(name) != want {
			t.Errorf("%s matches %s: %v, %v; want %v", list, name, g.Match(name), err, want)
		}
	}
	f("", "get_pet", true)
	f("get_*", "get_pet", true)
	f("get_*", "delete_pet", false)
	f("get_pet", "get_pets", false)
	f("!delete_*", "get_pet", true)
	f("!delete_*", "delete_pet", false)
	f("* !delete_*", "delete_pet", false)
	f("get_? list_*", "list_all", true)
	for _, bad := range []string{"[", "", "!", strings.Repeat("x", 129)} {
		if _, err := ParseGlobs([]string{bad}, "/tools"); !problem.Is(err, problem.InvalidArgument) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := ParseGlobs([]string{strings.Repeat("x", 128)}, "/tools"); err != nil {
		t.Errorf("at the bound: %v", err)
	}
}
