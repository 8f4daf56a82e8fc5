package answers

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
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

// listing is one line of a corpus' responses.tsv.
type listing struct {
	ID        string `json:"id"`
	Vendor    string `json:"vendor"`
	Spec      string `json:"spec"` // id of its specification
	Kind      string `json:"kind"` // recorded, fixture or example
	Operation string `json:"operation"`

	method, path, operationID string
	overlap                   string
	status                    int // 0: not known
}

// An Answer is a line of the list with what became of the answer.
type Answer struct {
	listing
	Tokens      Tokens   `json:"tokens"`
	RoundTrip   bool     `json:"roundTrip"`
	Lost        []string `json:"lost"`
	Essential   int      `json:"essential"`   // leaves that should survive
	Identifiers int      `json:"identifiers"` // leaves that must
	Seconds     float64  `json:"seconds"`
	Lossless    *string  `json:"lossless,omitempty"` // the texts, when asked for
	Concise     *string  `json:"concise,omitempty"`
	Drift       string   `json:"drift,omitempty"`
	Error       string   `json:"error,omitempty"`

	m *Measured
}

// Sum sums up the answers of one API.
type Sum struct {
	Vendor      string `json:"vendor"`
	Answers     int    `json:"answers"`
	Tokens      Tokens `json:"tokens"`
	Essential   int    `json:"essential"`
	Lost        int    `json:"lost"`
	Identifiers int    `json:"identifiers"`
	LostIDs     int    `json:"lostIdentifiers"`
	NoRoundTrip int    `json:"noRoundTrip"`
	Errors      int    `json:"errors"`

	oneField int
}

func (v *Sum) add(a *Answer) {
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

// KeptShare writes the share of leaves that is not lost.
func KeptShare(all, lost int) string {
	if all == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f %%", 100-100*float64(lost)/float64(all))
}

// SumUp makes a line for each API, one for recorded answers and one for all.
func SumUp(all []Answer) []Sum {
	by := map[string]*Sum{}
	recorded, total := Sum{Vendor: "all recorded"}, Sum{Vendor: "all"}
	for i := range all {
		r := &all[i]
		v := by[r.Vendor]
		if v == nil {
			v = &Sum{Vendor: r.Vendor}
			by[r.Vendor] = v
		}
		v.add(r)
		total.add(r)
		if r.Kind == "recorded" {
			recorded.add(r)
		}
	}
	out := make([]Sum, 0, len(by)+2)
	for _, v := range by {
		out = append(out, *v)
	}
	slices.SortFunc(out, func(a, b Sum) int {
		return cmp.Or(cmp.Compare(b.Answers, a.Answers), cmp.Compare(a.Vendor, b.Vendor))
	})
	return append(out, recorded, total)
}

// Options say which answers are measured, and how.
type Options struct {
	Dir     string // specs.tsv, specs, responses.tsv and responses
	Profile string // of Fields
	Fields  string // a caller's; empty: none
	Texts   bool   // keep the texts in the results
}

// Corpus measures every answer of a corpus, in the order of its list.
func (p *Measurer) Corpus(ctx context.Context, o Options) ([]Answer, error) {
	rows, err := ReadTSV(filepath.Join(o.Dir, "responses.tsv"))
	if err != nil {
		return nil, err
	}
	specs, err := ReadTSV(filepath.Join(o.Dir, "specs.tsv"))
	if err != nil {
		return nil, err
	}
	main, vendors := map[string]string{}, map[string]string{}
	for _, s := range specs {
		main[s["id"]] = s["main_file"]
		vendors[s["id"]] = cmp.Or(s["vendor"], s["id"])
	}
	all := make([]Answer, len(rows))
	work := map[string][]*Answer{}
	for i, r := range rows {
		all[i].listing = listing{
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
				p.measureAPI(ctx, o, id, main[id], work[id])
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
func (p *Measurer) measureAPI(ctx context.Context, o Options, id, file string, list []*Answer) {
	api, err := corpusAPI(ctx, o.Dir, id, file)
	for _, r := range list {
		if err != nil {
			r.Error = err.Error()
			continue
		}
		if err := p.measureInto(api, o, r); err != nil {
			r.Error = err.Error()
		}
	}
}

func (p *Measurer) measureInto(api *API, o Options, r *Answer) error {
	op, err := api.Find(r.Operation)
	if err != nil && r.operationID != "" {
		op, err = api.Find(r.operationID)
	}
	if err != nil {
		return err
	}
	body, err := os.ReadFile(filepath.Join(o.Dir, "responses", r.ID+".json"))
	if err != nil {
		return err
	}
	m, err := p.Measure(api, op, body, Wish{Profile: o.Profile, Fields: o.Fields, Status: r.status})
	if err != nil {
		return err
	}
	r.m, r.Tokens, r.RoundTrip, r.Lost, r.Seconds = m, m.Tokens, m.RoundTrip, m.Lost, m.Seconds
	r.Essential, r.Identifiers, r.Drift = m.Essential, m.Identifiers, m.Drift
	if o.Texts {
		lossless, concise := string(m.Lossless), string(m.Concise)
		r.Lossless, r.Concise = &lossless, &concise
	}
	return nil
}

// corpusAPI compiles a specification with the files beside it.
func corpusAPI(ctx context.Context, dir, id, file string) (*API, error) {
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
	return Compile(ctx, src)
}

// ReadTSV reads a table of a corpus, whose first line names the columns.
func ReadTSV(name string) ([]map[string]string, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, problem.New(problem.NotFound, "the corpus has no %s", filepath.Base(name)).
			Fix("name a directory with specs.tsv, specs, responses.tsv and responses").Because(err)
	}
	defer f.Close()
	var head []string
	var rows []map[string]string
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		cells := strings.Split(line, "\t")
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
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return rows, nil
}
