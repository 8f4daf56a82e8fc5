package plugincmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/golden"
)

func TestCaptureFlags(t *testing.T) {
	f := func(ok bool, flags captureFlags) {
		t.Helper()
		if err := flags.check(); (err == nil) != ok {
			t.Errorf("%+v: %v", flags, err)
		}
	}
	f(true, captureFlags{count: 1})
	f(true, captureFlags{count: maxCaptures, name: strings.Repeat("a", 64), config: "{}"})
	f(false, captureFlags{count: maxCaptures + 1})
	f(false, captureFlags{count: 0})
	for _, name := range []string{strings.Repeat("a", 65), "../a", ".a", "a/b", "a b"} {
		f(false, captureFlags{count: 1, name: name})
	}
	f(false, captureFlags{count: 1, config: "null"})
	f(false, captureFlags{count: 1, config: "{"})
}

// TestNameCases: files that are there keep their names, and a directory holds no more cases
// than are read of one.
func TestNameCases(t *testing.T) {
	dir := t.TempDir()
	write := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name+".json"), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a")
	write("a-3")
	cases := []*golden.Case{{Name: "a"}, {Name: "a"}}
	if err := nameCases(cases, dir, false); err != nil || cases[0].Name != "a-2" || cases[1].Name != "a-4" {
		t.Errorf("%s, %s, %v", cases[0].Name, cases[1].Name, err)
	}
	if err := nameCases([]*golden.Case{{Name: "a"}}, dir, true); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("a name that is taken: %v", err)
	}
	for i := 2; i < golden.MaxCases-1; i++ {
		write(fmt.Sprintf("b%d", i))
	}
	if err := nameCases([]*golden.Case{{Name: "c"}}, dir, false); err != nil {
		t.Errorf("MaxCases: %v", err)
	}
	if err := nameCases([]*golden.Case{{Name: "c"}, {Name: "d"}}, dir, false); err == nil {
		t.Error("one case more than MaxCases")
	}
}
