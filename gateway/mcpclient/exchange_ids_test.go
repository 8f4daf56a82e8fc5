package mcpclient

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
)

// answering is a server of 2025-11-25 without sessions that answers a call as answer does,
// which is given the id of the request as JSON.
func answering(t *testing.T, answer func(w http.ResponseWriter, id string)) string {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&in) // a notification has no id
		switch in.Method {
		case "initialize":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}`, in.ID)
		case "tools/call":
			answer(w, string(in.ID))
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	})
}

// TestAnswerIDs: an answer is that of the request whose number it repeats, whatever type it
// repeats it in, as the official clients take it.
func TestAnswerIDs(t *testing.T) {
	for form, ok := range map[string]bool{
		"%s": true, `"%s"`: true, "%s.0": true, "%s.00e0": true,
		"%s.5": false, "1%s": false, `"x%s"`: false, `{"a":%s}`: false, "[%s]": false, "-%s": false, "true": false, "null": false,
	} {
		url := answering(t, func(w http.ResponseWriter, id string) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, strings.Replace(form, "%s", id, 1))
		})
		to := target(t, url)
		to.Hint.Protocol = versionLegacy
		var x Exchange
		err := newClient(t, safedial.Options{AllowPrivate: true}).Call(&x, to, &Call{Tool: "x"})
		if ok != (err == nil) || !ok && (!problem.Is(err, problem.UpstreamMalformed) || !strings.Contains(err.Error(), "the id of another request")) {
			t.Errorf("id %s: %v", form, err)
		}
	}
}

// TestEmptyLines: what brings no data is counted, inside of an event too, to the limit and one
// byte past.
func TestEmptyLines(t *testing.T) {
	for name, text := range map[string]string{
		"comments": ": comment\n", "ids": "id: 7\n\n", "blank lines": "\n\n\n", "other fields": "datax: 1\n", "no field": "x\n",
	} {
		for over, want := range []error{nil, errFlood} {
			for _, begun := range []string{"", "data: 1\n"} {
				if begun != "" && strings.HasSuffix(text, "\n\n") {
					continue // the event ends there
				}
				var e eventReader
				e.reset(bufio.NewReader(strings.NewReader(begun+text+"data: 2\n\n")), 100)
				e.idle = maxNotified - len(text) + over
				if err := e.next(); !errors.Is(err, want) {
					t.Errorf("%s behind %q, %d past the limit: %v", name, begun, over, err)
				}
			}
		}
	}
}

// TestEmptyStream: such a stream ends the call with an error that says why.
func TestEmptyStream(t *testing.T) {
	body := bytes.Repeat([]byte(":"+strings.Repeat("x", 8190)+"\n"), maxNotified>>13+1)
	url := answering(t, func(w http.ResponseWriter, _ string) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(body) // the client goes
	})
	to := target(t, url)
	to.Hint.Protocol = versionLegacy
	var x Exchange
	err := newClient(t, safedial.Options{AllowPrivate: true}).Call(&x, to, &Call{Tool: "x"})
	if !problem.Is(err, problem.UpstreamTooLarge) || !strings.Contains(err.Error(), "16 MiB besides its answer") {
		t.Error(err)
	}
}
