//go:build !race

package extism

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	reference "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
)

// answers is an HTTP client that knows one page.
type answers struct{}

func (answers) Do(r *http.Request) (*http.Response, error) { return answers{}.RoundTrip(r) }

func (answers) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusNonAuthoritativeInfo, Header: http.Header{"Content-Type": {"text/plain"}, "X-Method": {r.Method}},
		Body: io.NopCloser(strings.NewReader("page " + r.URL.Path)), Request: r,
	}, nil
}

// hostFunctions are those that the reference's plugins import, for both hosts.
var hostFunctions = []struct {
	module, name string
	params       int
	call         func(in []byte, stack []uint64) []byte // a block in, a block out; nil: numbers only
}{
	{"", "mult", 2, nil},
	{"host", "to_upper", 1, func(in []byte, _ []uint64) []byte { return bytes.ToUpper(in) }},
	{"", "hostGreenMessage", 1, func(in []byte, _ []uint64) []byte { return append([]byte("green:"), in...) }},
	{"", "hostPurpleMessage", 1, func(in []byte, _ []uint64) []byte { return append([]byte("purple:"), in...) }},
}

func ourFunctions() (fs []Function, names []string) {
	for _, f := range hostFunctions {
		fs = append(fs, Function{Module: f.module, Name: f.name, Params: f.params, Results: 1, Call: func(c *Caller, stack []uint64) {
			if f.call == nil {
				stack[0] *= stack[1]
				return
			}
			out := f.call(bytes.Clone(c.Read(stack[0])), stack)
			c.Free(stack[0])
			stack[0] = c.Write(out)
		}})
		names = append(names, f.name)
	}
	return fs, names
}

func theirFunctions() (fs []reference.HostFunction) {
	for _, f := range hostFunctions {
		params := slices.Repeat([]reference.ValueType{reference.ValueTypeI64}, f.params)
		h := reference.NewHostFunctionWithStack(f.name, func(_ context.Context, p *reference.CurrentPlugin, stack []uint64) {
			if f.call == nil {
				stack[0] *= stack[1]
				return
			}
			in, err := p.ReadBytes(stack[0])
			if err != nil {
				panic(err)
			}
			if err := p.Free(stack[0]); err != nil {
				panic(err)
			}
			if stack[0], err = p.WriteBytes(f.call(in, stack)); err != nil {
				panic(err)
			}
		}, params, []reference.ValueType{reference.ValueTypeI64})
		if f.module != "" {
			h.SetNamespace(f.module)
		}
		fs = append(fs, h)
	}
	return fs
}

// offsets are where a block is, which differs between the two kernels.
var offsets = regexp.MustCompile(`offset: \d+`)

// outcome is what is compared: output, result and how it failed.
type outcome struct {
	out  string
	code uint32
	err  string
	logs string
}

// session runs the same calls in a row on one instance.
type session struct {
	plugin  string
	config  map[string]string
	hosts   []string
	calls   []string // EXPORT INPUT
	timeout time.Duration
}

func ours(t *testing.T, s session, interrupt bool) (got []outcome) {
	t.Helper()
	fs, names := ourFunctions()
	h := newHost(t, Options{Functions: fs, HTTP: answers{}, Interrupt: interrupt})
	var logs strings.Builder
	p, err := h.Load(Spec{
		Name: s.plugin, Code: theirPlugin(t, s.plugin), Config: s.config,
		Grants: Grants{Hosts: s.hosts, Functions: names},
		Limits: Limits{Memory: classes[1], Deadline: max(s.timeout, 10*time.Second)},
		Log:    func(level int, m string) { fmt.Fprintf(&logs, "%d %s\n", level, m) },
	})
	if err != nil {
		return []outcome{{err: "refused"}}
	}
	defer p.Close()
	i, err := p.Instance(t.Context())
	if err != nil {
		return []outcome{{err: err.Error()}}
	}
	defer i.Close(context.Background())
	for _, c := range s.calls {
		export, in, _ := strings.Cut(c, " ")
		logs.Reset()
		out, code, err := i.Call(t.Context(), nil, Call{Export: export, Input: []byte(in)})
		o := outcome{out: string(out), code: code, logs: offsets.ReplaceAllString(logs.String(), "")}
		if err != nil {
			o.err = "error: " + err.Error()
			var trap *TrapError
			switch {
			case errors.As(err, &trap):
				o.err = "trap"
			case errors.Is(err, ErrNoExport):
				o.err = "no such function"
			}
		}
		got = append(got, o)
	}
	return got
}

func theirs(t *testing.T, s session) (got []outcome) {
	t.Helper()
	ctx := t.Context()
	defer reference.SetLogLevel(reference.LogLevelOff)
	p, err := reference.NewPlugin(ctx, reference.Manifest{
		Wasm:   []reference.Wasm{reference.WasmData{Data: theirPlugin(t, s.plugin)}},
		Config: s.config, AllowedHosts: s.hosts,
	}, reference.PluginConfig{EnableWasi: true, EnableHttpResponseHeaders: true, RuntimeConfig: wazero.NewRuntimeConfigCompiler()}, theirFunctions())
	if err != nil {
		t.Log(err)
		return []outcome{{err: "refused"}}
	}
	defer p.Close(ctx)
	reference.SetLogLevel(reference.LogLevelOff)
	var logs strings.Builder
	p.SetLogger(func(l reference.LogLevel, m string) { fmt.Fprintf(&logs, "%d %s\n", l.ExtismCompat(), m) })
	for _, c := range s.calls {
		export, in, _ := strings.Cut(c, " ")
		reference.SetLogLevel(reference.LogLevelTrace)
		logs.Reset()
		code, out, err := p.Call(export, []byte(in))
		o := outcome{out: string(out), code: code}
		for l := range strings.Lines(logs.String()) { // without what the reference itself logs
			if !strings.Contains(l, "Calling ") && !strings.Contains(l, "nitializ") && !strings.Contains(l, "detected") {
				o.logs += offsets.ReplaceAllString(l, "")
			}
		}
		if err != nil {
			switch first, _, _ := strings.Cut(err.Error(), "\n"); {
			case strings.HasPrefix(first, "wasm error:"), strings.HasSuffix(first, "(recovered by wazero)"):
				o.err = "trap"
			case strings.HasPrefix(first, "module closed with exit_code("):
				o.err = "error: plugin exited with code " + strings.TrimSuffix(strings.TrimPrefix(first, "module closed with exit_code("), ")")
			case strings.HasPrefix(first, "unknown function: "), strings.Contains(first, " params, but passed 0"):
				o.err = "no such function"
			case first == "module closed with context canceled": // exit code -1 means that to wazero
				o.err = "error: plugin exited with code 4294967295"
			default:
				o.err = "error: " + err.Error()
			}
			if code != 0 && o.err == "trap" {
				o.code = 1
			}
		}
		got = append(got, o)
	}
	return got
}

