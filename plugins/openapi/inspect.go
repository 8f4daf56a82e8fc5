package openapi

import (
	"fmt"
	"strings"

	"github.com/sluicegate/sluice/internal/textfilter"
	"github.com/sluicegate/sluice/plugins/operation"
)

// maxHiddenWarnings of one document: an editor that leaves a zero-width space leaves
// hundreds.
const maxHiddenWarnings = 50

// quoteHidden is how many bytes of a text with hidden characters a warning quotes.
const quoteHidden = 80

// warnHidden lists the strings of a document in which somebody hid characters. They
// are removed where a text is published; a warning quotes them, because nobody sees
// them in the document.
func (c *compiler) warnHidden(d *document) {
	if !d.yaml && textfilter.IndexJSON(d.text) < 0 {
		return
	}
	found := 0
	for i := range d.nodes {
		n := &d.nodes[i]
		if n.kind != kindString {
			continue
		}
		raw := d.text[n.off:n.end]
		if n.flags&flagEscaped != 0 && textfilter.IndexJSON(raw) < 0 || n.flags&flagEscaped == 0 && textfilter.Index(raw) < 0 {
			continue
		}
		v := value{d, uint32(i)}
		text := v.text()
		clean := textfilter.Clean(text)
		if strings.ReplaceAll(text, "\r\n", "\n") == clean {
			continue // lines as Windows ends them
		}
		if found++; found > maxHiddenWarnings {
			return
		}
		at := 0
		for at < len(clean) && text[at] == clean[at] {
			at++
		}
		from := max(at-quoteHidden/2, 0)
		c.warn(codeHidden, v, "look at what is hidden there, and remove it from the specification",
			"hidden characters, which are removed where the text is published: \"%s\"", textfilter.Visible(strings.ToValidUTF8(text[from:], ""), quoteHidden))
	}
}

// inspect makes sure that nothing hidden is published with an operation and reports
// what in it is written for a model instead of for a reader. An error is
// *unsupported.
func (c *compiler) inspect(op *operation.Operation, at value) error {
	if textfilter.Clean(op.Path) != op.Path {
		return notCallable(codeHidden, "the path has hidden characters: \"%s\"", textfilter.Visible(op.Path, quoteHidden))
	}
	for _, s := range [...]*string{&op.ID, &op.Title, &op.Description} {
		*s = textfilter.Clean(*s)
	}
	for _, schema := range [...]*[]byte{(*[]byte)(&op.InputSchema), (*[]byte)(&op.OutputSchema)} {
		if textfilter.IndexJSON(*schema) < 0 {
			continue
		}
		clean, _, err := textfilter.AppendSchema(nil, *schema)
		if err != nil {
			return notCallable(codeHidden, "%s", err.Error())
		}
		*schema = clean
	}
	var all []textfilter.Finding
	for _, part := range [...]struct {
		where string
		found []textfilter.Finding
	}{
		{"title", textfilter.Find(op.Title)},
		{"description", textfilter.Find(op.Description)},
		{"name", textfilter.Find(op.ID)},
		{"input schema", c.finder.FindJSON(op.InputSchema)},
		{"output schema", c.finder.FindJSON(op.OutputSchema)},
	} {
		for _, f := range part.found {
			c.warnInstruction(at, part.where+f.At, f)
		}
		all = append(all, part.found...)
	}
	for _, f := range c.finder.FindAcross(all, []string{op.Title, op.Description}, op.InputSchema)[len(all):] {
		c.warnInstruction(at, "text of the tool together", f)
	}
	return nil
}

// inspectAPI is inspect for what is published of the document as a whole.
func (c *compiler) inspectAPI(info value) {
	c.api.Title, c.api.Description = textfilter.Clean(c.api.Title), textfilter.Clean(c.api.Description)
	for where, text := range map[string]string{"title": c.api.Title, "description": c.api.Description} {
		for _, f := range textfilter.Find(text) {
			c.warnInstruction(info.get(where), where, f)
		}
	}
}

func (c *compiler) warnInstruction(at value, where string, f textfilter.Finding) {
	c.warnFor(fmt.Sprint(f.Kind, where), codeInstruction, at, "read the text as an agent would; if it is not what the API's author meant, give the tool a text of your own or disable it",
		"the %s is written for a model (%s): \"%s\"", where, f.Kind, f.Quote)
}
