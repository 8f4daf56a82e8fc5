package registry

import (
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
)

// TestPrefixedName: the name is valid, not taken, and no longer than clients accept.
func TestPrefixedName(t *testing.T) {
	long := strings.Repeat("x", 64)
	for _, c := range []struct{ connector, tool, taken, want string }{
		{"notes", "find", "", "notes_find"},
		{"my-notes", "find", "", "my_notes_find"},
		{"2fa", "find", "", "_2fa_find"},
		{"notes", "find", "notes_find", "notes_find_2"},
		{"notes", "find", "notes_find notes_find_2", "notes_find_3"},
		{"notes", long, "", "notes_" + long[:58]},
		{"notes", long, "notes_" + long[:58], "notes_" + long[:56] + "_2"},
	} {
		got := PrefixedName(c.connector, c.tool, func(n string) bool { return strings.Contains(" "+c.taken+" ", " "+n+" ") })
		if got != c.want || !toolNamePattern.MatchString(got) {
			t.Errorf("%s of %s is %q, want %q", c.tool, c.connector, got, c.want)
		}
	}
}

// TestConnectorAnswers: settings of a connector are checked as such, and their program
// is one of the bundle's.
func TestConnectorAnswers(t *testing.T) {
	ts := sample()
	ts.Connectors[0].Answers = &Answers{Profile: ProfileOff, Fields: "-owner", Structured: true}
	if err := ts.Validate(); err != nil {
		t.Fatal(err)
	}
	programs, err := ts.CompilePrograms()
	if err != nil || len(programs) != 1 || ts.Connectors[0].Answers.Program == nil {
		t.Fatalf("%d programs, %v", len(programs), err)
	}
	if err := ts.checkPrograms(programs); err != nil {
		t.Error(err)
	}
	if err := ts.checkPrograms([][]byte{{1}}); !problem.Is(err, problem.InvalidPlugin) {
		t.Errorf("another program: %v", err)
	}
	ts.Connectors[0].Answers = &Answers{Where: "id == 1"}
	if err := ts.Validate(); !problem.Is(err, problem.InvalidArgument) || !strings.Contains(err.Error(), "/connectors/0/answers") && !strings.Contains(err.Error(), "belong to one tool") {
		t.Errorf("a condition on rows: %v", err)
	}
}
