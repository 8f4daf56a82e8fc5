package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// Each file of testdata/*.txtar is a module whose packages are run as the tests of a
// project. Its comment has the lines
//
//	args: arguments of go test; ./... when there is none
//	strict
//	quarantine: an entry of the quarantine; DATE is the day of the commit
//	skips: an entry of the list of skips
//	elsewhere: directories with tests that other commands run
//	tests: a line of the list of numbers of tests
//	benchmarks
//	fails: what the error has; without such a line the run passes
//	spares: what the error does not have
//	prints: what the output has
func TestGate(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d modules, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			// The runtime sees two writers of a map only where two run at once.
			g := gate{out: &out, dir: t.TempDir(), env: append(os.Environ(), "GOMAXPROCS=4")}
			files := append([]txtar.File{{Name: "go.mod", Data: []byte("module m\n\ngo 1.26\n")}}, a.Files...)
			for _, f := range files {
				write(t, filepath.Join(g.dir, f.Name), string(f.Data))
			}
			if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", g.dir).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			today := time.Date(2026, 3, 15, 0, 0, 0, 0, time.UTC)
			var args, fails, spares, prints, quarantine, skips, tests []string
			for line := range strings.Lines(string(a.Comment)) {
				what, rest, _ := strings.Cut(strings.TrimSpace(line), ": ")
				switch what {
				case "args":
					args = strings.Fields(rest)
				case "strict":
					g.strict = true
				case "quarantine":
					quarantine = append(quarantine, strings.ReplaceAll(rest, "DATE", today.Format(time.DateOnly)))
				case "skips":
					skips = append(skips, rest)
				case "elsewhere":
					g.elsewhere = parseElsewhere(rest)
				case "tests":
					tests = append(tests, rest)
				case "benchmarks":
					g.benchmarks = true
				case "fails":
					fails = append(fails, rest)
				case "spares":
					spares = append(spares, rest)
				case "prints":
					prints = append(prints, rest)
				}
			}
			if args == nil {
				args = []string{"./..."}
			}
			lists := t.TempDir()
			if g.quarantine, err = readQuarantine(write(t, lists+"/quarantine", strings.Join(quarantine, "\n")), today); err != nil {
				t.Fatal(err)
			}
			if g.skips, err = readSkips(write(t, lists+"/skips", strings.Join(skips, "\n"))); err != nil {
				t.Fatal(err)
			}
			if tests != nil {
				if g.counts, err = readCounts(write(t, lists+"/tests", strings.Join(tests, "\n"))); err != nil {
					t.Fatal(err)
				}
			}
			err = g.run(t.Context(), groups(append([]string{"-vet=off"}, args...))) // a second less for each
			said := ""
			if err != nil {
				said = err.Error()
			}
			if (err != nil) != (len(fails) > 0) {
				t.Errorf("error %v; want %q", err, fails)
			}
			for _, want := range fails {
				if !strings.Contains(said, want) {
					t.Errorf("the error has no %q: %s", want, said)
				}
			}
			for _, none := range spares {
				if strings.Contains(said, none) {
					t.Errorf("the error has %q: %s", none, said)
				}
			}
			for _, want := range prints {
				if !strings.Contains(out.String(), want) {
					t.Errorf("the output has no %q", want)
				}
			}
			if t.Failed() {
				t.Logf("output:\n%s", out.String())
			}
		})
	}
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestQuarantine(t *testing.T) {
	today := time.Date(2026, 3, 15, 0, 0, 0, 0, time.UTC)
	entry := func(days int) string {
		return "m/a TestX " + today.AddDate(0, 0, -days).Format(time.DateOnly) + " waits for a clock\n"
	}
	f := func(text, want string) {
		t.Helper()
		q, err := readQuarantine(write(t, t.TempDir()+"/q", text), today)
		if want == "" && (err != nil || len(q) != strings.Count(text, "m/a ")) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, %v; want an error with %q", text, q, err, want)
		}
	}
	f("", "")
	f("# nothing\n\n", "")
	f(entry(0), "")
	f(entry(13), "")
	f(entry(14), "14 days are over")
	f(entry(400), "14 days are over")
	f(entry(-1), "after the commit")
	f(strings.Repeat(entry(1), 5), "")
	f(strings.Repeat(entry(1), 6), "has 6 tests, and 5 are allowed")
	f("m/a TestX 2026-03-15\n", ":1: 4 words are needed")
	f("m/a TestX yesterday late\n", "as 2006-01-02")
	f("m/a TestX/part 2026-03-15 late\n", "not a part")
	q, err := readQuarantine(write(t, t.TempDir()+"/q", entry(13)), today)
	if err != nil || q[0] != (quarantined{"m/a", "TestX", "waits for a clock", 1}) {
		t.Errorf("%+v, %v", q, err)
	}
	if _, err := readQuarantine(t.TempDir()+"/none", today); err == nil {
		t.Error("a list that is not there was read")
	}
}

