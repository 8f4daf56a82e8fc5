package previewcmd

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/cmd/internal/answers"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/specification"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/plugins/enginepool"
	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/registry"
)

// previewer has the commands that show answers without a node.
type previewer struct{ *command.Session }

// Commands are preview, decode, projection and eval.
func Commands(s *command.Session) []*cobra.Command {
	a := previewer{s}
	return []*cobra.Command{a.previewCommand(), a.decodeCommand(), a.projectionCommand(), a.evalCommand()}
}

// previewFlags are the flags of "sluice preview".
type previewFlags struct {
	spec, operation, response string
	profile, fields           string
	corpus, report            string
	questions                 string
	text                      bool
}

func (a previewer) previewCommand() *cobra.Command {
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
		Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			// The global flag of that name chooses columns; here it is the caller's wish.
			f.fields, a.Fields = strings.Join(a.Fields, ","), nil
			if !slices.Contains([]string{registry.ProfileOff, registry.ProfileLossless, registry.ProfileConcise}, f.profile) {
				return exit.Usagef("--profile %s is not a profile; there are: off, lossless, concise", f.profile)
			}
			h, err := enginepool.New(cmd.Context(), enginepool.Options{})
			if err != nil {
				return err
			}
			defer func() { _ = h.Close(context.WithoutCancel(cmd.Context())) }()
			p := &answers.Measurer{Host: h}
			if f.corpus != "" {
				return a.previewCorpus(cmd.Context(), p, f)
			}
			if f.spec == "" || f.operation == "" || f.response == "" {
				return exit.Usagef("--spec, --operation and --response are needed, or --corpus")
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
	command.MustComplete(cmd, "profile", []string{registry.ProfileOff, registry.ProfileLossless, registry.ProfileConcise})
	return cmd
}

// previewOne shows one answer.
func (a previewer) previewOne(ctx context.Context, p *answers.Measurer, f previewFlags) error {
	spec, err := specification.Read(ctx, a.Session, f.spec)
	if err != nil {
		return err
	}
	api, err := answers.Compile(ctx, openapi.Source{Name: spec.Name, Data: spec.Data, BaseURL: spec.URL})
	if err != nil {
		return err
	}
	op, err := api.Find(f.operation)
	if err != nil {
		return err
	}
	body, err := a.readAnswer(f.response)
	if err != nil {
		return err
	}
	m, err := p.Measure(api, op, body, answers.Wish{Profile: f.profile, Fields: f.fields})
	if err != nil {
		return inFile(err, nameOfFile(f.response))
	}
	result := m.Text(f.profile)
	if f.fields != "" {
		result = m.Concise
	}
	out := previewed{
		Operation: op.Method + " " + op.Path, OperationID: op.ID, Profile: f.profile, Fields: f.fields,
		Tokens: m.Tokens, RoundTrip: m.RoundTrip, Lost: m.Lost, Dropped: m.Dropped, Seconds: m.Seconds, Drift: m.Drift,
		Bytes: previewBytes{Received: len(body), Pretty: len(m.Pretty), Minified: len(m.Minified), Result: len(result)},
		Text:  string(result),
	}
	out.Result = tokens.Count(result)
	return a.Object(out, func(w io.Writer) { out.print(w) })
}

// previewCorpus takes all answers of a corpus through.
func (a previewer) previewCorpus(ctx context.Context, p *answers.Measurer, f previewFlags) error {
	all, err := p.Corpus(ctx, answers.Options{Dir: f.corpus, Profile: f.profile, Fields: f.fields, Texts: f.text})
	if err != nil {
		return err
	}
	var asked *answers.Asked
	if f.questions != "" {
		questions, err := answers.ReadQuestions(f.questions)
		if err != nil {
			return err
		}
		if asked, err = answers.Ask(questions, all); err != nil {
			return err
		}
		var b strings.Builder
		printAsked(&b, asked)
		a.Say("%s", strings.TrimSuffix(b.String(), "\n"))
	}
	if f.report != "" {
		if err := answers.WriteReport(f.report, all, asked); err != nil {
			return err
		}
	}
	if o := a.Format; o == "json" || o == "jsonl" || o == "yaml" || o == "name" {
		return terminal.List(&a.Terminal, all, nil, nil, func(r answers.Answer) string { return r.ID })
	}
	share := func(part, whole int) string {
		if whole == 0 {
			return ""
		}
		return fmt.Sprintf("−%.1f %%", 100-100*float64(part)/float64(whole))
	}
	number := func(header string, f func(answers.Sum) int) terminal.Column[answers.Sum] {
		return terminal.Column[answers.Sum]{Header: header, Value: func(v answers.Sum) string { return terminal.Thousands(f(v)) }}
	}
	return terminal.List(&a.Terminal, answers.SumUp(all), nil, []terminal.Column[answers.Sum]{
		{Header: "api", Value: func(v answers.Sum) string { return v.Vendor }},
		number("answers", func(v answers.Sum) int { return v.Answers }),
		number("pretty", func(v answers.Sum) int { return v.Tokens.Pretty }),
		number("minified", func(v answers.Sum) int { return v.Tokens.Minified }),
		number("lossless", func(v answers.Sum) int { return v.Tokens.Lossless }),
		{Header: "saved", Value: func(v answers.Sum) string { return share(v.Tokens.Lossless, v.Tokens.Pretty) }},
		number("concise", func(v answers.Sum) int { return v.Tokens.Concise }),
		{Header: "saved ", Value: func(v answers.Sum) string { return share(v.Tokens.Concise, v.Tokens.Pretty) }},
		{Header: "of minified", Value: func(v answers.Sum) string { return share(v.Tokens.Concise, v.Tokens.Minified) }},
		{Header: "kept", Value: func(v answers.Sum) string { return answers.KeptShare(v.Essential, v.Lost) }},
		number("ids lost", func(v answers.Sum) int { return v.LostIDs }),
	}, func(v answers.Sum) string { return v.Vendor })
}

// printAsked writes the result in a line, and each question that is lost.
func printAsked(w io.Writer, q *answers.Asked) {
	for _, l := range q.Lost {
		fmt.Fprintf(w, "lost: %s [%s] %s %s\n", terminal.Printable(l.ID), terminal.Printable(l.Class), terminal.Printable(l.Question), terminal.Printable(l.Pointers[0]))
	}
	fmt.Fprintf(w, "%d of %d questions can be answered (%.1f %%)", q.Total.Answered, q.Total.All, q.Total.Share())
	for i, c := range slices.Sorted(maps.Keys(q.Classes)) {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		fmt.Fprintf(w, "%s%s %d of %d", sep, terminal.Printable(c), q.Classes[c].Answered, q.Classes[c].All)
	}
	fmt.Fprintln(w)
}

// previewed is the result of "sluice preview" for one answer.
type previewed struct {
	Operation   string            `json:"operation"`
	OperationID string            `json:"operationId,omitempty"`
	Profile     string            `json:"profile"`
	Fields      string            `json:"fields,omitempty"`
	Tokens      answers.Tokens    `json:"tokens"`
	Result      int               `json:"resultTokens"`
	Bytes       previewBytes      `json:"bytes"`
	RoundTrip   bool              `json:"roundTrip"`
	Lost        []string          `json:"lost"`
	Dropped     []answers.Dropped `json:"dropped"`
	Seconds     float64           `json:"seconds"`
	Drift       string            `json:"drift,omitempty"`
	Text        string            `json:"text"`
}

type previewBytes struct {
	Received int `json:"received"`
	Pretty   int `json:"pretty"`
	Minified int `json:"minified"`
	Result   int `json:"result"`
}

func (r *previewed) print(w io.Writer) {
	line := func(name string, tokens, bytes int) {
		fmt.Fprintf(w, "%-10s %9s tokens %11s  %s\n", name, terminal.Thousands(tokens), terminal.ByteSize(bytes), terminal.Saving(r.Tokens.Pretty, tokens))
	}
	fmt.Fprintf(w, "%s\n\n", terminal.Printable(r.Operation))
	line("pretty", r.Tokens.Pretty, r.Bytes.Pretty)
	line("minified", r.Tokens.Minified, r.Bytes.Minified)
	line(r.Profile, r.Result, r.Bytes.Result)
	if r.Profile == registry.ProfileConcise && len(r.Dropped) > 0 {
		fmt.Fprintf(w, "\nLeft out:\n")
		for _, d := range r.Dropped {
			fmt.Fprintf(w, "  %-32s %7s×  %s\n", terminal.Printable(d.Path), terminal.Thousands(d.Count), d.Why)
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
		b.WriteString(terminal.Printable(cell))
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
