package golden

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// fixed is a plugin that always answers the same.
type fixed struct {
	out string
	err error
}

func (f fixed) Transform(_ context.Context, dst, _ []byte, _ *guest.Context) ([]byte, error) {
	return append(dst, f.out...), f.err
}

// TestRun: each kind of expectation, met and not.
func TestRun(t *testing.T) {
	text := func(s string) *string { return &s }
	said := &extism.PluginError{Message: "no"}
	output := &manifest.Output{Effect: manifest.EffectReplace, Schema: []byte(`{}`)}
	f := func(w Want, p fixed, diff string) {
		t.Helper()
		r := Run(t.Context(), &guest.Package{Manifest: &manifest.Manifest{Kind: manifest.Filter, Output: output}}, p, &Case{Input: []byte(`{ "a": 1 }`), Want: w})
		if (r.Diff == "") != (diff == "") || !strings.Contains(r.Diff, diff) {
			t.Errorf("got %q, want %q", r.Diff, diff)
		}
	}
	f(Want{Output: []byte(`{"b":[1.0], "a":2}`)}, fixed{out: `{"a":2,"b":[1.0]}`}, "")
	f(Want{Output: []byte(`[1.0]`)}, fixed{out: `[1]`}, "-   1.0\n+   1")
	f(Want{Output: []byte(`12345678901234567890`)}, fixed{out: `12345678901234567891`}, "+ 12345678901234567891")
	f(Want{Text: text("x")}, fixed{out: `"x"`}, `+ "x"`)
	// What a gateway refuses does not pass.
	f(Want{Text: text("x\n")}, fixed{out: "x\n"}, "its output is not JSON")
	f(Want{}, fixed{out: strings.Repeat("[", 1000) + strings.Repeat("]", 1000)}, "its output is not JSON")
	f(Want{}, fixed{out: "{\"a\":\"\xff\"}"}, "its output is not UTF-8")
	output = &manifest.Output{Effect: manifest.EffectText}
	f(Want{Text: text("x\n")}, fixed{out: "x\n"}, "")
	f(Want{}, fixed{out: "x\xfe"}, "its output is not UTF-8")
	output = &manifest.Output{Effect: manifest.EffectReplace, Schema: []byte(`{}`)}
	f(Want{Error: text("no")}, fixed{err: said}, "")
	f(Want{Error: text("yes")}, fixed{err: said}, "+ error: no")
	f(Want{Output: []byte(`1`)}, fixed{err: said}, "+ error: no")
	f(Want{Output: []byte(`1`)}, fixed{err: errors.New("crashed")}, "crashed")
	f(Want{}, fixed{out: `1`}, "--update")
}

// TestFiles: what is written is read back; what is wrong is named with its file.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	if _, err := Read(dir); err == nil {
		t.Error("no cases are not an error")
	}
	c := &Case{Name: "a", Input: []byte(`{"x":"<>"}`), Context: Context{Tool: "t"}, Want: Want{Output: []byte(`1`), Tokens: &Tokens{5, 1}}}
	if err := c.Write(dir); err != nil {
		t.Fatal(err)
	}
	got, err := Read(dir)
	if err != nil || len(got) != 1 || got[0].Name != "a" || string(got[0].Body()) != `{"x":"<>"}` || *got[0].Want.Tokens != (Tokens{5, 1}) || got[0].Context.Tool != "t" {
		t.Fatalf("%+v %v", got, err)
	}
	for _, bad := range []string{`{}`, `{"input":1,"inputText":"x"}`, `{"input":1,"outputs":1}`, `x`} {
		if err := os.WriteFile(filepath.Join(dir, "b.json"), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "b.json") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestMaxCaseBytes: a case as large is read, a byte more is refused, of a file and of a text.
func TestMaxCaseBytes(t *testing.T) {
	for n, ok := range map[int]bool{MaxCaseBytes: true, MaxCaseBytes + 1: false} {
		text := []byte(`{"input":1,"output":1`)
		text = append(append(text, bytes.Repeat([]byte(" "), n-len(text)-1)...), '}')
		if _, err := Parse("a", text); (err == nil) != ok {
			t.Errorf("a text of %d bytes: %v", n, err)
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.json"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(dir); (err == nil) != ok {
			t.Errorf("a file of %d bytes: %v", n, err)
		}
	}
}
