package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/internal/typescript"
)

const (
	flowSteps = 8
	flowTakes = 200 * time.Millisecond
	flowSpec  = `{"openapi":"3.0.3","info":{"title":"Steps","version":"1"},"servers":[{"url":%q}],"paths":{"/step":{"get":{"operationId":"step","parameters":[` +
		`{"name":"ms","in":"query","schema":{"type":"integer"}},{"name":"after","in":"query","schema":{"type":"string"}}],"responses":{"200":{"description":"OK"}}}}}}`
)

// flowRig is the binary before an API whose calls take as long as they say.
type flowRig struct {
	n       *node
	slug    string
	slowest atomic.Int64 // nanoseconds of a call at the API, since it was reset
	close   func()
}

func (b *bench) flowRig() (*flowRig, error) {
	dir, err := os.MkdirTemp("", "sluice-bench-")
	if err != nil {
		return nil, err
	}
	r := &flowRig{}
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		begin := time.Now()
		ms, _ := strconv.Atoi(q.URL.Query().Get("ms"))
		select {
		case <-time.After(time.Duration(ms) * time.Millisecond):
		case <-q.Context().Done():
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"id":"x7"}`))
		for took := time.Since(begin).Nanoseconds(); ; {
			if was := r.slowest.Load(); took <= was || r.slowest.CompareAndSwap(was, took) {
				return
			}
		}
	}))
	r.close = func() { up.Close(); _ = os.RemoveAll(dir) }
	spec := filepath.Join(dir, "steps.json")
	if err := os.WriteFile(spec, fmt.Appendf(nil, flowSpec, up.URL), 0o600); err != nil {
		r.close()
		return nil, err
	}
	if r.n, err = b.node(filepath.Join(dir, "data"), spec); err != nil {
		r.close()
		return nil, err
	}
	r.close = func() { r.n.Close(); up.Close(); _ = os.RemoveAll(dir) }
	return r, nil
}

// deploy changes the toolset and makes it live.
func (r *flowRig) deploy(ctx context.Context, patch map[string]any) error {
	if err := r.n.api(ctx, http.MethodPatch, "/v1/toolsets/"+r.slug, patch, nil); err != nil {
		return err
	}
	return r.n.api(ctx, http.MethodPost, "/v1/toolsets/"+r.slug+"/test", map[string]any{"tool": "step"}, nil)
}

// flowDocument has a workflow of eight steps that read, in waves: each step reads an output
// of the wave before.
func flowDocument(waves int) string {
	var d strings.Builder
	fmt.Fprintf(&d, "- workflowId: waves_%d\n  steps:\n", waves)
	for i := range flowSteps {
		after := ""
		if wave := i * waves / flowSteps; wave > 0 {
			before := 0
			for j := range i {
				if j*waves/flowSteps == wave-1 {
					before = j
				}
			}
			after = fmt.Sprintf(", {name: after, in: query, value: $steps.s%d.outputs.id}", before)
		}
		fmt.Fprintf(&d, "  - {stepId: s%d, operationId: step, parameters: [{name: ms, in: query, value: %d}%s], outputs: {id: $response.body#/id}}\n", i, flowTakes.Milliseconds(), after)
	}
	return d.String() + "  outputs: {id: $steps.s7.outputs.id}\n"
}

// benchWorkflow compares one call of a workflow of eight steps with eight calls of an agent
// that has a turn of its model before each. A turn of the model is a number that is added:
// everything else is measured on the binary.
func benchWorkflow(ctx context.Context, b *bench) error {
	r, err := b.flowRig()
	if err != nil {
		return err
	}
	defer r.close()
	var tools []string
	if r.slug, tools, err = r.n.safeTools(ctx); err != nil {
		return err
	}
	depths := []int{8, 4, 3, 1}
	var document strings.Builder
	document.WriteString("arazzo: 1.0.1\nworkflows:\n")
	for _, d := range depths {
		document.WriteString(flowDocument(d))
	}
	if err := r.n.api(ctx, http.MethodPost, "/v1/toolsets/"+r.slug+"/workflows", map[string]any{"document": document.String()}, nil); err != nil {
		return err
	}
	if err := r.deploy(ctx, map[string]any{"batch": true}); err != nil {
		return err
	}
	timed := func(calls int, tool, arguments string) (float64, error) {
		var took []float64
		for range b.count {
			begin := time.Now()
			for range calls {
				if err := r.n.call(ctx, r.slug, tool, arguments); err != nil {
					return 0, err
				}
			}
			took = append(took, time.Since(begin).Seconds())
		}
		return median(took), nil
	}
	agent, err := timed(flowSteps, tools[0], fmt.Sprintf(`{"ms":%d}`, flowTakes.Milliseconds()))
	if err != nil {
		return err
	}
	saved := func(turn, flow float64) float64 { return 100 * (1 - (turn+flow)/(flowSteps*turn+agent)) }
	for _, d := range depths {
		flow, err := timed(1, fmt.Sprintf("waves_%d", d), "{}")
		if err != nil {
			return err
		}
		curve := fmt.Sprintf("%d steps, %d in a row: %.0f ms against %.0f ms; saved with a turn of 0, 0.5, 2, 5 s: %.0f, %.0f, %.0f, %.0f %%; 8 calls seen by the agent become 1",
			flowSteps, d, 1e3*flow, 1e3*agent, saved(0, flow), saved(0.5, flow), saved(2, flow), saved(5, flow))
		b.logf("%s", curve)
		switch d {
		case flowSteps: // the worst case
			b.report("workflow.8.l2.saved", saved(2, flow), curve)
		case flowSteps / 2:
			b.report("workflow.8.l0.saved", saved(0, flow), curve)
		}
	}
	return nil
}

// benchCode times scripts of code mode on the binary.
func benchCode(ctx context.Context, b *bench) error {
	r, err := b.flowRig()
	if err != nil {
		return err
	}
	defer r.close()
	if r.slug, _, err = r.n.safeTools(ctx); err != nil {
		return err
	}
	script := func(atOnce int) (took, beyond float64, err error) {
		if err := r.deploy(ctx, map[string]any{"selection": "code", "scriptLimits": map[string]any{"atOnce": atOnce}}); err != nil {
			return 0, 0, err
		}
		group := strings.ReplaceAll(r.slug, "-", "_")
		code, _ := json.Marshal(map[string]string{"code": fmt.Sprintf("return (await Promise.all(Array.from({length: 20}, () => tools.%s.step({ms: 50})))).length", group)})
		var all, more []float64
		for i := range b.count + 1 {
			r.slowest.Store(0)
			begin := time.Now()
			if err := r.n.call(ctx, r.slug, "run_code", string(code)); err != nil {
				return 0, 0, err
			}
			if d := time.Since(begin); i > 0 { // the first compiles the engine's module
				all, more = append(all, float64(d.Microseconds())/1e3), append(more, float64((d-time.Duration(r.slowest.Load())).Microseconds())/1e3)
			}
		}
		return median(all), median(more), nil
	}
	took, _, err := script(8)
	if err != nil {
		return err
	}
	b.report("code.20x50.ms", took, "8 at once, the default, from the request until its answer")
	_, beyond, err := script(20)
	if err != nil {
		return err
	}
	b.report("code.parallel20.beyond_ms", beyond, "20 calls of 50 ms, 20 at once, from the request until its answer, less the slowest call at the API")
	return nil
}

// benchScriptEngine times the engine of scripts by itself.
func benchScriptEngine(ctx context.Context, b *bench) error {
	res, err := b.goBench(ctx, "./plugins/script", "BenchmarkRun/nop|BenchmarkMetering|BenchmarkWarmStart", "")
	if err != nil {
		return err
	}
	nop, err := res.median("BenchmarkRun/nop", "ns/op")
	if err != nil {
		return err
	}
	b.report("code.nop.ms", nop/1e6, "the engine, an instance of the pool")
	var metering [3]float64
	for i, unit := range []string{"ratio", "cpu-ns/metered", "cpu-ns/plain"} {
		if metering[i], err = res.median("BenchmarkMetering", unit); err != nil {
			return err
		}
	}
	b.report("code.metering.vs_plain", metering[0], fmt.Sprintf("%.2f over %.2f ms of processor time, by turns", metering[1]/1e6, metering[2]/1e6))
	warm, err := res.median("BenchmarkWarmStart", "ns/op")
	if err != nil {
		return err
	}
	b.report("code.warm_start.ms", warm/1e6, "an engine whose module was compiled before, until it is ready")
	return nil
}

// benchSignatures counts what the definitions of the demo API cost as TypeScript, and as
// the JSON Schema of tools/list.
func benchSignatures(ctx context.Context, b *bench) error {
	n, slug, tools, err := b.demoNode(ctx)
	if err != nil {
		return err
	}
	defer n.Close()
	measure := func() (ratio float64, note string, err error) {
		var listed struct {
			Tools []struct {
				Name, Description         string
				InputSchema, OutputSchema json.RawMessage
			}
		}
		var raw struct{ Tools json.RawMessage }
		if err := n.mcp(ctx, slug, "tools/list", "", "", &raw); err != nil {
			return 0, "", err
		}
		if err := json.Unmarshal(raw.Tools, &listed.Tools); err != nil {
			return 0, "", err
		}
		var functions []typescript.Function
		for _, t := range listed.Tools {
			functions = append(functions, typescript.Function{
				Path: "tools." + slug + "." + t.Name, Text: snapshot.FirstSentence(t.Description) + " [reads]", Input: t.InputSchema, Output: t.OutputSchema, Skip: "fields",
			})
		}
		short, long := tokens.Count(typescript.Append(nil, functions)), tokens.Count(raw.Tools)
		return float64(short) / float64(long), fmt.Sprintf("%d over %d tokens of o200k_base, %d tools", short, long, len(listed.Tools)), nil
	}
	value, note, err := measure()
	if err != nil {
		return err
	}
	b.report("code.typescript.vs_schema", value, note)
	if err := n.api(ctx, http.MethodPatch, "/v1/toolsets/"+slug, map[string]any{"answers": map[string]any{"structured": true}}, nil); err != nil {
		return err
	}
	if err := n.api(ctx, http.MethodPost, "/v1/toolsets/"+slug+"/test", map[string]any{"tool": tools[0]}, nil); err != nil {
		return err
	}
	if value, note, err = measure(); err != nil {
		return err
	}
	b.report("code.typescript.results.vs_schema", value, note)
	return nil
}
