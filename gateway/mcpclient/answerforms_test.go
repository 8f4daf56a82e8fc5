package mcpclient

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
)

// TestAnswerForms: answers that readers of other languages take are taken, too.
func TestAnswerForms(t *testing.T) {
	packed := func(text string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = io.WriteString(w, text)
		_ = w.Close()
		return b.String()
	}
	for name, c := range map[string]struct {
		media, coding string
		body          string // ID is that of the request
		fault         string // "": it is a result
	}{
		"a byte order mark":        {"application/json", "", "\ufeff" + `{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}`, ""},
		"an error that is null":    {"application/json", "", `{"jsonrpc":"2.0","id":ID,"result":{"content":[]},"error":null}`, ""},
		"a result that is null":    {"application/json", "", `{"jsonrpc":"2.0","id":ID,"result":null,"error":{"code":-5,"message":"no"}}`, "no"},
		"both are null":            {"application/json", "", `{"jsonrpc":"2.0","id":ID,"result":null,"error":null}`, "not valid JSON-RPC"},
		"both are there":           {"application/json", "", `{"jsonrpc":"2.0","id":ID,"result":{},"error":{"code":-5,"message":"no"}}`, "not valid JSON-RPC"},
		"compressed":               {"application/json", "gzip", `{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}`, ""},
		"a compressed stream":      {"text/event-stream; charset=utf-8", "gzip", ": hi\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":[]}}\n\n", ""},
		"a compressed empty one":   {"text/event-stream", "gzip", ": hi\n\n", "without a result"},
		"a compressed stream, cut": {"text/event-stream", "gzip", "data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"conte", "without a result"},
		"compressed noise":         {"text/event-stream", "gzip", strings.Repeat(":"+strings.Repeat("x", 8190)+"\n", maxNotified>>13+1), "16 MiB besides its answer"},
	} {
		t.Run(name, func(t *testing.T) {
			url := answering(t, func(w http.ResponseWriter, id string) {
				body := strings.Replace(c.body, "ID", id, 1)
				w.Header().Set("Content-Type", c.media)
				if c.coding != "" {
					w.Header().Set("Content-Encoding", c.coding)
					body = packed(body)
				}
				_, _ = io.WriteString(w, body)
			})
			to := target(t, url)
			to.Hint.Protocol, to.MaxBody = versionLegacy, 32<<20
			var x Exchange
			err := newClient(t, safedial.Options{AllowPrivate: true}).Call(&x, to, &Call{Tool: "x"})
			switch {
			case err != nil && (c.fault == "" || !strings.Contains(err.Error(), c.fault)):
				t.Errorf("%v, want %q", err, c.fault)
			case err == nil && x.Fault() != nil && x.Fault().Message != c.fault:
				t.Errorf("%q, want %q", x.Fault().Message, c.fault)
			case err == nil && x.Fault() == nil && c.fault != "":
				t.Errorf("it is a result, want %q", c.fault)
			}
		})
	}
}

// TestHandshakeForms: revisions that are spoken, and capabilities that are null, as some languages
// write those that a server does not have.
func TestHandshakeForms(t *testing.T) {
	for version, spoken := range map[string]bool{"2024-10-07": true, "2024-11-05": true, "2025-11-25": true, "2024-10-08": false, "2099-01-01": false} {
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			var in struct {
				ID     json.RawMessage
				Method string
			}
			_ = json.NewDecoder(r.Body).Decode(&in)
			result := `{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`
			switch in.Method {
			case "initialize":
				result = `{"protocolVersion":"` + version + `","capabilities":{"tools":{},"prompts":null,"resources":null,"completions":null,"logging":null},"serverInfo":{"name":"x","version":"1"}}`
			case "tools/list":
			case "server/discover":
				w.WriteHeader(http.StatusBadRequest)
				return
			default:
				if in.Method != "notifications/initialized" {
					t.Errorf("it is asked for %s", in.Method)
				}
				w.WriteHeader(http.StatusAccepted)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, in.ID, result)
		})
		var x Exchange
		got, err := newClient(t, safedial.Options{AllowPrivate: true}).List(&x, target(t, url))
		if spoken != (err == nil) || !spoken && !problem.Is(err, problem.CannotConnectMCP) {
			t.Errorf("%s: %v", version, err)
		}
		if spoken && (got.Protocol != version || got.Completions || got.Reads || got.EmptyPrompts || got.Tasks || len(got.Unlisted) > 0) {
			t.Errorf("%s: %+v", version, got)
		}
	}
}

