package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/registry"
)

//go:embed listing.py
var listing []byte

// tokens counts what the definitions of the tools cost an agent, as a client of a
// toolset gets them, and compares them with FastMCP's.
func (r *report) tokens(ctx context.Context) error {
	specs, err := r.specs()
	if err != nil {
		return err
	}
	fmt.Fprintf(&r.details, "\n## Tokens of tools/list\n\no200k_base, as a client of a toolset with this one API gets it: names, titles, descriptions, input schemas with the argument for "+
		"fields, annotations, and the tool that fetches the rest of a long answer. FastMCP's list has names, descriptions, input and output schemas and `_meta`; "+
		"a specification without figures of it is one that it does not accept.\n\n"+
		"| specification | tools | tokens | median of a tool | p95 | FastMCP | share |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	var all []int
	var missed []string
	var above strings.Builder
	corpus, accepted, met := 0, 0, 0
	for _, s := range specs {
		c, _, err := r.build(ctx, s.file)
		if err != nil {
			return fmt.Errorf("%s: %w", s.file, err)
		}
		if c == nil {
			continue
		}
		total, sizes, parts, err := listed(c)
		if err != nil {
			return fmt.Errorf("%s: %w", s.file, err)
		}
		corpus += total
		all = append(all, sizes...)
		theirs, err := r.fastmcp(ctx, s)
		if err != nil {
			return err
		}
		columns := "| |"
		if theirs.Tokens > 0 {
			accepted++
			share := 100 * float64(total) / float64(theirs.Tokens)
			columns = fmt.Sprintf("| %d | %.0f %% |", theirs.Tokens, share)
			if share <= 90 {
				met++
			} else {
				missed = append(missed, fmt.Sprintf("%s %.0f %% (%d of %d)", s.id, share, total, theirs.Tokens))
				fmt.Fprintf(&above, "| %s | %d | %d | %d | %d | %d | %d | %d | %d |\n", s.id, len(sizes), total, theirs.Tokens, parts.fetch, parts.fields, parts.hints, parts.titles, total-parts.fetch-parts.fields-parts.hints-parts.titles)
			}
		}
		if s.file == github && theirs.Tokens > 0 {
			r.add("GitHub's whole tools/list", "≤ 60 % of FastMCP's", total*100 <= theirs.Tokens*60, "%.1f %% (%d tokens of %d by FastMCP %s; %.0f %% of the %d it has without output schemas and `_meta`)",
				100*float64(total)/float64(theirs.Tokens), total, theirs.Tokens, theirs.Version, 100*float64(total)/float64(theirs.Lean), theirs.Lean)
		}
		fmt.Fprintf(&r.details, "| %s | %d | %d | %d | %d %s\n", s.id, len(sizes), total, sizes[len(sizes)/2], sizes[len(sizes)*95/100], columns)
	}
	if above.Len() > 0 {
		r.details.WriteString("\n### Above 90 % of FastMCP's\n\nSmall lists, of which most is what FastMCP's do not have: `fetch_result`, once, where an answer can be long; the argument `fields`, where an answer has members to choose from; " +
			"the annotations that clients ask their users by; titles.\n\n" +
			"| specification | tools | tokens | FastMCP | `fetch_result` | `fields` | annotations | titles | the rest |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n" + above.String())
	}
	slices.Sort(all)
	r.add("tokens of a tool's definition", "reported", true, "median %d, p95 %d, largest %d, over %d tools; the lists of the corpus have %d", all[len(all)/2], all[len(all)*95/100], all[len(all)-1], len(all), corpus)
	const what, goal = "tools/list of each specification that FastMCP accepts", "≤ 90 % of FastMCP's"
	if r.python == "" {
		r.skip(what, goal, "FastMCP was not measured")
	} else {
		r.add(what, goal, met == accepted, "%d of %d%s", met, accepted, strings.TrimSuffix("; above: "+strings.Join(missed, ", "), "; above: "))
	}
	k, err := r.lookKept(ctx, github)
	if err != nil {
		return err
	}
	for _, l := range k.lost {
		fmt.Fprintln(r.out, l)
	}
	r.add("of GitHub's specification still in that list: required names, closed lists, first sentences", "all", len(k.lost) == 0,
		"%d required, %d lists, %d sentences; %d not there", k.required, k.enums, k.sentences, len(k.lost))
	return nil
}

// listParts are the tokens of a list that are in parts of its tools.
type listParts struct{ fetch, fields, hints, titles int }

// add counts the parts of a tool's definition.
func (l *listParts) add(def []byte) error {
	var t struct {
		Title       json.RawMessage
		InputSchema struct {
			Properties struct{ Fields json.RawMessage }
		}
		Annotations json.RawMessage
	}
	if err := json.Unmarshal(def, &t); err != nil {
		return err
	}
	all := tokens.Count(def)
	without := func(name string, value json.RawMessage) int {
		if len(value) == 0 {
			return 0
		}
		member := append([]byte(`"`+name+`":`), value...)
		left := bytes.Replace(def, append([]byte(","), member...), nil, 1)
		if len(left) == len(def) { // the first one
			left = bytes.Replace(def, member, nil, 1)
		}
		return all - tokens.Count(left)
	}
	l.titles += without("title", t.Title)
	l.fields += without("fields", t.InputSchema.Properties.Fields)
	l.hints += without("annotations", t.Annotations)
	return nil
}

// listed counts the tokens of a toolset's tools/list, of each of the API's tools, and of some
// parts of these.
func listed(c *connector.Connector) (total int, sizes []int, parts listParts, err error) {
	const name = "api"
	bundle := &registry.Toolset{ID: name, Slug: name, Access: registry.Access{Mode: registry.AccessNone}, Connectors: []registry.ConnectorRef{{Name: name}}}
	snap, err := snapshot.Compile(snapshot.Input{Toolsets: []snapshot.ToolsetInput{{
		ID: name, Slug: name, Bundle: bundle, Connectors: map[string]*connector.Connector{name: c},
	}}}, nil)
	if err != nil {
		return 0, nil, parts, err
	}
	ts := snap.Slug(name)
	tools, err := ts.Tools()
	if err != nil {
		return 0, nil, parts, err
	}
	for _, t := range tools {
		def, err := t.AppendDefinition(nil)
		if err != nil {
			return 0, nil, parts, err
		}
		sizes = append(sizes, tokens.Count(def))
		total += sizes[len(sizes)-1]
		if err := parts.add(def); err != nil {
			return 0, nil, parts, err
		}
	}
	if f := ts.Fetch(); f != nil {
		def, err := f.AppendDefinition(nil)
		if err != nil {
			return 0, nil, parts, err
		}
		parts.fetch = tokens.Count(def)
		total += parts.fetch
	}
	slices.Sort(sizes)
	return total, sizes, parts, nil
}

// otherList is what the list costs that FastMCP makes of a specification; the zero value
// if it makes none.
type otherList struct {
	Version string
	Tokens  int
	Lean    int // without output schemas and _meta
}

const (
	// listTimeout is how long FastMCP may work on one specification.
	listTimeout = 10 * time.Minute
	// countedBytes of a tool are counted exactly, at some megabytes a second: output
	// schemas without references can have hundreds of megabytes.
	countedBytes = 1 << 20
)

// fastmcp measures the list that FastMCP makes of a specification. What it found is
// kept in r.lists for the next run.
func (r *report) fastmcp(ctx context.Context, s spec) (*otherList, error) {
	o := new(otherList)
	if r.python == "" {
		return o, nil
	}
	data, err := os.ReadFile(filepath.Join(r.corpus, s.file))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	kept := filepath.Join(r.lists, s.id+"-"+hex.EncodeToString(sum[:6])+".json")
	b, err := os.ReadFile(kept) //nolint:gosec // below a directory that the operator names
	if err == nil {
		return o, json.Unmarshal(b, o)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	script, out := filepath.Join(r.temp, "listing.py"), filepath.Join(r.temp, "listing.json")
	if err := os.WriteFile(script, listing, 0o600); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	//nolint:gosec // the interpreter was named on the command line
	text, err := exec.CommandContext(limited, r.python, script, filepath.Join(r.corpus, s.file), out).CombinedOutput()
	_, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case failed: // it does not accept the specification
		last := strings.TrimSpace(string(text))
		fmt.Fprintf(r.out, "FastMCP, %s: %.200s\n", s.id, last[strings.LastIndexByte(last, '\n')+1:])
	case err != nil:
		return nil, fmt.Errorf("FastMCP: %w\n%.2000s", err, text)
	default:
		if b, err = os.ReadFile(out); err != nil {
			return nil, err
		}
		if err := o.count(b); err != nil {
			return nil, err
		}
	}
	if b, err = json.Marshal(o); err != nil {
		return nil, err
	}
	return o, os.WriteFile(kept, b, 0o600) //nolint:gosec // below a directory that the operator names
}

// count counts the tokens of what listing.py wrote.
func (o *otherList) count(b []byte) error {
	var list struct {
		Version string
		Tools   []json.RawMessage
	}
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	count := func(b []byte) int {
		if len(b) > countedBytes {
			return tokens.Estimate(b)
		}
		return tokens.Count(b)
	}
	o.Version = list.Version
	for _, raw := range list.Tools {
		o.Tokens += count(raw)
		var tool map[string]json.RawMessage
		if err := json.Unmarshal(raw, &tool); err != nil {
			return err
		}
		delete(tool, "outputSchema")
		delete(tool, "_meta")
		lean, err := json.Marshal(tool)
		if err != nil {
			return err
		}
		o.Lean += count(lean)
	}
	return nil
}
