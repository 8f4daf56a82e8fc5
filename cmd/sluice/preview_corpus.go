package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/openapi"
)

// answer is one line of a corpus' responses.tsv.
type answer struct {
	ID        string `json:"id"`
	Vendor    string `json:"vendor"`
	Spec      string `json:"spec"` // id of its specification
	Kind      string `json:"kind"` // recorded, fixture or example
	Operation string `json:"operation"`

	method, path, operationID string
	overlap                   string
	status                    int // 0: not known
}

// answered is an answer with what became of it.
type answered struct {
	answer
	Tokens      previewTokens `json:"tokens"`
	RoundTrip   bool          `json:"roundTrip"`
	Lost        []string      `json:"lost"`
	Essential   int           `json:"essential"`   // leaves that should survive
	Identifiers int           `json:"identifiers"` // leaves that must
	Seconds     float64       `json:"seconds"`
	Lossless    *string       `json:"lossless,omitempty"` // the texts, when asked for
	Concise     *string       `json:"concise,omitempty"`
	Drift       string        `json:"drift,omitempty"`
	Error       string        `json:"error,omitempty"`

	m *measured
}

// vendor sums up the answers of one API.
type vendor struct {
	Vendor      string        `json:"vendor"`
	Answers     int           `json:"answers"`
	Tokens      previewTokens `json:"tokens"`
	Essential   int           `json:"essential"`
	Lost        int           `json:"lost"`
	Identifiers int           `json:"identifiers"`
	LostIDs     int           `json:"lostIdentifiers"`
	NoRoundTrip int           `json:"noRoundTrip"`
	Errors      int           `json:"errors"`

	oneField int
}

func (v *vendor) add(a *answered) {
	v.Answers++
	if a.m == nil {
		v.Errors++
		return
	}
	t := &v.Tokens
	t.Pretty += a.Tokens.Pretty
	t.Minified += a.Tokens.Minified
	t.Lossless += a.Tokens.Lossless
	t.Concise += a.Tokens.Concise
	t.Structured += a.Tokens.Structured
	v.Essential += a.m.Essential
	v.Lost += a.m.LostEssential
	v.Identifiers += a.m.Identifiers
	v.LostIDs += a.m.LostIdentifiers
	v.oneField += a.m.oneField
	if !a.RoundTrip {
		v.NoRoundTrip++
	}
}

// previewCorpus takes all answers of a corpus through.
func (a *app) previewCorpus(ctx context.Context, p *previewer, f previewFlags) error {
	all, err := corpusAnswers(ctx, p, f)
	if err != nil {
		return err
	}
	var answers *asked
	if f.questions != "" {
		questions, err := readQuestions(f.questions)
		if err != nil {
			return err
		}
		if answers, err = askAll(questions, all); err != nil {
			return err
		}
		var b strings.Builder
		answers.print(&b)
		a.say("%s", strings.TrimSuffix(b.String(), "\n"))
	}
	if f.report != "" {
		if err := writeReport(f.report, all, answers); err != nil {
			return err
		}
	}
	if o := a.flags.output; o == "json" || o == "jsonl" || o == "yaml" || o == "name" {
		return list(a, all, nil, nil, func(r answered) string { return r.ID })
	}
	sums := sumUp(all)
	share := func(part, whole int) string {
		if whole == 0 {
			return ""
		}
		return fmt.Sprintf("−%.1f %%", 100-100*float64(part)/float64(whole))
	}
	return list(a, sums, nil, []column[vendor]{
		{header: "api", value: func(v vendor) string { return v.Vendor }},
		{header: "answers", value: func(v vendor) string { return thousands(v.Answers) }},
		{header: "pretty", value: func(v vendor) string { return thousands(v.Tokens.Pretty) }},
		{header: "minified", value: func(v vendor) string { return thousands(v.Tokens.Minified) }},
		{header: "lossless", value: func(v vendor) string { return thousands(v.Tokens.Lossless) }},
		{header: "saved", value: func(v vendor) string { return share(v.Tokens.Lossless, v.Tokens.Pretty) }},
		{header: "concise", value: func(v vendor) string { return thousands(v.Tokens.Concise) }},
		{header: "saved ", value: func(v vendor) string { return share(v.Tokens.Concise, v.Tokens.Pretty) }},
		{header: "of minified", value: func(v vendor) string { return share(v.Tokens.Concise, v.Tokens.Minified) }},
		{header: "kept", value: func(v vendor) string { return keptShare(v.Essential, v.Lost) }},
		{header: "ids lost", value: func(v vendor) string { return thousands(v.LostIDs) }},
	}, func(v vendor) string { return v.Vendor })
}

func keptShare(all, lost int) string {
	if all == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f %%", 100-100*float64(lost)/float64(all))
}

