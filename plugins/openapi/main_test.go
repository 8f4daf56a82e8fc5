package openapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/plugins/operation"
)

// childReport is what a child process says about one specification.
type childReport struct {
	Error, Code       string
	Operations, Tools int
	Warnings          []string
	Seconds           float64
	PeakKB            int
}

// TestMain compiles one specification and reports on it when the environment
// says so: peak memory and crashes can only be judged from outside.
func TestMain(m *testing.M) {
	if file := os.Getenv("SLUICE_OPENAPI_ORACLE_FILE"); file != "" {
		if err := json.NewEncoder(os.Stdout).Encode(runOracle(file, os.Getenv("SLUICE_OPENAPI_ORACLE_MAIN"))); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	file := os.Getenv("SLUICE_OPENAPI_TEST_FILE")
	if file == "" {
		os.Exit(m.Run())
	}
	data, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	var r childReport
	res, err := Compile(context.Background(), Source{Name: filepath.Base(file), Data: data}, Options{
		Each: func(*operation.Operation) error { return nil }, Limits: Limits{Timeout: childTimeout},
	})
	if err != nil {
		r.Error, r.Code = err.Error(), Code(err)
	} else {
		r.Operations, r.Tools = res.Operations, res.Tools
		for _, w := range res.Warnings {
			r.Warnings = append(r.Warnings, w.Code)
		}
	}
	r.PeakKB = peakKB()
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		panic(err)
	}
	os.Exit(0)
}

// peakKB is the highest resident set of this process; 0 where the system does
// not tell.
func peakKB() int {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	sc := bufio.NewScanner(bytes.NewReader(data))
	for sc.Scan() {
		if rest, ok := strings.CutPrefix(sc.Text(), "VmHWM:"); ok {
			n, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
			return n
		}
	}
	return 0
}

// compileInChild compiles a file in a process of its own.
func compileInChild(t testing.TB, file string) childReport {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), "SLUICE_OPENAPI_TEST_FILE="+file)
	out, err := cmd.Output()
	if err != nil {
		var stderr string
		if ee, ok := err.(*exec.ExitError); ok {
			stderr = string(ee.Stderr[:min(len(ee.Stderr), 2000)])
		}
		t.Fatalf("%s ends the process: %v\n%s", file, err, stderr)
	}
	var r childReport
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%s: %v: %s", file, err, out)
	}
	// Processor time: by the clock, a busy machine would fail the test.
	r.Seconds = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	return r
}

// maxHostileKB is what one hostile document may cost (with a Go runtime in it).
const maxHostileKB = raceFactor * 512 << 10

func checkCost(t testing.TB, name string, r childReport) {
	t.Helper()
	if r.PeakKB > maxHostileKB {
		t.Errorf("%s: peak of %d KB", name, r.PeakKB)
	}
	if r.Seconds > childTimeout.Seconds()+1 {
		t.Errorf("%s: %.1f s", name, r.Seconds)
	}
}

func TestPeakMemoryOfGitHubSpec(t *testing.T) {
	file := filepath.Join(t.TempDir(), "github.json")
	if err := os.WriteFile(file, githubSpec(t), 0o600); err != nil {
		t.Fatal(err)
	}
	r := compileInChild(t, file)
	t.Logf("%d tools, %.2f s, peak %d KB", r.Tools, r.Seconds, r.PeakKB)
	if r.Error != "" || r.Tools < 1100 || r.PeakKB > raceFactor*150<<10 {
		t.Errorf("%s: %d tools, peak of %d KB, want at most 150 MB", r.Error, r.Tools, r.PeakKB)
	}
	if r.PeakKB == 0 {
		t.Log("this system does not tell the peak of a process")
	}
}
