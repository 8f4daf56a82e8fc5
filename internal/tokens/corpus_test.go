package tokens

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The estimate holds on answers it was not fitted on (every second file of the
// corpus was), pretty-printed as recorded and minified.
func TestEstimateErrorOnCorpus(t *testing.T) {
	dir := os.Getenv("SLUICE_CORPUS")
	if dir == "" {
		t.Skip("SLUICE_CORPUS is not set: the recorded answers of public APIs are not part of the repository")
	}
	files, err := filepath.Glob(filepath.Join(dir, "responses", "*.json"))
	if err != nil || len(files) < 100 {
		t.Fatalf("found %d answers in %s, want at least 100 (%v)", len(files), dir, err)
	}
	for _, form := range []string{"as recorded", "minified"} {
		var errs []float64
		var est, want int
		for i, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if form == "minified" {
				var m bytes.Buffer
				if json.Compact(&m, b) != nil {
					continue
				}
				b = m.Bytes()
			}
			if i%2 == 0 || len(b) < 200 {
				continue
			}
			e, w := Estimate(b), Count(b)
			est, want = est+e, want+w
			errs = append(errs, math.Abs(float64(e-w))/float64(w))
			if testing.Verbose() && errs[len(errs)-1] > 0.12 {
				t.Logf("%s: estimate %d, exact %d", filepath.Base(f), e, w)
			}
		}
		slices.Sort(errs)
		median, p95 := errs[len(errs)/2], errs[len(errs)*95/100]
		total := math.Abs(float64(est-want)) / float64(want)
		t.Logf("%s: %d answers, error median %.1f %%, p95 %.1f %%, of the total %.1f %%", form, len(errs), 100*median, 100*p95, 100*total)
		if median > 0.05 || p95 > 0.12 || total > 0.05 {
			t.Errorf("%s: error median %.3f, p95 %.3f, total %.3f; want at most 0.05, 0.12, 0.05", form, median, p95, total)
		}
	}
}
