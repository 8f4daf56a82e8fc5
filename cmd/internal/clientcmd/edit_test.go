package clientcmd

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/config"
	"github.com/sluicegate/sluice/internal/clientconfig"
)

// entryX is the entry that the cases set and remove.
var entryX = map[string]clientconfig.Entry{
	".json": {
		Path: []string{"servers", "x"}, Value: clientconfig.Object{{Key: "url", Value: "u&v"}},
		Input: clientconfig.Object{{Key: "id", Value: "in"}, {Key: "password", Value: true}},
	},
	".toml": {Path: []string{"servers", "x"}, Value: clientconfig.Object{{Key: "url", Value: "u&v"}, {Key: "args", Value: []string{"a"}}}},
	".yaml": {Path: []string{"servers", "x"}, Value: clientconfig.Object{{Key: "url", Value: "u&v"}, {Key: "enabled", Value: true}, {Key: "headers", Value: clientconfig.Object{{Key: "A", Value: "b"}}}}},
}

// Each case is a document, what it is with the entry, and what it is when that is taken
// out again; without the last one it is the document.
func TestInstall(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range cases {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			parts := map[string][]byte{}
			var ext string
			for _, f := range a.Files {
				ext = filepath.Ext(f.Name)
				parts[strings.TrimSuffix(f.Name, ext)] = f.Data
			}
			f, e := formatOf("f"+ext), entryX[ext]
			if strings.Contains(filepath.Base(file), "noinput") {
				e.Input = nil
			}
			before, removed := parts["before"], parts["removed"]
			if removed == nil {
				removed = before
			}
			after, err := f.install(before, e)
			if err != nil {
				t.Fatalf("install: %v", err)
			}
			if string(after) != string(parts["after"]) {
				t.Errorf("install gives\n%s\nwant\n%s", after, parts["after"])
			}
			if again, err := f.install(after, e); err != nil || string(again) != string(after) {
				t.Errorf("installing twice gives\n%s\n%v", again, err)
			}
			out, err := f.uninstall(after, e)
			if err != nil || string(out) != string(removed) {
				t.Errorf("uninstall gives\n%s\n%v; want\n%s", out, err, removed)
			}
		})
	}
}

// A document that cannot be read, or that is written in a way that is not changed, is
// refused with the place.
func TestInstallRefuses(t *testing.T) {
	f := func(ext, doc, want string) {
		t.Helper()
		got, err := formatOf("f"+ext).install([]byte(doc), entryX[ext])
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("install into %q = %q, %v; want an error with %q", doc, got, err, want)
		}
	}
	f(".json", "[]", "line 1")
	f(".json", "{\n \"a\": }", "line 2, column 7")
	f(".json", "{} {}", "line 1, column 4")
	f(".json", "{\n\"servers\": 1}", "line 2: servers is not an object")
	f(".json", "{\n\"inputs\": {}}", "line 2: inputs is not a list")
	f(".toml", "a = 1\nb = = 2", "line 2, column 5")
	f(".toml", "servers = {x = {url = 'a'}}", "not changed automatically")
	f(".toml", "servers.x.url = 'a'", "not changed automatically")
	f(".toml", "[[servers]]\nx = 1", "not changed automatically")
	f(".yaml", "a: [", "line 2, column 1")
	f(".yaml", "- a", "line 1")
	f(".yaml", "a: 1\nservers: {y: {url: a}}", "line 2: servers is not a mapping with a line for each member")
	f(".yaml", "servers: &a\n  y: {}\n---\nb: 1", "more than one document")
	f(".yaml", "servers: [1]", "line 1")
}

// Line ends stay those of the document.
func TestInstallKeepsLineEnds(t *testing.T) {
	for ext, doc := range map[string]string{
		".json": "{\r\n  \"a\": 1\r\n}\r\n", ".toml": "a = 1\r\n\r\n[b]\r\nc = 2\r\n", ".yaml": "a: 1\r\nservers:\r\n  y:\r\n    url: b\r\n",
	} {
		f := formatOf("f" + ext)
		after, err := f.install([]byte(doc), entryX[ext])
		if err != nil || strings.Count(string(after), "\r\n") != strings.Count(string(after), "\n") {
			t.Fatalf("%q becomes %q, %v", doc, after, err)
		}
		e := entryX[ext]
		e.Input = nil
		if ext == ".json" { // with the list that was made for the input
			continue
		}
		if out, err := f.uninstall(after, e); err != nil || string(out) != doc {
			t.Errorf("%q becomes %q, %v", doc, out, err)
		}
	}
}