// TestConformance runs the plugins of the reference's module on it and on this
// host, metered and interruptible: same outputs, results, errors and logs.
func TestConformance(t *testing.T) {
	http.DefaultClient = &http.Client{Transport: answers{}} // the reference's
	cases := []session{
		{plugin: "alloc.wasm", calls: []string{"run_test", "run_test"}},
		{plugin: "config.wasm", calls: []string{"run_test"}},
		{plugin: "config.wasm", config: map[string]string{"thing": "hello"}, calls: []string{"run_test", "run_test"}},
		{plugin: "count_vowels.wasm", calls: []string{"count_vowels hello world", "count_vowels", "count_vowels bbba aeiouAEIOU"}},
		{plugin: "count_vowels_std.wasm", calls: []string{"_start hello world"}},
		{plugin: "exit.wasm", config: map[string]string{"code": "500"}, calls: []string{"_start"}},
		{plugin: "exit.wasm", config: map[string]string{"code": "-1"}, calls: []string{"_start"}},
		{plugin: "exit.wasm", config: map[string]string{"code": "0"}, calls: []string{"_start"}},
		{plugin: "exit.wasm", config: map[string]string{"code": "abc"}, calls: []string{"_start"}},
		{plugin: "exit.wasm", calls: []string{"_start"}},
		{plugin: "fail.wasm", calls: []string{"run_test", "run_test"}},
		{plugin: "fs.wasm", calls: []string{"run_test"}},
		{plugin: "fs_std.wasm", calls: []string{"_start"}},
		{plugin: "hello.wasm", calls: []string{"run_test", "run_test"}},
		{plugin: "hello_haskell.wasm", config: map[string]string{"greeting": "Howdy"}, calls: []string{"testing John", "testing Jane"}},
		{plugin: "host.wasm", calls: []string{"run_test"}},
		{plugin: "host_memory.wasm", calls: []string{"run_test Frodo", "run_test Sam"}},
		{plugin: "host_multiple.wasm", calls: []string{"say_green John Doe", "say_purple Jane Doe"}},
		{plugin: "http.wasm", hosts: []string{"jsonplaceholder.typicode.com"}, calls: []string{"run_test"}},
		{plugin: "http.wasm", calls: []string{"run_test"}},
		{plugin: "http_headers.wasm", hosts: []string{"example.com"}, calls: []string{`http_get {"url":"https://example.com/x"}`}},
		{plugin: "input_offset.wasm", calls: []string{"input_offset_length hello world", "input_offset_length"}},
		{plugin: "lib.wasm", calls: []string{"capitalize hi"}},
		{plugin: "log.wasm", calls: []string{"run_test"}},
		{plugin: "nested.c.instr.wasm", calls: []string{"_start hello"}},
		{plugin: "noop.wasm", calls: []string{"_start", "run_test", "nothing"}},
		{plugin: "println.wasm", calls: []string{"run_test", "_start"}},
		{plugin: "read_write.wasm", config: map[string]string{"path": "/mnt/x"}, calls: []string{"try_read", "try_write hello"}},
		{plugin: "replace.wasm", config: map[string]string{"pattern": "a", "replacement": "b"}, calls: []string{"run_test banana", "run_test"}},
		{plugin: "sleep.wasm", config: map[string]string{"duration": "1"}, calls: []string{"run_test"}},
		{plugin: "std_command.wasm", calls: []string{"_start ben"}},
		{plugin: "var.wasm", calls: []string{"run_test", "run_test"}},
	}
	have, err := filepath.Glob(filepath.Join(referenceDir(), "wasm", "*.wasm"))
	if err != nil || len(have) == 0 {
		t.Fatalf("no plugins in %s: %v", referenceDir(), err)
	}
	for _, path := range have {
		name := filepath.Base(path)
		if name != "main.wasm" && !slices.ContainsFunc(cases, func(s session) bool { return s.plugin == name }) {
			t.Errorf("%s is not compared", name) // main.wasm needs a second module, which this host does not link
		}
	}
	for n, s := range cases {
		t.Run(fmt.Sprintf("%s/%d", s.plugin, n), func(t *testing.T) {
			want := theirs(t, s)
			for _, interrupt := range []bool{false, true} {
				if interrupt && len(theirPlugin(t, s.plugin)) > 1<<20 {
					break // compiling takes a second, and the metered one was compared
				}
				if got := ours(t, s, interrupt); !slices.Equal(got, want) {
					t.Errorf("interrupt %v:\n got %+v\nwant %+v", interrupt, got, want)
				}
			}
			t.Logf("%+v", want)
		})
	}
}
