package manifest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestParseGrants: what is written is read back, and what cannot be granted is refused.
func TestParseGrants(t *testing.T) {
	f := func(want string, items ...string) {
		t.Helper()
		g, err := ParseGrants(items)
		if err != nil || g.String() != want {
			t.Errorf("%q: %s, %v; want %s", items, g.String(), err, want)
		}
	}
	f("none", "none")
	f("hosts=a.example,b.example:8443,clock,random,deadline=2s", "hosts=A.example", "b.example:8443", "clock", "random", "deadline=2s")
	f("hosts=a.example,*.b.example", "hosts=a.example,hosts=*.b.example,hosts=a.example")
	f("deadline=1ms", "deadline=1ms")
	f("deadline=1m0s", "deadline=1m")
	for _, bad := range []string{"", "all", "none,clock", "a.example", "clock=1", "hosts=", "hosts=https://a.example", "hosts=*", "hosts=a*.example", "hosts=a.example:0", "hosts=a..example", "deadline=1us", "deadline=61s", "deadline=x"} {
		if g, err := ParseGrants([]string{bad}); err == nil {
			t.Errorf("%q: %s", bad, g.String())
		}
	}
	hosts := func(n int) (items []string) {
		for i := range n {
			items = append(items, fmt.Sprintf("hosts=h%d.example", i))
		}
		return items
	}
	if _, err := ParseGrants(hosts(MaxHosts)); err != nil {
		t.Error(err)
	}
	if _, err := ParseGrants(hosts(MaxHosts + 1)); err == nil {
		t.Errorf("%d hosts are granted", MaxHosts+1)
	}
	if long := strings.Repeat("a.", MaxHost/2) + "b"; len(long) != MaxHost || !validHost(long) || validHost(long+"b") {
		t.Errorf("a host of %d bytes: %v, one more: %v", len(long), validHost(long), validHost(long+"b"))
	}
}

// TestBeyond: what is left to decide of what a plugin asks for.
func TestBeyond(t *testing.T) {
	f := func(asks, given, want string) {
		t.Helper()
		a, err := ParseGrants(strings.Split(asks, ","))
		if err != nil {
			t.Fatal(err)
		}
		b, err := ParseGrants(strings.Split(given, ","))
		if err != nil {
			t.Fatal(err)
		}
		if left := a.Beyond(&b); left.String() != want {
			t.Errorf("%s beyond %s: %s, want %s", asks, given, left.String(), want)
		}
	}
	f("hosts=a.example,clock,random,deadline=2s", "none", "hosts=a.example,clock,random,deadline=2s")
	f("hosts=a.example,clock,deadline=2s", "hosts=a.example,clock,deadline=3s", "none")
	f("hosts=x.a.example", "hosts=*.a.example", "none")
	f("hosts=*.x.a.example", "hosts=*.a.example", "none")
	f("hosts=*.a.example", "hosts=x.a.example", "hosts=*.a.example")
	f("hosts=a.example", "hosts=*.a.example", "hosts=a.example")
	f("hosts=x.a.example:81", "hosts=*.a.example", "hosts=x.a.example:81")
	f("deadline=3s", "deadline=2s", "deadline=3s")
	var none *Grants
	if left := none.Beyond(nil); !left.Empty() || !none.Empty() || none.String() != "none" || none.Check() != nil {
		t.Errorf("nothing: %s", left.String())
	}
}

// TestAsks: a deadline is asked for when it is longer than what needs no grant.
func TestAsks(t *testing.T) {
	m := &Manifest{Capabilities: &Capabilities{Hosts: []string{"a.example"}, Clock: true}, Limits: &Limits{DeadlineMS: FreeDeadlineMS}}
	if a := m.Asks(); a.DeadlineMS != 0 || !a.Clock || a.Random || !slices.Equal(a.Hosts, []string{"a.example"}) {
		t.Errorf("%+v", a)
	}
	m.Limits.DeadlineMS++
	if a := m.Asks(); a.DeadlineMS != FreeDeadlineMS+1 {
		t.Errorf("%+v", a)
	}
}
