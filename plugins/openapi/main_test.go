package openapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

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

// childTimeout is the limit of a compilation in a child process: others may use the
// machine. checkCost judges its processor time.
const childTimeout = 12 * DefaultTimeout
