package snapshot

import "fmt"

// Summary describes a tool to people in one line.
type Summary struct {
	Name, Title, Description string // the description's first sentence
	ReadOnly, Destructive    bool
}

// Description is what the operator wrote about the toolset for people; "": nothing.
func (ts *Toolset) Description() string { return ts.bundle.Description }

// Summaries are the first tools of the toolset, at most so many, and how many there are. They
// are those that the selection is made of, not what tools/list shows in search mode.
func (ts *Toolset) Summaries(most int) (out []Summary, all int, err error) {
	tools, err := ts.Tools()
	if err != nil {
		return nil, 0, err
	}
	for _, t := range tools[:min(most, len(tools))] {
		head, err := t.head()
		if err != nil {
			return nil, 0, fmt.Errorf("reading tool %s: %w", t.Name, err)
		}
		out = append(out, Summary{t.Name, head.Title, FirstSentence(head.Description), head.Annotations.ReadOnly, head.Annotations.Destructive})
	}
	return out, len(tools), nil
}
