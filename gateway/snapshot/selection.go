package snapshot

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/selection"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/registry"
)

// The tools that a client lists in search mode.
const (
	SearchTools   = "search_tools"
	DescribeTools = "describe_tools"
	ExecuteTool   = "execute_tool"
)

const (
	// DefaultFound is how many tools a search returns by default.
	DefaultFound = 8
	// MaxFound bounds one search: results beyond it are noise.
	MaxFound = 40
	// MaxDescribed tools of one description; their schemas are what costs.
	MaxDescribed = 20
	// maxTopics of the overview, and maxTopicTokens that they cost together: six for
	// each of an ordinary name. Generated tags of ten tokens would cost more than the
	// three definitions.
	maxTopics      = 60
	maxTopicTokens = 6 * maxTopics
)

// Searches reports whether clients list the three tools of search mode instead of
// the toolset's own.
func (ts *Toolset) Searches() bool { return ts.bundle.SelectionMode() == registry.SelectSearch }

// selected returns which operations are served; nil: all.
func (ts *Toolset) selected() map[registry.SelectedTool]bool {
	if ts.bundle.SelectionMode() != registry.SelectUseCase {
		return nil
	}
	m := make(map[registry.SelectedTool]bool, len(ts.bundle.Selection.Tools))
	for _, t := range ts.bundle.Selection.Tools {
		m[t] = true
	}
	return m
}

// finder is the opened index of a toolset.
type finder struct {
	index     *selection.Index
	topics    map[string][]bool // by service or tag in lower case: which tools have it
	searchers sync.Pool
}

// Learns reports whether searches that a successful call follows are reported, as
// examples of the uses of tools.
func (ts *Toolset) Learns() bool { return ts.bundle.Selection != nil && ts.bundle.Selection.Learn }

// Found is a tool that a search gave.
type Found struct {
	Tool  *Tool
	Score float32
}

// Find appends the k tools that fit query best, best first, to dst. topic, when
// not empty, is a service or tag they must have. fits is false when not even the
// best is likely to fit. sees reports whether the caller may see a tool; nil: all. It fails
// with [problem.NotFound] for an
// unknown topic.
func (ts *Toolset) Find(dst []Found, query, topic string, k int, sees func(tool string) bool) (found []Found, fits bool, err error) {
	tools, err := ts.Tools()
	if err != nil {
		return dst, false, err
	}
	f, err := ts.finder()
	if err != nil {
		return dst, false, err
	}
	var among []bool
	if topic != "" {
		if among = f.topics[strings.ToLower(topic)]; among == nil {
			return dst, false, problem.New(problem.NotFound, "no service or tag is named %.80q", topic).
				Fix("leave tag out, or use one that the description of search_tools lists")
		}
	}
	if sees != nil {
		visible := make([]bool, len(tools))
		for i, t := range tools {
			visible[i] = (among == nil || among[i]) && sees(t.Name)
		}
		among = visible
	}
	s, _ := f.searchers.Get().(*selection.Searcher)
	defer f.searchers.Put(s)
	for _, h := range s.SearchAmong(query, k, among) {
		dst = append(dst, Found{tools[h.Tool], h.Score})
	}
	return dst, s.Fits(), nil
}

// finder opens the index on first use.
func (ts *Toolset) finder() (*finder, error) {
	ts.finding.once.Do(func() { ts.finding.f, ts.finding.err = ts.openIndex() })
	return ts.finding.f, ts.finding.err
}

func (ts *Toolset) openIndex() (*finder, error) {
	tools, err := ts.Tools()
	if err != nil {
		return nil, err
	}
	index, err := selection.Open(ts.stored, selection.DefaultTable())
	if err != nil {
		return nil, fmt.Errorf("opening the index of toolset %s: %w", ts.Slug, err)
	}
	if index.Len() != len(tools) {
		return nil, fmt.Errorf("opening the index of toolset %s: it has %d tools, the toolset %d", ts.Slug, index.Len(), len(tools))
	}
	topics, _, err := ts.topics(nil)
	if err != nil {
		return nil, err
	}
	f := &finder{index: index, topics: topics}
	f.searchers.New = func() any { return index.NewSearcher() }
	return f, nil
}