// TestServersThatOnlyKnowHandshakes: what some servers of the older revisions do when they are
// asked for a method that they do not know is no reason not to make their handshake.
func TestServersThatOnlyKnowHandshakes(t *testing.T) {
	for name, discover := range map[string]func(http.ResponseWriter, *http.Request){
		"refuses with 401": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
		"refuses with 403": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"breaks off":       func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"says nothing":     func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			url := handshaking(t, discover, http.StatusOK)
			to := target(t, url)
			to.Deadline = time.Now().Add(3 * time.Second)
			var x Exchange
			got, err := newClient(t, safedial.Options{AllowPrivate: true}).List(&x, to)
			if err != nil || got.Protocol != versionLegacy {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	unauthorized := func(challenge string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", challenge)
			w.WriteHeader(http.StatusUnauthorized)
		}
	}
	for name, c := range map[string]struct {
		discover  func(http.ResponseWriter, *http.Request)
		handshake int
	}{
		"a challenge is an answer":       {unauthorized(`Bearer realm="x"`), http.StatusOK},
		"the handshake is refused too":   {unauthorized(""), http.StatusUnauthorized},
		"the handshake is not known":     {unauthorized(""), http.StatusNotFound},
		"the handshake is not permitted": {unauthorized(""), http.StatusForbidden},
	} {
		var x Exchange
		_, err := newClient(t, safedial.Options{AllowPrivate: true}).List(&x, target(t, handshaking(t, c.discover, c.handshake)))
		if !problem.Is(err, problem.Unauthenticated) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestServerThatWakesUp: a server of 2026-07-28 that is late with its first answer is waited for.
func TestServerThatWakesUp(t *testing.T) {
	var asked atomic.Bool
	url := handshaking(t, func(w http.ResponseWriter, r *http.Request) {
		if !asked.Swap(true) {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}`, r.Header.Get("Test-Id"))
	}, http.StatusNotFound)
	to := target(t, url)
	to.Deadline = time.Now().Add(3 * time.Second)
	var x Exchange
	got, err := newClient(t, safedial.Options{AllowPrivate: true}).List(&x, to)
	if err != nil || got.Protocol != versionModern {
		t.Errorf("got %+v, %v", got, err)
	}
}

// handshaking serves a tool to clients that make the handshake of the older revisions, if
// that is answered with 200. What it answers to server/discover is given; the id of the request
// is in its header Test-Id.
func handshaking(t *testing.T, discover func(http.ResponseWriter, *http.Request), handshake int) string {
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&in)
		result := `{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`
		switch in.Method {
		case "server/discover":
			r.Header.Set("Test-Id", string(in.ID))
			discover(w, r)
			return
		case "initialize":
			if handshake != http.StatusOK {
				w.WriteHeader(handshake)
				return
			}
			result = `{"protocolVersion":"` + versionLegacy + `","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`
		case "tools/list":
		default:
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, in.ID, result)
	})
}

// TestWhatIsDeclared: what a server declares besides its lists is known of it: prompts of which it
// lists none, and that it may answer with tasks, which is not an extension that is not passed on.
func TestWhatIsDeclared(t *testing.T) {
	for _, lists := range []string{`"result":{"prompts":[]}`, `"error":{"code":-32601,"message":"no"}`, `"result":{"prompts":[{"name":"p"}]}`} {
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			var in struct {
				ID     json.RawMessage
				Method string
			}
			_ = json.NewDecoder(r.Body).Decode(&in)
			said := `"result":{"resultType":"complete","tools":[{"name":"a","inputSchema":{"type":"object"}}]}`
			switch in.Method {
			case "server/discover":
				said = `"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"prompts":{},"extensions":{"io.modelcontextprotocol/tasks":{},"io.example/ui":{}}}}`
			case "prompts/list":
				said = lists
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, in.ID, said)
		})
		var x Exchange
		got, err := newClient(t, safedial.Options{AllowPrivate: true}).List(&x, target(t, url))
		if err != nil {
			t.Fatalf("%s: %v", lists, err)
		}
		if empty := !strings.Contains(lists, "name"); got.EmptyPrompts != empty || !got.Tasks || !slices.Equal(got.Extensions, []string{"io.example/ui"}) {
			t.Errorf("%s: empty %t, tasks %t, extensions %q", lists, got.EmptyPrompts, got.Tasks, got.Extensions)
		}
	}
}
