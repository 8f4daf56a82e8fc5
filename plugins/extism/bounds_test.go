package extism

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/sluicegate/sluice/internal/cdnloop"
)

// pages is an HTTP client whose pages have as many bytes as their path says.
type pages struct{}

func (pages) Do(r *http.Request) (*http.Response, error) {
	switch r.URL.Path {
	case "/down":
		return nil, errors.New("connection refused")
	case "/broken":
		body := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(io.ErrUnexpectedEOF))
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(body), Request: r}, nil
	}
	var n int
	if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(strings.Repeat("x", n))), Request: r}, nil
}

// inPlugin runs f as a function that a plugin calls, and returns how the call ended.
func inPlugin(t *testing.T, limits Limits, f func(i *Instance)) error {
	t.Helper()
	mult := Function{Name: "mult", Params: 2, Results: 1, Call: func(c *Caller, _ []uint64) { f(c.i) }}
	h := newHost(t, Options{HTTP: pages{}, Functions: []Function{mult}})
	p := load(t, h, Spec{
		Name: "bounds", Code: theirPlugin(t, "host.wasm"), Limits: limits,
		Grants: Grants{Hosts: []string{"pages.example"}, Functions: []string{"mult"}},
	})
	_, err := p.Call(t.Context(), nil, Call{Export: "run_test"})
	return err
}

// ended checks how a call ended: without a fault, or stopped for a reason.
func ended(t *testing.T, what string, err error, want string) {
	t.Helper()
	var trap *TrapError
	if want == "" && err != nil || want != "" && (!errors.As(err, &trap) || !strings.Contains(err.Error(), want)) {
		t.Errorf("%s: %v, want %q", what, err, want)
	}
}

func get(i *Instance, url string) string {
	stack := []uint64{i.write([]byte(`{"url":"` + url + `"}`)), 0}
	i.httpRequest(stack)
	return string(i.read("the answer", stack[0]))
}

// TestAnswerBound: an answer over the limit ends the call; a part of one could be read
// as the whole.
func TestAnswerBound(t *testing.T) {
	f := func(n int, want string) {
		t.Helper()
		got := -1
		err := inPlugin(t, Limits{HTTPResponse: 1000}, func(i *Instance) { got = len(get(i, fmt.Sprintf("https://pages.example/%d", n))) })
		ended(t, fmt.Sprint(n, " bytes"), err, want)
		if want == "" && got != n {
			t.Errorf("%d of %d bytes arrive", got, n)
		}
	}
	f(0, "")
	f(999, "")
	f(1000, "")
	f(1001, "more than 1000 bytes")
	f(5000, "more than 1000 bytes")
}

// TestNamesBound: names of settings and variables of 64 KB.
func TestNamesBound(t *testing.T) {
	for what, use := range map[string]func(i *Instance, name uint64){
		"a setting":          func(i *Instance, name uint64) { i.configGet([]uint64{name}) },
		"a variable":         func(i *Instance, name uint64) { i.varGet([]uint64{name}) },
		"a variable's value": func(i *Instance, name uint64) { i.varSet([]uint64{name, i.write([]byte("v"))}) },
	} {
		f := func(n int, want string) {
			t.Helper()
			ended(t, fmt.Sprint(what, " of ", n), inPlugin(t, Limits{}, func(i *Instance) { use(i, i.write([]byte(strings.Repeat("n", n)))) }), want)
		}
		f(maxName, "")
		f(maxName+1, "more than 65536")
	}
}

