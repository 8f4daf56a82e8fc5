package main

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/problem"
)

const (
	// workspaceYAML and toolsetYAML are the files of a declaration in a directory:
	// DIR/workspace.yaml and DIR/SLUG/toolset.yaml with the documents it names beside it.
	workspaceYAML = "workspace.yaml"
	toolsetYAML   = "toolset.yaml"
	// maxDeclared is the largest file of a declaration: what the admin API takes.
	maxDeclared = 64 << 20
)

// object is a JSON object of a declaration. Declarations are handled as they are, so
// that a field that only the server knows is not lost.
type object = map[string]any

// connectorsOf are the connectors of a toolset that has several.
func connectorsOf(t object) []object {
	list, _ := t["connectors"].([]any)
	out := make([]object, 0, len(list))
	for _, v := range list {
		c, _ := v.(object)
		out = append(out, c)
	}
	return out
}

// unreadable is the error about a file that the command line names.
func unreadable(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return problem.New(problem.NotFound, "there is no file %s", name).Because(err)
	}
	return problem.New(problem.InvalidArgument, "%s cannot be read", name).Because(err)
}

func readYAML(name string) (object, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, unreadable(name, err)
	}
	defer func() { _ = f.Close() }() // only read
	b, err := io.ReadAll(io.LimitReader(f, maxDeclared+1))
	if err != nil || len(b) > maxDeclared {
		return nil, problem.New(problem.InvalidArgument, "%s is longer than %d MiB or cannot be read", name, maxDeclared>>20).Because(err)
	}
	return parseYAML(name, b)
}

func parseYAML(name string, b []byte) (object, error) {
	var out object
	if strings.HasPrefix(strings.TrimSpace(string(b)), "{") {
		if err := json.Unmarshal(b, &out); err != nil {
			return nil, problem.New(problem.InvalidArgument, "the file is not JSON: %s", terminal.Printable(err.Error())).At(name, 0, 0, "")
		}
		return out, nil
	}
	if err := yaml.Unmarshal(b, &out); err != nil {
		return nil, problem.New(problem.InvalidArgument, "the file is not YAML: %s", terminal.Printable(err.Error())).At(name, 0, 0, "")
	}
	if out == nil {
		return nil, problem.New(problem.InvalidArgument, "the file is empty").At(name, 0, 0, "")
	}
	return out, nil
}
