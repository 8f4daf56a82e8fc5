package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// tree returns the hashes of the project's files, with CI=true; elsewhere somebody may
// write them while the tests run. Files that git ignores are what tests build.
func (g *gate) tree(ctx context.Context) (map[string][sha256.Size]byte, error) {
	if !g.strict {
		return nil, nil
	}
	names, err := g.files(ctx)
	if err != nil {
		return nil, err
	}
	hashes := make(map[string][sha256.Size]byte, len(names))
	for _, name := range names {
		full := filepath.Join(g.dir, filepath.FromSlash(name))
		at, err := os.Lstat(full)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		case at.Mode()&os.ModeSymlink != 0:
			to, err := os.Readlink(full)
			if err != nil {
				return nil, err
			}
			hashes[name] = sha256.Sum256([]byte("-> " + to))
		case at.Mode().IsRegular():
			text, err := os.ReadFile(full)
			if err != nil {
				return nil, err
			}
			hashes[name] = sha256.Sum256(text)
		}
	}
	return hashes, nil
}

// files returns the names of the project's files, as git knows them: those that are
// committed or would be.
func (g *gate) files(ctx context.Context) ([]string, error) {
	cmd := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
	cmd.Dir, cmd.Env = g.dir, g.env
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w: the files of the project are compared with what ran", err)
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }), nil
}

// changed returns the names of files that are not the same in both trees.
func changed(before, after map[string][sha256.Size]byte) []string {
	names := maps.Clone(before)
	maps.Copy(names, after)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(names)), func(name string) bool {
		was, ok := before[name]
		is, still := after[name]
		return ok == still && was == is
	})
}
