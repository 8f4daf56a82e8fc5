package openapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
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
		code := m.Run()
		if childDir != "" {
			_ = os.RemoveAll(childDir)
		}
		os.Exit(code)
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

// childTimeout is the limit of a compilation in a child process: others may use the
// machine. checkCost judges its processor time.
const childTimeout = 12 * DefaultTimeout

// childDir holds the program of the children under the race detector.
var childDir string

// childBinary is the program of the children: this one, without the race detector, under
// which neither time nor memory says anything.
var childBinary = sync.OnceValues(func() (string, error) {
	if !raceEnabled {
		return os.Args[0], nil
	}
	var err error
	if childDir, err = os.MkdirTemp("", "sluice-openapi-"); err != nil {
		return "", err
	}
	path := filepath.Join(childDir, "openapi.test")
	build := exec.Command("go", "test", "-c", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // compiled already: only the race detector needs cgo
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go test -c: %w: %s", err, out)
	}
	return path, nil
})

// compileInChild compiles a file in a process of its own.
func compileInChild(t testing.TB, file string) childReport {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	binary, err := childBinary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, binary)
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
const maxHostileKB = 512 << 10

func checkCost(t testing.TB, name string, r childReport) {
	t.Helper()
	if r.PeakKB > maxHostileKB {
		t.Errorf("%s: peak of %d KB", name, r.PeakKB)
	}
	if r.Seconds > DefaultTimeout.Seconds()+1 {
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
	if r.Error != "" || r.Tools < 1100 || r.PeakKB > 150<<10 {
		t.Errorf("%s: %d tools, peak of %d KB, want at most 150 MB", r.Error, r.Tools, r.PeakKB)
	}
	if r.PeakKB == 0 {
		t.Log("this system does not tell the peak of a process")
	}
}