func TestCounts(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if c, err := readCounts(write(t, t.TempDir()+"/c", text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want an error with %q", text, c, err, want)
		}
	}
	f("m/a 1 2", ":1: 4 words are needed")
	f("m/a 1 2 many", `"many" is no number`)
	f("m/a -1 2 3", `"-1" is no number`)
	f("m/a 1 2 3\nm/a 1 2 3", ":2: m/a stands here twice")

	dir := t.TempDir()
	write(t, dir+"/go.mod", "module m\n\ngo 1.26\n")
	write(t, dir+"/a_test.go", "package m\nimport \"testing\"\nfunc TestA(t *testing.T) {}\nfunc ExampleB() {}\nfunc BenchmarkC(b *testing.B) {}\nfunc Benchmarks(b *testing.B) {}\n")
	write(t, dir+"/b_test.go", "//go:build other\n\npackage m\nimport \"testing\"\nfunc TestB(t *testing.T) {}\n")
	write(t, dir+"/none/none.go", "package none\n")
	list := dir + "/list"
	if err := writeCounts(t.Context(), &gate{dir: dir}, list, []string{"./..."}); err != nil {
		t.Fatal(err)
	}
	if c, err := readCounts(list); err != nil || len(c) != 1 || c["m"] != (counts{2, 1, 1}) {
		t.Errorf("%v, %v", c, err)
	}
}

// TestLists keeps the lists of the project readable, and its commit dated.
func TestLists(t *testing.T) {
	now, err := commitDate(t.Context(), "")
	if err != nil {
		t.Skip("no commit here:", err)
	}
	if _, err := readQuarantine("../../.ci/quarantine", now); err != nil {
		t.Error(err)
	}
	if c, err := readCounts("../../.ci/tests"); err != nil || len(c) < 100 {
		t.Error(len(c), err)
	}
	if l, err := readSkips("../../.ci/skips"); err != nil || len(l) == 0 {
		t.Error(l, err)
	}
}

// TestCommitDate: an entry of the quarantine does not last longer because a commit was
// given an old date.
func TestCommitDate(t *testing.T) {
	dir := t.TempDir()
	git := func(date string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_COMMITTER_DATE="+date+"T12:00:00Z")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	git("2026-03-01", "init", "-q")
	if now, err := commitDate(t.Context(), dir); err == nil {
		t.Error("a date without a commit:", now)
	}
	for _, date := range []string{"2026-03-01", "2026-03-20", "2026-03-02"} {
		git(date, "commit", "-q", "--allow-empty", "-m", date)
	}
	if now, err := commitDate(t.Context(), dir); err != nil || now.Format(time.DateOnly) != "2026-03-20" {
		t.Errorf("%v, %v, want the newest date, 2026-03-20", now, err)
	}
}

// TestPrintSlowest: the slowest tests are named, the slowest first, and no quick ones.
func TestPrintSlowest(t *testing.T) {
	var out bytes.Buffer
	g := gate{out: &out}
	g.printSlowest(&result{took: map[test]float64{{"m", "TestA"}: 21, {"m", "TestB"}: 90.4, {"m", "TestC"}: 19.9}})
	if got, want := out.String(), "slow: m TestB 90 s\nslow: m TestA 21 s\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestLinkedDirectory: ./... follows no link, so a directory that became one has no tests.
func TestLinkedDirectory(t *testing.T) {
	var out bytes.Buffer
	g := gate{out: &out, dir: t.TempDir()}
	write(t, g.dir+"/go.mod", "module m\n\ngo 1.26\n")
	write(t, g.dir+"/a_test.go", "package m\nimport \"testing\"\nfunc TestA(t *testing.T) {}\n")
	write(t, g.dir+"/testdata/b/b_test.go", "package b\n")
	if err := os.Symlink("testdata/b", g.dir+"/b"); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	if err := os.Symlink("a_test.go", g.dir+"/text"); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", g.dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	err := g.run(t.Context(), [][]string{{"-vet=off", "./..."}})
	if want := "the run failed:\n  b: a link to a directory: ./... does not follow it, so its tests do not run"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestKeptResults: what the processes of a test read is not known to the go command,
// which keeps the result; with CI=true each test runs.
func TestKeptResults(t *testing.T) {
	g := gate{dir: t.TempDir(), strict: true}
	write(t, g.dir+"/go.mod", "module m\n\ngo 1.26\n")
	write(t, g.dir+"/a_test.go", "package m\nimport \"testing\"\nfunc TestA(t *testing.T) {}\n")
	for range 2 {
		var out bytes.Buffer
		g.out = &out
		if r, err := g.test(t.Context(), []string{"-vet=off", "."}); err != nil || r.passed != 1 || strings.Contains(out.String(), "(cached)") {
			t.Errorf("%v: %s", err, out.String())
		}
	}
}
