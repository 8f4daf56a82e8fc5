package evaluate

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/selection"
)

// maxLine bounds a line of a set: the longest description of a tool that was seen
// has 60 KB.
const maxLine = 4 << 20

// Set is a catalogue with requests and the tools that serve each.
type Set struct {
	Name    string
	IDs     []string // of the tools
	Tools   []selection.Tool
	Queries []Query
}

// Query is a request.
type Query struct {
	ID       string
	Text     string
	Relevant []int  // positions in Tools, in rising order
	Needed   int    // how many tools it needs, also those that the set does not have
	Split    string // "train" or "test", where the set has both
}

type toolLine struct {
	ID                string      `json:"id"`
	Name              string      `json:"name"`
	Title             string      `json:"title"`
	Description       string      `json:"description"`
	Params            []paramLine `json:"params"`
	Tags              []string    `json:"tags"`
	Method            string      `json:"method"`
	Path              string      `json:"path"`
	Server            string      `json:"server"`
	ServerDescription string      `json:"server_description"`
}

type paramLine struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

type queryLine struct {
	ID       string   `json:"id"`
	Text     string   `json:"text"`
	Relevant []string `json:"relevant"`
	Split    string   `json:"split"`
}

// Load reads the sets of a folder: <set>/tools.jsonl and <set>/queries.jsonl, in
// the order of their names. dir may also be one set. Folders without both files,
// and sets without requests, are left out. It fails with [problem.NotFound] when
// nothing is left and with [problem.InvalidArgument], which names file and line,
// when a line cannot be read.
func Load(dir string) ([]*Set, error) {
	if set, err := load(dir, filepath.Base(dir)); set != nil || err != nil {
		return []*Set{set}, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, problem.New(problem.NotFound, "the folder %s cannot be read", dir).Because(err)
	}
	var sets []*Set
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		set, err := load(filepath.Join(dir, e.Name()), e.Name())
		if err != nil {
			return nil, err
		}
		if set != nil && len(set.Queries) > 0 {
			sets = append(sets, set)
		}
	}
	if len(sets) == 0 {
		return nil, problem.New(problem.NotFound, "%s has no set of tools and requests", dir).
			Fix("a set is a folder with tools.jsonl and queries.jsonl")
	}
	return sets, nil
}

// load reads one set; nil when dir is none.
func load(dir, name string) (*Set, error) {
	s := &Set{Name: name}
	position := map[string]int{}
	err := eachLine(filepath.Join(dir, "tools.jsonl"), func(t *toolLine) error {
		if t.ID == "" {
			t.ID = t.Name
		}
		if _, twice := position[t.ID]; twice {
			return fmt.Errorf("the tool %.80q is listed twice", t.ID)
		}
		position[t.ID] = len(s.Tools)
		tool := selection.Tool{
			Name: t.Name, Title: t.Title, Description: t.Description, Tags: t.Tags, Method: t.Method, Path: t.Path,
			Server: t.Server, ServerText: t.ServerDescription,
		}
		for _, p := range t.Params {
			tool.Params = append(tool.Params, selection.Param{Name: p.Name, Description: p.Description})
		}
		s.IDs, s.Tools = append(s.IDs, t.ID), append(s.Tools, tool)
		return nil
	})
	if os.IsNotExist(err) {
		return nil, nil //nolint:nilnil // no set is no fault
	}
	if err != nil {
		return nil, err
	}
	err = eachLine(filepath.Join(dir, "queries.jsonl"), func(l *queryLine) error {
		q := Query{ID: l.ID, Text: l.Text, Split: l.Split}
		slices.Sort(l.Relevant)
		l.Relevant = slices.Compact(l.Relevant)
		if q.Needed = len(l.Relevant); q.Needed == 0 {
			return fmt.Errorf("the request %.80q needs no tool", l.ID)
		}
		for _, id := range l.Relevant {
			if at, ok := position[id]; ok {
				q.Relevant = append(q.Relevant, at)
			}
		}
		slices.Sort(q.Relevant)
		s.Queries = append(s.Queries, q)
		return nil
	})
	if os.IsNotExist(err) {
		return nil, nil //nolint:nilnil // no set is no fault
	}
	return s, err
}

// eachLine decodes the lines of a file of JSON objects. The error of a missing
// file is the one of package os.
func eachLine[T any](name string, f func(*T) error) error {
	file, err := os.Open(name) //nolint:gosec // the operator names the folder
	if err != nil {
		return err
	}
	defer file.Close()
	sc := bufio.NewScanner(file)
	sc.Buffer(nil, maxLine)
	n := 0
	for sc.Scan() {
		n++
		if len(sc.Bytes()) == 0 {
			continue
		}
		v := new(T)
		err := json.Unmarshal(sc.Bytes(), v)
		if err == nil {
			err = f(v)
		}
		if err != nil {
			return problem.New(problem.InvalidArgument, "%s", err).At(name, n, 0, "").Because(err)
		}
	}
	if err := sc.Err(); err != nil {
		return problem.New(problem.InvalidArgument, "the line cannot be read: %s", err).At(name, n+1, 0, "").Because(err)
	}
	return nil
}