// TestRequestsBound: sixteen requests of one call, each described in 64 KB.
func TestRequestsBound(t *testing.T) {
	f := func(n int, want string) {
		t.Helper()
		err := inPlugin(t, Limits{}, func(i *Instance) {
			for range n {
				get(i, "https://pages.example/1")
			}
		})
		ended(t, fmt.Sprint(n, " requests"), err, want)
	}
	f(maxHTTPCalls, "")
	f(maxHTTPCalls+1, "more than 16 HTTP requests")
	g := func(bytes int, want string) {
		t.Helper()
		err := inPlugin(t, Limits{}, func(i *Instance) {
			request := `{"url":"https://pages.example/1"}`
			i.httpRequest([]uint64{i.write([]byte(request + strings.Repeat(" ", bytes-len(request)))), 0})
		})
		ended(t, fmt.Sprint("a request of ", bytes), err, want)
	}
	g(maxHTTPRequest, "")
	g(maxHTTPRequest+1, "more than 65536 bytes")
	h := func(url, want string) {
		t.Helper()
		ended(t, url, inPlugin(t, Limits{}, func(i *Instance) { get(i, url) }), want)
	}
	h("http://pages.example/1", "")
	h("https://other.example/1", "is not allowed")
	h("https://pages.example.other/1", "is not allowed")
	h("https://pages.example/down", "went wrong")
	h("https://pages.example/broken", "ended early")
	h("ftp://pages.example/1", "no usable URL")
	h("pages.example/1", "no usable URL")
}

// TestVariablesBound: a variable costs its name, its value and forty bytes, and gives
// all of that back when it is set anew or removed.
func TestVariablesBound(t *testing.T) {
	set := func(i *Instance, key string, n int) {
		i.varSet([]uint64{i.write([]byte(key)), i.write([]byte(strings.Repeat("v", n)))})
	}
	f := func(what, want string, do func(i *Instance)) {
		t.Helper()
		ended(t, what, inPlugin(t, Limits{Variables: 1000}, do), want)
	}
	full := 1000 - len("key") - 40
	f("all of it", "", func(i *Instance) { set(i, "key", full) })
	f("a byte more", "more than 1000 bytes", func(i *Instance) { set(i, "key", full+1) })
	f("two", "more than 1000 bytes", func(i *Instance) { set(i, "key", full-40); set(i, "k", 1) })
	f("two that fit", "", func(i *Instance) { set(i, "key", full-42); set(i, "k", 1) })
	f("set again", "", func(i *Instance) {
		for range 5 {
			set(i, "key", full)
			set(i, "key", 1)
			if i.varBytes != len("key")+1+40 {
				t.Errorf("%d bytes are counted of a variable of 44", i.varBytes)
			}
		}
		set(i, "key", full)
	})
	f("removed", "", func(i *Instance) {
		for range 5 {
			set(i, "key", full)
			i.varSet([]uint64{i.write([]byte("key")), 0})
			if i.varBytes != 0 || len(i.vars) != 0 {
				t.Errorf("%d bytes of %d variables are left of one that was removed", i.varBytes, len(i.vars))
			}
		}
		set(i, "other", full-2)
		i.varSet([]uint64{i.write([]byte("none")), 0})
		stack := []uint64{i.write([]byte("other"))}
		i.varGet(stack)
		if got := i.read("the value", stack[0]); len(got) != full-2 {
			t.Errorf("%d bytes of the value, want %d", len(got), full-2)
		}
	})
}

// waits is a host that never answers.
type waits struct{}

