package toolsetcmd

import (
	"testing"

	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/internal/problem"
)

// TestFindLogin by id before anything else: a subject may be chosen to look like an id.
func TestFindLogin(t *testing.T) {
	all := []login.UserLogin{
		{ID: "usr_1", Name: "ann", Subject: "act_1"},
		{ID: "usr_2", Subject: "usr_1"},
		{ID: "usr_3", Name: "bob", Subject: "act_3"},
		{ID: "usr_4", Subject: "bob"},
	}
	f := func(user, want string, kind problem.Kind) {
		t.Helper()
		got, err := findLogin(all, user)
		if got != want || (want == "") != problem.Is(err, kind) {
			t.Errorf("findLogin(%q) = %q, %v; want %q", user, got, err, want)
		}
	}
	f("ann", "usr_1", problem.NotFound)
	f("usr_1", "usr_1", problem.NotFound)
	f("act_3", "usr_3", problem.NotFound)
	f("bob", "", problem.Conflict)
	f("", "", problem.NotFound)
	f("eve", "", problem.NotFound)
}