// topics lists the services and tags of the tools that sees is true for (nil:
// all), the most used first, and which tools have each.
func (ts *Toolset) topics(sees func(string) bool) (among map[string][]bool, names []string, err error) {
	tools, err := ts.Tools()
	if err != nil {
		return nil, nil, err
	}
	among = map[string][]bool{}
	counts := map[string]int{}
	spelled := map[string]string{}
	for i, t := range tools {
		if sees != nil && !sees(t.Name) {
			continue
		}
		head, err := t.head()
		if err != nil {
			return nil, nil, fmt.Errorf("reading tool %s: %w", t.Name, err)
		}
		for _, topic := range append([]string{t.group()}, head.Tags...) {
			key := strings.ToLower(topic)
			if key == "" {
				continue
			}
			if among[key] == nil {
				among[key] = make([]bool, len(tools))
				spelled[key] = topic
				names = append(names, key)
			}
			if !among[key][i] {
				among[key][i] = true
				counts[key]++
			}
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return counts[b] - counts[a] })
	for i, n := range names {
		names[i] = fmt.Sprintf("%s (%d)", spelled[n], counts[n])
	}
	return among, names, nil
}

// overview is what the description of search_tools says there is.
func (ts *Toolset) overview(sees func(string) bool) (string, error) {
	_, topics, err := ts.topics(sees)
	if err != nil {
		return "", err
	}
	return listTopics(topics), nil
}

// listTopics says as many of the topics as the overview may cost.
func listTopics(topics []string) string {
	shown := 0
	for cost := 0; shown < min(len(topics), maxTopics); shown++ {
		if cost += tokens.Estimate([]byte(topics[shown])) + 1; cost > maxTopicTokens {
			break
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Services and tags, with their number of tools: %s", strings.Join(topics[:shown], ", "))
	if more := len(topics) - shown; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return b.String()
}

// The input schemas of the three tools.
const (
	searchSchema = `{"type":"object","properties":{` +
		`"query":{"type":"string","description":"One capability, as a verb, an object and the service: \"github create issue\""},` +
		`"k":{"type":"integer","minimum":1,"maximum":40,"default":8,"description":"How many tools"},` +
		`"tag":{"type":"string","description":"Only tools of this service or tag"}},"required":["query"]}`
	describeSchema = `{"type":"object","properties":{` +
		`"names":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":20,"description":"Names that search_tools gave"}},"required":["names"]}`
	executeSchema = `{"type":"object","properties":{` +
		`"name":{"type":"string","description":"Name of the tool"},` +
		`"arguments":{"type":"object","description":"As describe_tools says"}},"required":["name"]}`
)

// renderSearch renders tools/list of search mode.
func (ts *Toolset) renderSearch(sees func(string) bool) ([]byte, error) {
	tools, err := ts.Tools()
	if err != nil {
		return nil, err
	}
	overview, err := ts.overview(sees)
	if err != nil {
		return nil, err
	}
	// What the executed tool may do is what execute_tool may do: the hints are
	// those of the most dangerous tool.
	execute := mcp.ToolInfo{ReadOnly: true, Idempotent: true}
	count := 0
	for _, t := range tools {
		if sees != nil && !sees(t.Name) {
			continue
		}
		count++
		head, err := t.head()
		if err != nil {
			return nil, fmt.Errorf("reading tool %s: %w", t.Name, err)
		}
		execute.ReadOnly = execute.ReadOnly && head.Annotations.ReadOnly
		execute.Idempotent = execute.Idempotent && head.Annotations.Idempotent
		execute.Destructive = execute.Destructive || head.Annotations.Destructive
		execute.OpenWorld = execute.OpenWorld || head.Annotations.OpenWorld
	}
	execute.Name, execute.InputSchema = ExecuteTool, []byte(executeSchema)
	execute.Description = "Call a tool that search_tools found. Read its arguments with describe_tools first. " +
		"search_tools says which tools only read and which may destroy."
	out := mcp.AppendTool([]byte{'['}, &mcp.ToolInfo{
		Name: SearchTools, InputSchema: []byte(searchSchema), ReadOnly: true, Idempotent: true,
		Description: fmt.Sprintf("Find tools among the %d of this server. Ask for one capability at a time in the words of the API, such as create invoice, and name the service. ", count) + overview + ".",
	})
	out = mcp.AppendTool(append(out, ','), &mcp.ToolInfo{
		Name: DescribeTools, InputSchema: []byte(describeSchema), ReadOnly: true, Idempotent: true,
		Description: "Read the description and the input schema of tools before you execute them.",
	})
	out = mcp.AppendTool(append(out, ','), &execute)
	if ts.index.batch != nil {
		if out, err = ts.appendBatch(append(out, ','), sees); err != nil {
			return nil, err
		}
	}
	if f := ts.index.fetch; f != nil { // the handle of a long answer is for the client itself
		if out, err = f.AppendDefinition(append(out, ',')); err != nil {
			return nil, err
		}
	}
	return append(out, ']'), nil
}