func (waits) Do(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestWaitBound: all requests of one call wait for so long together, and what is shown of a
// host is cut.
func TestWaitBound(t *testing.T) {
	f := func(waited time.Duration, by Doer, want string) {
		t.Helper()
		err := inPlugin(t, Limits{}, func(i *Instance) {
			i.p.spec.HTTP, i.waited = by, waited
			get(i, "https://pages.example/1")
		})
		ended(t, waited.String(), err, want)
	}
	f(maxHTTPWait-time.Second, pages{}, "")
	f(maxHTTPWait-10*time.Millisecond, waits{}, "the requests of one call may take "+maxHTTPWait.String())
	f(maxHTTPWait+time.Second, waits{}, "the requests of one call may take")
	for over := range 2 {
		host := strings.Repeat("x", maxShownHost+over)
		err := inPlugin(t, Limits{}, func(i *Instance) { get(i, "https://"+host+"/") })
		ended(t, "a long host", err, "'"+host[:maxShownHost]+"' is not allowed")
	}
}

// TestMaxError: what a plugin says is wrong is kept up to the bound.
func TestMaxError(t *testing.T) {
	for _, n := range []int{maxError, maxError + 1} {
		said := strings.Repeat("e", n)
		err := inPlugin(t, Limits{}, func(i *Instance) {
			i.heap.WriteUint64Le(i.stateAt+16, i.write([]byte(said))) // as error_set
		})
		var own *PluginError
		if !errors.As(err, &own) || own.Message != said[:maxError] {
			t.Errorf("an error of %d bytes: %v", n, err)
		}
	}
}

// TestHostMemoryBound: what the host hands over has to fit the plugin's exchange memory;
// what does not is never written over what is there. What is freed is free again.
func TestHostMemoryBound(t *testing.T) {
	block := make([]byte, 1<<20)
	ended(t, "more than all of it", inPlugin(t, Limits{}, func(i *Instance) {
		for range 1 << 10 {
			i.write(block)
		}
	}), "do not fit its memory")
	name := strings.Repeat("n", 64<<10)
	ended(t, "names of variables", inPlugin(t, Limits{Variables: 1 << 20}, func(i *Instance) {
		for range 1 << 10 {
			i.varSet([]uint64{i.write([]byte(name)), i.write([]byte("v"))})
		}
	}), "")
}

// TestBlocksAreFreed: what a plugin passes to the host and does not get back is freed, so
// that a call may pass more than its exchange memory holds.
func TestBlocksAreFreed(t *testing.T) {
	block := make([]byte, 64<<10)
	for what, pass := range map[string]func(i *Instance){
		"log lines":             func(i *Instance) { i.logLine([]uint64{2, i.write(block)}) },
		"names of variables":    func(i *Instance) { i.varGet([]uint64{i.write(block)}) },
		"values of variables":   func(i *Instance) { i.varSet([]uint64{i.write([]byte("k")), i.write(block)}) },
		"arguments of function": func(i *Instance) { (&Caller{i: i}).Free(i.write(block)) },
	} {
		ended(t, what, inPlugin(t, Limits{Variables: 1 << 20, Deadline: time.Minute}, func(i *Instance) {
			for range 1 << 8 { // 16 MB of 8
				pass(i)
			}
		}), "")
	}
}

// TestCallerAwaits: a function of the host waits outside of the plugin's time.
func TestCallerAwaits(t *testing.T) {
	waited := false
	ended(t, "waiting", inPlugin(t, Limits{}, func(i *Instance) {
		deadline := i.deadline
		(&Caller{i: i}).Await(func(ctx context.Context) { waited = ctx.Err() == nil })
		if !i.deadline.After(deadline) {
			t.Error("what it waited is taken from the plugin")
		}
	}), "")
	if !waited {
		t.Error("what was to be waited for did not run")
	}
}

// TestCallerSends: a function of the host sends for the plugin what it was asked to, to
// hosts of the plugin only.
func TestCallerSends(t *testing.T) {
	f := func(method, url, want string) {
		t.Helper()
		ended(t, url, inPlugin(t, Limits{}, func(i *Instance) {
			h := http.Header{http.CanonicalHeaderKey(cdnloop.Header): {"a", "b"}}
			answer, status := (&Caller{i: i}).Send(method, url, h, nil)
			if got := h.Values(cdnloop.Header); want == "" && (len(got) != 1 || got[0] != cdnloop.Own) {
				t.Errorf("a plugin sends %q: the request could go round without end", got)
			}
			if len(answer) != 7 || status != http.StatusOK {
				t.Errorf("%d bytes, status %d", len(answer), status)
			}
		}), want)
	}
	f("POST", "https://pages.example/7", "")
	f("", "https://pages.example/7", "")
	f("GET", "https://other.example/7", "is not allowed")
}
