package golden

import (
	"encoding/json"
	"fmt"
	"mime"
	"unicode/utf8"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/redact"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// MaxCaptureBytes of one captured input: what a gateway shows of an answer.
const MaxCaptureBytes = 512 << 10

// Captured is a part of an answer of a live call, as filters and projections get it.
type Captured struct {
	Tool, Operation string
	Status          int    // of the API
	ContentType     string // of its answer, as it said
	Part, Type      string // sluice.part and sluice.input_type
	Arguments       []byte // of the call, a JSON object; nil: none
	Body            []byte
}

// Capture makes a case of what was captured, without what it should become. d takes the
// secrets out, of several cases of one set. No header is in a case but the media type of
// the answer, without its parameters. It fails with a [problem.InvalidArgument] or
// [problem.TooLarge].
func Capture(name string, c *Captured, d *redact.Document) (*Case, error) {
	if len(c.Body) > MaxCaptureBytes {
		return nil, problem.New(problem.TooLarge, "the answer has more than %d KiB", MaxCaptureBytes>>10).
			Fix("give arguments that ask for less, such as a smaller page")
	}
	out := &Case{Name: name, Context: Context{Tool: c.Tool, Operation: c.Operation, Status: c.Status}}
	if media, _, err := mime.ParseMediaType(c.ContentType); err == nil {
		out.Context.ContentType = d.Text(media)
	}
	if c.Part != "answer" {
		out.Context.Part = c.Part
	}
	if len(c.Arguments) > 0 {
		given, err := d.JSON(c.Arguments)
		if err != nil {
			return nil, problem.New(problem.InvalidArgument, "the arguments of the call cannot be read: %v", err)
		}
		out.Context.Arguments = given
	}
	if c.Type == manifest.TypeJSON {
		doc, err := d.JSON(c.Body)
		if err != nil {
			return nil, problem.New(problem.InvalidArgument, "the answer cannot be a golden case: %v", err)
		}
		out.Input = json.RawMessage(doc)
		return out, nil
	}
	if out.Context.InputType = c.Type; !utf8.Valid(c.Body) {
		return nil, problem.New(problem.InvalidArgument, "the answer cannot be a golden case: its text is not UTF-8")
	}
	text := d.Text(string(c.Body))
	out.InputText = &text
	return out, nil
}

// Unread says why a gateway does not give the input of the case to a plugin; "": it does.
func (c *Case) Unread(p *guest.Package) string {
	g := c.Context.Guest()
	is, part := g.InputType, g.Part
	reads, said := p.Manifest.ReadsErrors()
	switch kind := p.Manifest.Kind; {
	case kind != manifest.Filter && kind != manifest.Projection:
		return fmt.Sprintf("it is of kind %s, which gets no answers", kind)
	case part == guest.PartError && said && !reads:
		return "it understands no errors: input.errors of its manifest is false"
	case part == guest.PartError && p.Errors:
	case p.NoAnswers:
		return "it does not export " + p.Entry()
	case part == guest.PartError && !reads && !p.Manifest.Redacts():
		return "it gets no errors: it does not redact, does not export " + guest.ErrorEntry + ", and its manifest does not say that it understands them (input.errors)"
	}
	if !p.Manifest.Reads(is) {
		return "it does not read " + is + ": input.types of its manifest does not name it"
	}
	return ""
}