// sumUp makes a line for each API, one for recorded answers and one for all.
func sumUp(all []answered) []vendor {
	by := map[string]*vendor{}
	recorded, total := vendor{Vendor: "all recorded"}, vendor{Vendor: "all"}
	for i := range all {
		r := &all[i]
		v := by[r.Vendor]
		if v == nil {
			v = &vendor{Vendor: r.Vendor}
			by[r.Vendor] = v
		}
		v.add(r)
		total.add(r)
		if r.Kind == "recorded" {
			recorded.add(r)
		}
	}
	out := make([]vendor, 0, len(by)+2)
	for _, v := range by {
		out = append(out, *v)
	}
	slices.SortFunc(out, func(a, b vendor) int {
		return cmp.Or(cmp.Compare(b.Answers, a.Answers), cmp.Compare(a.Vendor, b.Vendor))
	})
	return append(out, recorded, total)
}

// corpusAnswers measures every answer, in the order of the list.
func corpusAnswers(ctx context.Context, p *previewer, f previewFlags) ([]answered, error) {
	rows, err := readTSV(filepath.Join(f.corpus, "responses.tsv"))
	if err != nil {
		return nil, err
	}
	specs, err := readTSV(filepath.Join(f.corpus, "specs.tsv"))
	if err != nil {
		return nil, err
	}
	main, vendors := map[string]string{}, map[string]string{}
	for _, s := range specs {
		main[s["id"]] = s["main_file"]
		vendors[s["id"]] = cmp.Or(s["vendor"], s["id"])
	}
	all := make([]answered, len(rows))
	work := map[string][]*answered{}
	for i, r := range rows {
		all[i].answer = answer{
			ID: r["id"], Vendor: cmp.Or(vendors[r["spec_id"]], r["spec_id"]), Spec: r["spec_id"], Kind: r["kind"], Operation: r["method"] + " " + r["path"],
			method: r["method"], path: r["path"], operationID: r["operationId"], overlap: r["schema_overlap"],
		}
		all[i].status, _ = strconv.Atoi(r["status"])
		all[i].Lost = []string{}
		work[r["spec_id"]] = append(work[r["spec_id"]], &all[i])
	}
	ids := make(chan string)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for id := range ids {
				p.measureAPI(ctx, f, id, main[id], work[id])
			}
		})
	}
	for id := range work {
		ids <- id
	}
	close(ids)
	wg.Wait()
	return all, ctx.Err()
}

// measureAPI measures the answers of one specification.
func (p *previewer) measureAPI(ctx context.Context, f previewFlags, id, file string, list []*answered) {
	api, err := corpusAPI(ctx, f.corpus, id, file)
	for _, r := range list {
		if err != nil {
			r.Error = err.Error()
			continue
		}
		if err := p.measureInto(api, f, r); err != nil {
			r.Error = err.Error()
		}
	}
}

func (p *previewer) measureInto(api *previewAPI, f previewFlags, r *answered) error {
	op, err := api.find(r.Operation)
	if err != nil && r.operationID != "" {
		op, err = api.find(r.operationID)
	}
	if err != nil {
		return err
	}
	body, err := os.ReadFile(filepath.Join(f.corpus, "responses", r.ID+".json"))
	if err != nil {
		return err
	}
	m, err := p.measure(api, op, body, wish{profile: f.profile, fields: f.fields, status: r.status})
	if err != nil {
		return err
	}
	r.m, r.Tokens, r.RoundTrip, r.Lost, r.Seconds = m, m.Tokens, m.RoundTrip, m.Lost, m.Seconds
	r.Essential, r.Identifiers, r.Drift = m.Essential, m.Identifiers, m.Drift
	if f.text {
		lossless, concise := string(m.lossless), string(m.concise)
		r.Lossless, r.Concise = &lossless, &concise
	}
	return nil
}

// corpusAPI compiles a specification with the files beside it.
func corpusAPI(ctx context.Context, dir, id, file string) (*previewAPI, error) {
	root := filepath.Join(dir, "specs", id)
	path := filepath.Join(dir, "specs", filepath.FromSlash(file))
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the specification %s: %w", id, err)
	}
	src := openapi.Source{Name: filepath.Base(path), Data: data, Files: map[string][]byte{}}
	if src.Path, err = filepath.Rel(root, path); err != nil {
		return nil, fmt.Errorf("reading the specification %s: %w", id, err)
	}
	files, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("reading the files of %s: %w", id, err)
	}
	defer files.Close()
	err = fs.WalkDir(files.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		src.Files[name], err = fs.ReadFile(files.FS(), name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the files of %s: %w", id, err)
	}
	return compileForPreview(ctx, src)
}

// readTSV reads a table whose first line names the columns.
func readTSV(name string) ([]map[string]string, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, problem.New(problem.NotFound, "the corpus has no %s", filepath.Base(name)).
			Fix("name a directory with specs.tsv, specs, responses.tsv and responses").Because(err)
	}
	defer f.Close()
	const longest = 1 << 20
	r := &lineReader{r: bufio.NewReader(f), most: longest}
	var head []string
	var rows []map[string]string
	for {
		line, err := r.next()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		cells := strings.Split(string(bytes.TrimRight(line, "\r")), "\t")
		if head == nil {
			head = cells
			continue
		}
		row := map[string]string{}
		for i, c := range cells {
			if i < len(head) {
				row[head[i]] = c
			}
		}
		rows = append(rows, row)
	}
}
