//go:build linux && !race

package extism

import (
	"bytes"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/plugins/module"
)

const (
	idlePlugins = 1000
	idleBytes   = 100_000
)

// idlePlugin is the nth of the plugins: a filter in Rust, padded to its size.
func idlePlugin(b *testing.B, code []byte, n int) []byte {
	b.Helper()
	pad := bytes.Repeat([]byte(strconv.Itoa(n)+","), idleBytes)[:idleBytes-len(code)-16]
	out, err := module.AppendCustom(nil, code, "pad", pad)
	if err != nil {
		b.Fatal(err)
	}
	return out
}

// BenchmarkIdle1000 calls each of 1,000 plugins once, whose code is in the cache, and
// reports the resident memory of each when all are at rest. The cache is made by another
// process, as by the node before its restart.
func BenchmarkIdle1000(b *testing.B) {
	code, err := os.ReadFile("../../testdata/plugins/prune/prune.wasm")
	if err != nil {
		b.Fatal(err)
	}
	dir := os.Getenv("SLUICE_BENCH_WARM")
	warm := dir != ""
	if !warm {
		dir = b.TempDir()
		c := exec.Command(os.Args[0], "-test.run=^$", "-test.bench=^BenchmarkIdle1000$", "-test.benchtime=1x")
		c.Env = append(os.Environ(), "SLUICE_BENCH_WARM="+dir)
		if out, err := c.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
	for b.Loop() {
		h := newHost(b, Options{CacheDir: dir})
		before := resident(b)
		for n := range idlePlugins {
			p := load(b, h, Spec{Name: "idle", Code: idlePlugin(b, code, n), Limits: Limits{Deadline: time.Second}})
			if warm {
				if err := p.Compile(b.Context()); err != nil {
					b.Fatal(err)
				}
				p.Close()
				continue
			}
			if _, err := p.Call(b.Context(), nil, Call{Export: "transform_response", Input: []byte(`{"a":null}`)}); err != nil {
				b.Fatal(err)
			}
			p.Rest()
		}
		b.ReportMetric(float64(resident(b)-before)/1024/idlePlugins, "rss-KB/plugin")
	}
}

// resident is the memory that is resident when nothing is garbage.
func resident(b *testing.B) int {
	b.Helper()
	debug.FreeOSMemory()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		b.Fatal(err)
	}
	return kb * 1024
}
