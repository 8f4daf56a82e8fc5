package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/internal/nearest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/host"
	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/plugins/projection"
	"github.com/sluicegate/sluice/registry"
)

// previewFlags are the flags of "sluice preview".
type previewFlags struct {
	spec, operation, response string
	profile, fields           string
	corpus, report            string
	questions                 string
	text                      bool
}

func (a *app) previewCommand() *cobra.Command {
	var f previewFlags
	cmd := &cobra.Command{
		Use:   "preview --spec FILE --operation ID --response FILE",
		Short: "Show what an agent would read of an API's answer",
		Long: `Take an answer of an API through the response program that its specification gives,
as a node would, and show the result and what it costs: tokens (o200k_base) of the
answer pretty-printed, minified, and as the agent reads it. No node is needed.

--fields names the fields a caller asks for, as in items(id,name,owner.login).

With --corpus, a directory with specs.tsv, specs/, responses.tsv and responses/, all
answers in it are taken through, and the result is a line for each API; -o jsonl
prints an object for each answer.`,
		Example: "  sluice preview --spec petstore.yaml --operation listPets --response pets.json\n" +
			"  sluice preview --spec petstore.yaml --operation 'GET /pets' --response - --profile lossless < pets.json\n" +
			"  sluice preview --corpus answers/ -o jsonl",
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			// The global flag of that name chooses columns; here it is the caller's wish.
			f.fields, a.flags.fields = strings.Join(a.flags.fields, ","), nil
			if !slices.Contains([]string{registry.ProfileOff, registry.ProfileLossless, registry.ProfileConcise}, f.profile) {
				return usagef("--profile %s is not a profile; there are: off, lossless, concise", f.profile)
			}
			h, err := host.New(cmd.Context(), host.Options{})
			if err != nil {
				return err
			}
			defer func() { _ = h.Close(context.WithoutCancel(cmd.Context())) }()
			p := &previewer{host: h}
			if f.corpus != "" {
				return a.previewCorpus(cmd.Context(), p, f)
			}
			if f.spec == "" || f.operation == "" || f.response == "" {
				return usagef("--spec, --operation and --response are needed, or --corpus")
			}
			return a.previewOne(cmd.Context(), p, f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.spec, "spec", "", "specification: a file, a URL, or - for stdin")
	fl.StringVar(&f.operation, "operation", "", `operationId, or "METHOD /path"`)
	fl.StringVar(&f.response, "response", "", "file with the answer, - for stdin")
	fl.StringVar(&f.profile, "profile", registry.ProfileConcise, "off, lossless or concise")
	fl.StringVar(&f.corpus, "corpus", "", "directory of specifications and answers")
	fl.BoolVar(&f.text, "text", false, "with -o json or jsonl: the texts too")
	fl.StringVar(&f.questions, "questions", "", "with --corpus: a set of questions about its answers, an object with answer, class and pointers on each line")
	fl.StringVar(&f.report, "report", "", "with --corpus: write a report to this file")
	mustComplete(cmd, "profile", []string{registry.ProfileOff, registry.ProfileLossless, registry.ProfileConcise})
	return cmd
}

// previewAPI is a compiled specification.
type previewAPI struct {
	name  string
	ops   []*operation.Operation
	index projection.Index
}

func compileForPreview(ctx context.Context, src openapi.Source) (*previewAPI, error) {
	api := &previewAPI{name: src.Name}
	_, err := openapi.Compile(ctx, src, openapi.Options{
		// What is shown takes as long as it takes.
		Limits: openapi.Limits{Timeout: time.Minute},
		Each: func(op *operation.Operation) error {
			api.ops = append(api.ops, op)
			api.index.Add(op)
			return nil
		},
	})
	return api, err
}

// find looks an operation up by its id or by "METHOD /path".
func (p *previewAPI) find(name string) (*operation.Operation, error) {
	method, path, _ := strings.Cut(name, " ")
	for _, op := range p.ops {
		if op.ID != "" && op.ID == name || strings.EqualFold(op.Method, method) && op.Path == path {
			return op, nil
		}
	}
	names := make([]string, 0, 2*len(p.ops))
	for _, op := range p.ops {
		if op.Name == name {
			return op, nil
		}
		names = append(names, op.ID, op.Method+" "+op.Path)
	}
	e := problem.New(problem.NotFound, "%s has no operation %q", p.name, name)
	if best := nearest.Name(name, slices.Values(names)); best != "" {
		e.Remedy = "did you mean " + best + "?"
	}
	return nil, e
}

// previewOne shows one answer.
func (a *app) previewOne(ctx context.Context, p *previewer, f previewFlags) error {
	spec, err := a.openSpecification(f.spec)
	if err != nil {
		return err
	}
	if spec.url != "" {
		if err := a.fetchHere(ctx, &spec); err != nil {
			return err
		}
	}
	api, err := compileForPreview(ctx, openapi.Source{Name: spec.name, Data: spec.data, BaseURL: spec.url})
	if err != nil {
		return err
	}
	op, err := api.find(f.operation)
	if err != nil {
		return err
	}
	body, err := a.readAnswer(f.response)
	if err != nil {
		return err
	}
	m, err := p.measure(api, op, body, wish{profile: f.profile, fields: f.fields})
	if err != nil {
		return inFile(err, nameOfFile(f.response))
	}
	result := m.textOf(f.profile)
	if f.fields != "" {
		result = m.concise
	}
	out := previewed{
		Operation: op.Method + " " + op.Path, OperationID: op.ID, Profile: f.profile, Fields: f.fields,
		Tokens: m.Tokens, RoundTrip: m.RoundTrip, Lost: m.Lost, Dropped: m.Dropped, Seconds: m.Seconds, Drift: m.Drift,
		Bytes: previewBytes{Received: len(body), Pretty: len(m.pretty), Minified: len(m.minified), Result: len(result)},
		Text:  string(result),
	}
	out.Result = count(result)
	return a.object(out, func(w io.Writer) { out.print(w) })
}

// previewed is the result of "sluice preview" for one answer.
type previewed struct {
	Operation   string        `json:"operation"`
	OperationID string        `json:"operationId,omitempty"`
	Profile     string        `json:"profile"`
	Fields      string        `json:"fields,omitempty"`
	Tokens      previewTokens `json:"tokens"`
	Result      int           `json:"resultTokens"`
	Bytes       previewBytes  `json:"bytes"`
	RoundTrip   bool          `json:"roundTrip"`
	Lost        []string      `json:"lost"`
	Dropped     []dropped     `json:"dropped"`
	Seconds     float64       `json:"seconds"`
	Drift       string        `json:"drift,omitempty"`
	Text        string        `json:"text"`
}

type previewBytes struct {
	Received int `json:"received"`
	Pretty   int `json:"pretty"`
	Minified int `json:"minified"`
	Result   int `json:"result"`
}

func (r *previewed) print(w io.Writer) {
	line := func(name string, tokens, bytes int) {
		fmt.Fprintf(w, "%-10s %9s tokens %11s  %s\n", name, thousands(tokens), byteSize(bytes), saving(r.Tokens.Pretty, tokens))
	}
	fmt.Fprintf(w, "%s\n\n", printable(r.Operation))
	line("pretty", r.Tokens.Pretty, r.Bytes.Pretty)
	line("minified", r.Tokens.Minified, r.Bytes.Minified)
	line(r.Profile, r.Result, r.Bytes.Result)
	if r.Profile == registry.ProfileConcise && len(r.Dropped) > 0 {
		fmt.Fprintf(w, "\nLeft out:\n")
		for _, d := range r.Dropped {
			fmt.Fprintf(w, "  %-32s %7s×  %s\n", printable(d.Path), thousands(d.Count), d.Why)
		}
	}
	if r.Drift != "" {
		fmt.Fprintf(w, "\n! drift: %s\n", r.Drift)
	}
	fmt.Fprintln(w)
	for line := range strings.Lines(r.Text) {
		fmt.Fprint(w, visible(line))
	}
	fmt.Fprintln(w)
}

// visible is printable for text in which tabs and line ends mean something.
func visible(s string) string {
	var b strings.Builder
	for i, cell := range strings.Split(strings.TrimSuffix(s, "\n"), "\t") {
		if i > 0 {
			b.WriteByte('\t')
		}
		b.WriteString(printable(cell))
	}
	if strings.HasSuffix(s, "\n") {
		b.WriteByte('\n')
	}
	return b.String()
}

func inFile(err error, file string) error {
	if p := problem.As(err); p != nil && p.Place.File == "" {
		p.Place.File = file
	}
	return err
}

// pretty writes JSON as most APIs and tools show it: two spaces a level.
func pretty(doc []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, doc, "", "  ") != nil {
		return doc
	}
	return b.Bytes()
}
