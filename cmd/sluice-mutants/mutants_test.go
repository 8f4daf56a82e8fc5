package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// goList is what the program asks the go command for, in dir.
func goList(t *testing.T, root string) func(string) ([]byte, error) {
	t.Helper()
	return func(dir string) ([]byte, error) {
		return output(t.Context(), root, "go", "list", "-deps", "-export", "-json=Dir,ImportPath,Export,GoFiles,DepOnly", dir)
	}
}

// module writes files into a new module and returns its directory.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	files["go.mod"] = "module example.test/m\n\ngo 1.26\n"
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func mutantsOf(t *testing.T, root, dir string) []*mutant {
	t.Helper()
	ms, err := load(root, &target{dir: dir}, goList(t, root))
	if err != nil {
		t.Fatal(err)
	}
	return ms
}

// TestOperators compares the mutants of a small package with its golden file.
func TestOperators(t *testing.T) {
	src, err := os.ReadFile("testdata/door/door.go")
	if err != nil {
		t.Fatal(err)
	}
	root := module(t, map[string]string{"door/door.go": string(src)})
	var got strings.Builder
	for _, m := range mutantsOf(t, root, "door") {
		fmt.Fprintln(&got, m.id, m)
	}
	const golden = "testdata/door/mutants.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", &got, want)
	}
}

// TestIdentity moves code and changes a line: only what stands in the changed line
// gets another identity.
func TestIdentity(t *testing.T) {
	const src = "package p\n\nfunc F(a, b int) bool {\n\tif a < 3 {\n\t\treturn true\n\t}\n\treturn b > 4\n}\n"
	ids := func(src string) (out []string) {
		for _, m := range mutantsOf(t, module(t, map[string]string{"p/p.go": src}), "p") {
			out = append(out, m.id)
		}
		return out
	}
	was := ids(src)
	moved := ids(strings.Replace(src, "func F", "// F is further down.\n\nfunc F", 1))
	if !slices.Equal(was, moved) {
		t.Errorf("moved code has other identities: %v, %v", was, moved)
	}
	now := ids(strings.Replace(src, "b > 4", "b > 5", 1))
	kept := 0
	for _, id := range was {
		if slices.Contains(now, id) {
			kept++
		}
	}
	if len(was) != 5 || kept != 3 {
		t.Errorf("%d of %d identities outlive a change of the last line, want the 3 above it", kept, len(was))
	}
}

// TestTry runs mutants of each verdict.
func TestTry(t *testing.T) {
	root := module(t, map[string]string{
		"p/p.go":      "package p\n\nfunc Big(n int) bool {\n\tif n > 9 {\n\t\treturn true\n\t}\n\treturn false\n}\n",
		"p/p_test.go": "package p\n\nimport \"testing\"\n\nfunc TestBig(t *testing.T) {\n\tif !Big(50) || Big(2) {\n\t\tt.Fatal()\n\t}\n}\n",
		"q/q_test.go": "package q\n\nimport (\n\t\"testing\"\n\n\t\"example.test/m/p\"\n)\n\nfunc TestNine(t *testing.T) {\n\tif p.Big(9) {\n\t\tt.Fatal()\n\t}\n}\n",
	})
	r := &runner{root: root, tmp: t.TempDir(), clean: map[string]time.Duration{}}
	var condition, comparison, constant *mutant
	for _, m := range mutantsOf(t, root, "p") {
		switch m.op {
		case opCondition:
			condition = m
		case opComparison:
			comparison = m
		case opOffByOne:
			constant = m
		}
	}
	broken := *constant
	broken.text = `"nine"`
	f := func(m *mutant, wider []string, want string) {
		t.Helper()
		m.target = &target{dir: "p", wider: wider}
		verdict, by, err := r.try(t.Context(), m)
		if got := strings.TrimSpace(verdict + " " + by); err != nil || !strings.HasPrefix(got, want) || want == survived && got != want {
			t.Errorf("%s: %q, %v; want %q", m, got, err, want)
		}
	}
	f(condition, nil, "killed p TestBig")
	f(comparison, nil, "survived")
	f(comparison, []string{"q"}, "killed q TestNine")
	f(constant, []string{"q"}, "survived") // no test knows 10
	f(&broken, nil, "invalid")
	if src, err := os.ReadFile(filepath.Join(root, "p", "p.go")); err != nil || !strings.Contains(string(src), "n > 9") {
		t.Errorf("the tree was changed: %s, %v", src, err)
	}
	if left, err := os.ReadDir(r.tmp); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v, %v", left, err)
	}
	r.own = true
	f(comparison, []string{"q"}, "survived")
}

