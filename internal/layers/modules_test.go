package layers

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCommittedModules: each committed WebAssembly module stands in a record with its
// hash. Either make check compiles it from its source and compares, or the record also
// names the compiler and has the hashes of the sources, so that neither changes alone.
func TestCommittedModules(t *testing.T) {
	const root = "../.."
	makefile, err := os.ReadFile(root + "/Makefile")
	if err != nil {
		t.Fatal(err)
	}
	modules := 0
	err = fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "bin" || name == "dist" || d.Name() == "node_modules" || d.Name() == "target" || d.Name() == ".git"):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".wasm":
			return nil
		}
		modules++
		record, dir := recordOf(filepath.Join(root, name))
		if record == "" {
			t.Errorf("%s: no record (.sha256) has its hash", name)
			return nil
		}
		hashes, compiler, err := readRecord(record)
		if err != nil {
			return err
		}
		rebuilt := false
		for p := path.Dir(name); p != "."; p = path.Dir(p) {
			rebuilt = rebuilt || strings.Contains(string(makefile), p+"/build.sh --check")
		}
		if !rebuilt {
			t.Errorf("%s: make check compares it with nothing", name)
		}
		if compiler == "" && strings.HasPrefix(name, "sdk/") || compiler != "" && len(hashes) < 2 {
			t.Errorf("%s names no compiler, or no source of %s", record, name)
		}
		for _, file := range slices.Sorted(maps.Keys(hashes)) {
			b, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				return err
			}
			if got := fmt.Sprintf("%x", sha256.Sum256(b)); got != hashes[file] {
				t.Errorf("%s has changed since %s was written: run the build.sh beside it", file, record)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if modules < 10 {
		t.Errorf("%d modules", modules)
	}
}

// recordOf returns the file with the hash of a module, and the directory that its
// names are relative to.
func recordOf(module string) (record, dir string) {
	for _, r := range []string{module + ".sha256", strings.TrimSuffix(module, ".wasm") + ".sha256", filepath.Dir(module) + "/build.sha256", filepath.Dir(module) + "/../build.sha256"} {
		hashes, _, err := readRecord(r)
		if err != nil {
			continue
		}
		dir := filepath.Dir(r)
		if rel, err := filepath.Rel(dir, module); err == nil && hashes[rel] != "" {
			return r, dir
		}
	}
	return "", ""
}

// readRecord reads the output of sha256sum. A first line of "# COMPILER VERSION" pins
// the compiler.
func readRecord(name string) (hashes map[string]string, compiler string, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, "", err
	}
	hashes = map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if c, ok := strings.CutPrefix(line, "# "); ok {
			compiler = c
		} else if hash, file, ok := strings.Cut(line, "  "); ok {
			hashes[filepath.Clean(file)] = hash
		}
	}
	return hashes, compiler, nil
}

// TestOneModule: what is compiled is what go.mod and go.sum name: no other place for a module,
// no part of the tree that ./... leaves out, no copies of modules beside them.
func TestOneModule(t *testing.T) {
	const root = "../.."
	text, err := os.ReadFile(root + "/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if word, _, _ := strings.Cut(strings.TrimSpace(line), " "); slices.Contains([]string{"replace", "exclude", "ignore"}, word) {
			t.Errorf("go.mod has %s", line)
		}
	}
	for _, name := range []string{"go.work", "vendor"} {
		if _, err := os.Lstat(filepath.Join(root, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTags: the linter reads the files of every build tag that is ours.
func TestTags(t *testing.T) {
	const root = "../.."
	config, err := os.ReadFile(root + "/.golangci.yml")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(config), "build-tags: [")
	list, _, _ = strings.Cut(list, "]")
	known := append(strings.Split(list, ", "), "linux", "unix", "windows", "race", "wasip1", "ignore", "amd64", "arm64", "darwin",
		"no_ui") // make lint vets both builds
	err = fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (name == "bin" || name == "dist" || d.Name() == "node_modules" || d.Name() == "testdata" || d.Name()[0] == '.'):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "package ") {
				break
			}
			constraint, ok := strings.CutPrefix(line, "//go:build ")
			if !ok {
				continue
			}
			for _, tag := range strings.FieldsFunc(constraint, func(r rune) bool { return strings.ContainsRune(" \t\r\n!()&|", r) }) {
				if !slices.Contains(known, tag) {
					t.Errorf("%s has the tag %s, and .golangci.yml does not: nothing would vet it", name, tag)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
