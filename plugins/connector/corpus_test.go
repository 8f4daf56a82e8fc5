package connector_test

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/textfilter"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/plugins/operation"
)

// compileFile makes a connector of a specification and returns what the builder
// refused.
func compileFile(tb testing.TB, file string) (connector.Artifact, []error) {
	tb.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	api := new(operation.API)
	b := connector.NewBuilder(api)
	var refused []error
	// The files around it: the directory of the specification's name.
	top := filepath.Dir(file)
	for filepath.Base(filepath.Dir(top)) != "specs" && top != filepath.Dir(top) {
		top = filepath.Dir(top)
	}
	main, err := filepath.Rel(top, file)
	if err != nil {
		tb.Fatal(err)
	}
	res, err := openapi.Compile(tb.Context(), openapi.Source{Name: file, Data: data, Path: filepath.ToSlash(main)}, openapi.Options{
		Each: func(op *operation.Operation) error {
			if err := b.Add(op); err != nil {
				refused = append(refused, err)
			}
			return nil
		},
		Open: func(path string) ([]byte, error) {
			root, err := os.OpenRoot(top)
			if err != nil {
				return nil, err
			}
			defer root.Close()
			return root.ReadFile(filepath.FromSlash(path))
		},
	})
	if err != nil {
		return connector.Artifact{}, nil // the compiler's own tests judge it
	}
	*api = *res.API
	a, err := b.Finish()
	if err != nil {
		refused = append(refused, err)
	}
	return a, refused
}

// TestCorpus: whatever the compiler emits for real specifications becomes a
// connector, opens, and each of its tools is ready to serve. At most one tool in two
// hundred is taken for one that tells a model what to do.
func TestCorpus(t *testing.T) {
	dir := os.Getenv("SLUICE_CORPUS")
	if dir == "" {
		t.Skip("SLUICE_CORPUS is not set")
	}
	list, err := os.ReadFile(filepath.Join(dir, "specs.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	specs, tools, flagged := 0, 0, 0
	lines := bufio.NewScanner(bytes.NewReader(list))
	for lines.Scan() {
		cols := strings.Split(lines.Text(), "\t")
		if cols[0] == "id" || len(cols) < 3 {
			continue
		}
		a, refused := compileFile(t, filepath.Join(dir, "specs", cols[2]))
		for _, err := range refused {
			t.Errorf("%s: %v", cols[0], err)
		}
		if a.Module == nil {
			continue
		}
		c, err := connector.Open(a.Module)
		if err != nil {
			t.Errorf("%s: %v", cols[0], err)
			continue
		}
		specs++
		for i := range c.Len() {
			tool, err := c.Tool(i)
			if err != nil {
				t.Errorf("%s: %v", cols[0], err)
				continue
			}
			if tool.Program == nil || tool.Plan == nil {
				t.Errorf("%s: %s has no plan or program", cols[0], tool.Name)
			}
			tools++
			found := textfilter.Find(tool.Title + "\n" + tool.Description)
			if found = append(append(found, textfilter.FindJSON(tool.InputSchema)...), textfilter.FindJSON(tool.OutputSchema)...); len(textfilter.FindAcross(found, []string{tool.Title, tool.Description}, tool.InputSchema)) > 0 {
				found = textfilter.FindAcross(found, []string{tool.Title, tool.Description}, tool.InputSchema)
				flagged++
				t.Logf("%s: %s: %s: %s", cols[0], tool.Name, found[0].Kind, found[0].Quote)
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d of %d tools are flagged", flagged, tools)
	if flagged*200 > tools {
		t.Errorf("%d of %d tools are flagged, more than one in 200", flagged, tools)
	}
	if specs < 50 {
		t.Errorf("only %d specifications were read", specs)
	}
	t.Logf("%d specifications, %d tools", specs, tools)
}

// BenchmarkCorpus packs the largest specification.
func BenchmarkCorpus(b *testing.B) {
	dir := os.Getenv("SLUICE_CORPUS")
	if dir == "" {
		b.Skip("SLUICE_CORPUS is not set")
	}
	for b.Loop() {
		a, _ := compileFile(b, filepath.Join(dir, "specs", "github", "api.github.com.json"))
		b.ReportMetric(float64(len(a.Module)), "moduleB")
	}
}