// What others wrote stays byte for byte: a byte order mark, line ends of both kinds, and the
// line before an entry that is taken out.
func TestInstallKeepsBytes(t *testing.T) {
	f := func(ext, doc, line string) {
		t.Helper()
		e, f := entryX[ext], formatOf("f"+ext)
		e.Input = nil
		after, err := f.install([]byte(doc), e)
		if err != nil || !strings.Contains(string(after), line) {
			t.Fatalf("%q becomes %q, %v", doc, after, err)
		}
		if out, err := f.uninstall(after, e); err != nil || string(out) != doc {
			t.Errorf("%q, without the entry, becomes %q, %v; want %q", after, out, err, doc)
		}
	}
	f(".json", "\ufeff{\n  \"servers\": {\n    \"y\": {}\n  }\n}\n", "    \"x\": {\n")
	f(".toml", "\ufeffa = 1\n\n[servers.y]\nb = 2\n", "\n[servers.x]\n")
	f(".yaml", "\ufeffa: 1\nservers:\n  y:\n    url: b\n", "\n  x:\n")
	f(".json", "{\r\n  \"servers\": {\r\n    \"y\": {},\r\n  },\r\n}", "    \"x\": {\r\n")
	f(".json", "{\r\n  \"a\": 1,\n  \"servers\": {\r\n    \"y\": {}\r\n  }\n}\n", "\"a\": 1,\n")
	f(".toml", "a = 1\r\nb = 2\n\n[servers.y]\nb = 2\n", "a = 1\r\nb = 2\n")
}

func TestSecretsAreNotShown(t *testing.T) {
	got := lineDiff("f", "{\n \"apiKey\": \"abcdef123456\",\n \"h\": \"Bearer abc.def-123\"\n}\n",
		"{\n \"apiKey\": \"abcdef123456\",\n \"h\": \"Bearer ${TOKEN}\",\n \"u\": \"${input:token}\"\n}\n")
	for _, secret := range []string{"abcdef", "abc.def"} {
		if strings.Contains(got, secret) {
			t.Errorf("the difference shows %s:\n%s", secret, got)
		}
	}
	if !strings.Contains(got, "Bearer ${TOKEN}") || !strings.Contains(got, "${input:token}") {
		t.Errorf("the difference hides references:\n%s", got)
	}
}

// A file larger than any configuration is not read.
func TestFileIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	c := installation{app: application{Application: clientconfig.Application{Title: "X"}, file: func(config.Environment) string { return path }}, clients: clients{new(command.Session)}}
	for size, want := range map[int64]error{maxFileBytes: nil, maxFileBytes + 1: errFileTooLarge} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		if _, err := c.read(); !errors.Is(err, want) {
			t.Errorf("reading %d bytes: %v, want %v", size, err, want)
		}
	}
}

func TestPrivateHost(t *testing.T) {
	f := func(host string, want bool) {
		t.Helper()
		if got := privateHost(host); got != want {
			t.Errorf("privateHost(%q) = %v", host, got)
		}
	}
	f("127.0.0.1", true)
	f("localhost", true)
	f("10.1.2.3", true)
	f("fd00::1", true)
	f("printer", true)
	f("printer.local", true)
	f("203.0.113.9", false)
	f("gateway.example", false)
}

func fuzzInstall(f *testing.F, ext string) {
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range cases {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range txtar.Parse(b).Files {
			if filepath.Ext(part.Name) == ext {
				f.Add(part.Data)
			}
		}
	}
	format, e := formatOf("f"+ext), entryX[ext]
	f.Fuzz(func(t *testing.T, doc []byte) {
		once, err := format.install(doc, e)
		if err != nil {
			return
		}
		twice, err := format.install(once, e)
		if err != nil || string(twice) != string(once) {
			t.Fatalf("installing twice: %q, then %q, %v", once, twice, err)
		}
		before, err := format.decode(doc)
		if err != nil {
			t.Fatalf("%q cannot be read: %v", doc, err)
		}
		after, err := format.decode(once)
		if err != nil || !reflect.DeepEqual(prune(without(e, after)), prune(without(e, before))) {
			t.Fatalf("%q became %q", doc, once)
		}
		if out, err := format.uninstall(once, e); err == nil {
			if rest, err := format.decode(out); err != nil || memberAt(rest, e.Path) != nil {
				t.Fatalf("%q: uninstalled: %q, %v", once, out, err)
			}
		}
	})
}

func FuzzInstallJSON(f *testing.F) { fuzzInstall(f, ".json") }
func FuzzInstallTOML(f *testing.F) { fuzzInstall(f, ".toml") }
func FuzzInstallYAML(f *testing.F) { fuzzInstall(f, ".yaml") }