// TestTryNeedsGreenTests refuses to call a mutant killed by tests that fail anyway.
func TestTryNeedsGreenTests(t *testing.T) {
	root := module(t, map[string]string{
		"p/p.go":      "package p\n\nfunc Is(n int) bool { return n > 9 }\n",
		"p/p_test.go": "package p\n\nimport \"testing\"\n\nfunc TestIs(t *testing.T) { t.Fatal(\"always\") }\n",
	})
	r := &runner{root: root, tmp: t.TempDir(), clean: map[string]time.Duration{}}
	m := mutantsOf(t, root, "p")[0]
	if verdict, _, err := r.try(t.Context(), m); err == nil || !strings.Contains(err.Error(), "fail without a change") {
		t.Errorf("%q, %v; want an error", verdict, err)
	}
}

// TestResume tries a sample, and then a larger one: what has a result is not tried
// again, and mutants that do not compile make room for others.
func TestResume(t *testing.T) {
	root := module(t, map[string]string{
		"p/p.go":      "package p\n\nfunc Is(n int) bool { return n > 9 && n < 20 || n == 1 }\n",
		"p/p_test.go": "package p\n\nimport \"testing\"\n\nfunc TestIs(t *testing.T) {\n\tif !Is(11) || Is(50) || !Is(1) || Is(0) {\n\t\tt.Fatal()\n\t}\n}\n",
	})
	path := filepath.Join(root, "results.txt")
	all := sample([][]*mutant{mutantsOf(t, root, "p")}, "7")
	all[0].text = "???" // does not compile
	run := func(n int) (tried int, lines []string) {
		t.Helper()
		r := &runner{root: root, tmp: t.TempDir(), clean: map[string]time.Duration{}}
		results, err := readResults(path)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		done, err := tryAll(t.Context(), r, all, results, n, 2, path, &out)
		if err != nil {
			t.Fatal(err)
		}
		s := report(&strings.Builder{}, []target{{dir: "p"}}, done, results)
		if s.total() != n {
			t.Errorf("%d mutants count, want %d", s.total(), n)
		}
		return strings.Count(out.String(), "\n"), strings.Split(out.String(), "\n")
	}
	if tried, lines := run(2); tried != 3 || !strings.Contains(strings.Join(lines, "\n"), invalid) {
		t.Errorf("%d tried, want 2 that compile and one that does not: %q", tried, lines)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err1 := f.WriteString(all[3].id + "\tkilled") // the run was killed while it wrote
	if err2 := f.Close(); err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if tried, lines := run(4); tried != 2 {
		t.Errorf("%d tried, want the 2 without a result: %q", tried, lines)
	}
}

func TestSample(t *testing.T) {
	var a, b []*mutant
	for i := range 20 {
		a = append(a, &mutant{id: fmt.Sprint("a", i)})
	}
	for i := range 3 {
		b = append(b, &mutant{id: fmt.Sprint("b", i)})
	}
	ids := func(seed string, a []*mutant) (out []string) {
		for _, m := range sample([][]*mutant{slices.Clone(a), slices.Clone(b)}, seed) {
			out = append(out, m.id)
		}
		return out
	}
	one := ids("1", a)
	if len(one) != 23 || slices.Equal(one, ids("2", a)) || !slices.Equal(one, ids("1", a)) {
		t.Errorf("a seed does not name an order: %v", one)
	}
	for i, id := range one[:6] {
		if want := "ab"[i%2]; id[0] != want {
			t.Errorf("mutant %d is %s: packages do not take turns", i, id)
		}
	}
	fewer := slices.DeleteFunc(slices.Clone(one), func(id string) bool { return id == "a7" })
	if got := ids("1", slices.DeleteFunc(slices.Clone(a), func(m *mutant) bool { return m.id == "a7" })); !sameOrder(got, fewer, "a") {
		t.Errorf("a mutant less changes the order of the others: %v, %v", got, fewer)
	}
}

// sameOrder reports whether the members with a prefix stand in one order.
func sameOrder(a, b []string, prefix string) bool {
	other := func(s string) bool { return !strings.HasPrefix(s, prefix) }
	return slices.Equal(slices.DeleteFunc(slices.Clone(a), other), slices.DeleteFunc(slices.Clone(b), other))
}

func TestChangedLines(t *testing.T) {
	const diff = "diff --git a/x/a.go b/x/a.go\n--- a/x/a.go\n+++ b/x/a.go\n@@ -3 +3 @@ func F\n-a\n+b\n@@ -9,0 +10,2 @@\n+c\n+d\n" +
		"diff --git a/y.go b/y.go\n--- a/y.go\n+++ b/y.go\n@@ -4,2 +3,0 @@\n-gone\n-gone\n"
	got, err := changedLines([]byte(diff))
	if err != nil || fmt.Sprint(got) != "map[x/a.go:map[3:true 10:true 11:true] y.go:map[]]" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := changedLines([]byte("@@ -3 +3 @@\n")); err == nil {
		t.Error("a hunk without a file is no error")
	}
}

func TestReadEquivalent(t *testing.T) {
	got, err := readEquivalent("# why\n\n0123456789ab a reason\n")
	if err != nil || fmt.Sprint(got) != "map[0123456789ab:a reason]" {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"0123456789ab", "0123456789ab ", "0123 a reason", "0123456789ab one\n0123456789ab two"} {
		if _, err := readEquivalent(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestFailure(t *testing.T) {
	f := func(out, want string) {
		t.Helper()
		if got := failure([]byte(out)); got != want {
			t.Errorf("failure(%q) = %q, want %q", out, got, want)
		}
	}
	f("--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\n", "TestA")
	f("panic: test timed out after 1s\n\trunning tests:\n\t\tTestSlow (1s)\n", "timeout in TestSlow")
	f("panic: test timed out after 1s\n", "timeout")
	f("fatal error: all goroutines are asleep\n", "crash")
	f("exit status 3\n", "failure without a test's name")
}

// TestTargets finds every directory and file that the list names.
func TestTargets(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Fatal(err)
	}
	for _, x := range targets {
		for _, dir := range append([]string{x.dir}, x.wider...) {
			if files, _ := filepath.Glob(filepath.Join("../..", dir, "*_test.go")); len(files) == 0 {
				t.Errorf("%s has no tests", dir)
			}
		}
		for _, name := range x.only {
			if _, err := os.Stat(filepath.Join("../..", x.dir, name)); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestTogether: mutants that are compiled together are judged as those that are compiled
// each for itself, each operator among them; only what is a constant stands apart.
func TestTogether(t *testing.T) {
	root := module(t, map[string]string{
		"p/p.go": `package p

import "errors"

const most = 4

var errNo = errors.New("no")

type list struct{ names []string }

func check(s string) error {
	if s == "" {
		return errNo
	}
	return nil
}

func (l *list) add(a, b string) error {
	if err := check(a); err != nil {
		return err
	}
	if len(l.names) >= most || b == "x" && len(a) > 2 {
		return errNo
	}
	l.note(a, b)
	return nil
}

func (l *list) note(a, b string) { l.names = append(l.names, a+b[:1]) }
`,
		"p/p_test.go": `package p

import "testing"

func TestAdd(t *testing.T) {
	var l list
	if l.add("", "b") == nil || l.add("abc", "x") == nil || l.add("a", "bc") != nil || l.names[0] != "ab" {
		t.Fatal(l)
	}
}

func TestOther(t *testing.T) {}
`,
	})
	ms := mutantsOf(t, root, "p")
	apart := &runner{root: root, tmp: t.TempDir(), own: true, clean: map[string]time.Duration{}}
	together := &runner{root: root, tmp: t.TempDir(), own: true, clean: map[string]time.Duration{}, woven: map[string]*woven{}}
	kept, err := together.weave(t.Context(), ms, true)
	if err != nil {
		t.Fatal(err)
	}
	ops := map[string]bool{}
	for _, m := range ms {
		if !slices.Contains(kept, m) {
			if m.op != opOffByOne || m.fn != "const" {
				t.Errorf("%s is not among those that are compiled together", m)
			}
			continue
		}
		if ops[m.op] {
			continue // one of each operator: those that are compiled for themselves take a while
		}
		ops[m.op] = true
		want, _, err1 := apart.try(t.Context(), m)
		got, by, err2 := together.try(t.Context(), m)
		if err1 != nil || err2 != nil || got != want || got == killed && by != "TestAdd" {
			t.Errorf("%s: %s by %q, %v; want %s, %v", m, got, by, err2, want, err1)
		}
	}
	if len(ops) != 6 {
		t.Errorf("operators %v", ops)
	}
	if w := together.woven["p"]; len(w.tests) != 1 || len(w.tests[0].took) != 2 || !slices.Equal(w.tests[0].hits[w.place(kept[0])], []string{"TestAdd"}) {
		t.Errorf("tests %+v", w.tests)
	}
}

// TestTogetherAsksWiderTests: what a package's own tests let live is shown to those of the
// wider packages that were asked for, in a binary of theirs.
func TestTogetherAsksWiderTests(t *testing.T) {
	root := module(t, map[string]string{
		"p/p.go":      "package p\n\nfunc Less(a, b int) bool { return a < b }\n",
		"p/p_test.go": "package p\n\nimport \"testing\"\n\nfunc TestLess(t *testing.T) { Less(1, 2) }\n",
		"q/q_test.go": `package q

import (
	"testing"

	"example.test/m/p"
)

func TestEqual(t *testing.T) {
	if p.Less(1, 1) {
		t.Fatal()
	}
}

func TestNothing(t *testing.T) {}
`,
	})
	ms := mutantsOf(t, root, "p")
	if len(ms) != 1 {
		t.Fatal(ms)
	}
	ms[0].target.wider = []string{"q"}
	for asked, want := range map[string]string{"": killed, "Equal": killed, "Nothing": survived} {
		r := &runner{root: root, tmp: t.TempDir(), asked: regexp.MustCompile(asked), clean: map[string]time.Duration{}, woven: map[string]*woven{}}
		if _, err := r.weave(t.Context(), ms, true); err != nil {
			t.Fatal(err)
		}
		if got, by, err := r.try(t.Context(), ms[0]); err != nil || got != want || got == killed && by != "q TestEqual" {
			t.Errorf("asking %q: %s by %q, %v; want %s", asked, got, by, err, want)
		}
	}
}

// TestTogetherNeedsGreenTests: a test that fails by itself would not be asked, and mutants would
// live that it notices; each of them is named.
func TestTogetherNeedsGreenTests(t *testing.T) {
	root := module(t, map[string]string{
		"p/p.go": "package p\n\nfunc Less(a, b int) bool { return a < b }\n",
		"p/p_test.go": `package p

import "testing"

func TestLess(t *testing.T) {
	if Less(1, 1) {
		t.Fatal()
	}
}

func TestRed(t *testing.T) { t.Fatal("as red as it gets") }
func TestToo(t *testing.T) { panic("this one too") }
`,
	})
	r := &runner{root: root, tmp: t.TempDir(), own: true, clean: map[string]time.Duration{}, woven: map[string]*woven{}}
	_, err := r.weave(t.Context(), mutantsOf(t, root, "p"), true)
	for _, want := range []string{"TestRed fails without a change", "as red as it gets", "TestToo fails without a change", "this one too"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
	if err != nil && strings.Contains(err.Error(), "TestLess") {
		t.Errorf("%v names a test that passes", err)
	}
}

// TestTempDir: a server that a test starts as another user has its files below.
func TestTempDir(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir, err := tempDir()
	if err != nil {
		t.Fatal(err)
	}
	if at, err := os.Stat(dir); err != nil || runtime.GOOS != "windows" && at.Mode().Perm() != 0o711 {
		t.Errorf("%v, %v", at.Mode(), err)
	}
}

// TestGroupEnds: what a test leaves running ends with it.
func TestGroupEnds(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil || runtime.GOOS == "windows" {
		t.Skip("no sh here")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "sleep 60 >/dev/null 2>&1 & echo begun; exit 3")
	cmd.ExtraFiles = []*os.File{w} // which both have open
	out, err := combinedOutput(cmd)
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 3 || string(out) != "begun\n" {
		t.Errorf("%s, %v", out, err)
	}
	if err := errors.Join(w.Close(), r.SetReadDeadline(time.Now().Add(30*time.Second))); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("it still runs: %v", err)
	}
}
