package toolsetcmd

import (
	"strings"
	"testing"
)

func TestGlobMatch(t *testing.T) {
	f := func(pattern, name string, want bool) {
		t.Helper()
		if got := globMatch(pattern, name); got != want {
			t.Errorf("globMatch(%q, %q) = %v, want %v", pattern, name, got, want)
		}
	}
	f("*", "", true)
	f("list_*", "list_pets", true)
	f("list_*", "get_list_pets", false)
	f("*_pets", "list_pets", true)
	f("*a*b*c", "xaybzc", true)
	f("*a*b*c", "xaybz", false)
	f("get_pe?", "get_pet", true)
	f("get_pe?", "get_pe", false)
	f("", "a", false)
	f("", "", true)
	f(strings.Repeat("*a", 40)+"b", strings.Repeat("a", 4000), false) // must not take for ever
}

func FuzzGlobMatch(f *testing.F) {
	f.Add("a*b?", "axxbc")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(pattern) > 12 || len(name) > 12 {
			return
		}
		var slow func(p, n string) bool
		slow = func(p, n string) bool {
			switch {
			case p == "":
				return n == ""
			case p[0] == '*':
				return slow(p[1:], n) || n != "" && slow(p, n[1:])
			default:
				return n != "" && (p[0] == '?' || p[0] == n[0]) && slow(p[1:], n[1:])
			}
		}
		if got, want := globMatch(pattern, name), slow(pattern, name); got != want {
			t.Fatalf("globMatch(%q, %q) = %v, want %v", pattern, name, got, want)
		}
	})
}
