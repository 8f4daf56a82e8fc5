// Package codecheck finds calls in a script of code mode that cannot succeed, before anything
// runs (docs/code-mode.md). It finds no fault that the call itself would not have.
package codecheck

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/nearest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/jscalls"
)

// maxFaults is how many faults of a script are told at once: a model repairs a few.
const maxFaults = 5

// Check finds calls that cannot succeed, whatever their values are: of a tool that is not there,
// with an argument that it does not take, without one that it needs. tool finds the tool of a
// path (group.name), nil where there is none; unknown is the error of a path without one.
// nil: no fault can be seen without running the code.
func Check(code string, tool func(path string) (*snapshot.Tool, error), unknown func(path string) error) error {
	found := jscalls.Find(code)
	var all faults
	fault := func(c *jscalls.Call, text string) {
		all.add(fmt.Sprintf("%s (line %d, column %d)", text, c.Line, c.Column))
	}
	looked := map[string]bool{} // paths that the script may look at before it calls them
	for i := range found.Calls {
		if c := &found.Calls[i]; !c.Made {
			looked[c.Path] = true
		}
	}
	for i := range found.Calls {
		c := &found.Calls[i]
		if !c.Made || looked[c.Path] {
			continue
		}
		t, err := tool(c.Path)
		switch {
		case err != nil:
			return err
		case t == nil && found.Dynamic: // it may have looked
		case t == nil:
			fault(c, unknown(c.Path).Error())
		case c.Known:
			texts, err := wrongArguments(t, c)
			if err != nil {
				return err
			}
			for _, text := range texts {
				fault(c, text)
			}
		}
	}
	return all.err()
}

// faults are the first faults of a script.
type faults struct {
	texts []string
	more  int
}

func (f *faults) add(text string) {
	if len(f.texts) == maxFaults {
		f.more++
		return
	}
	f.texts = append(f.texts, text)
}

func (f *faults) err() error {
	if len(f.texts) == 0 {
		return nil
	}
	text := strings.Join(f.texts, "\n")
	if f.more > 0 {
		text += fmt.Sprintf("\nand %d more", f.more)
	}
	return problem.New(problem.InvalidArguments, "TypeError: %s\nNothing was run", text).Fix("repair the script and run it again")
}

// wrongArguments are the faults of a call whose arguments are written in the script.
func wrongArguments(tool *snapshot.Tool, c *jscalls.Call) ([]string, error) {
	ready, err := tool.Load()
	if err != nil || ready.MCP != nil { // an MCP server checks by itself
		return nil, err
	}
	schema, err := tool.InputSchema()
	if err != nil {
		return nil, err
	}
	v := jsonscan.Trusted(schema)
	for _, word := range []string{"oneOf", "anyOf", "allOf", "$ref"} {
		if v.Get(word).Exists() {
			return nil, nil // it depends on the values
		}
	}
	var known []string
	for it := v.Get("properties").Members(); it.Next(); {
		known = append(known, string(it.KeyText(nil)))
	}
	var out []string
	for _, name := range c.Names {
		if slices.Contains(known, name) || name == ready.Answer.Argument || ready.Plan == nil || !refuses(ready, name) {
			continue
		}
		text := fmt.Sprintf("%s takes no argument %.80q", tool.Name, name)
		switch near := nearest.Name(name, slices.Values(known)); {
		case near != "":
			text += fmt.Sprintf(", did you mean %s?", near)
		case len(known) > 0 && len(known) <= 12:
			text += ", it takes " + strings.Join(known, ", ")
		}
		out = append(out, text)
	}
	if c.Open {
		return out, nil
	}
	for it := v.Get("required").Elements(); it.Next(); {
		if name := string(it.Value().AppendText(nil)); !slices.Contains(c.Names, name) {
			out = append(out, fmt.Sprintf("%s needs the argument %s", tool.Name, name))
		}
	}
	return out, nil
}

// refuses reports whether a call with an argument of this name is refused for it: arguments
// that are not listed may be taken all the same.
func refuses(ready *snapshot.Ready, name string) bool {
	args := append(append([]byte{'{'}, jsonscan.AppendStringOf(nil, name)...), ":null}"...)
	p := problem.As(ready.Plan.Check(jsonscan.Trusted(args)))
	if p == nil {
		return false
	}
	at := "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	return slices.ContainsFunc(p.Parts, func(part *problem.Error) bool {
		return part.Place.Pointer == at && strings.HasPrefix(part.Detail, "unknown ")
	})
}
