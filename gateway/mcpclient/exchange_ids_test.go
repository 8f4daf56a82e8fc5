package mcpclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/gateway/upstream"
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

// TestEmptyLines: they are counted inside of an event too.
func TestEmptyLines(t *testing.T) {
	for over, want := range []error{nil, errFlood} {
		_, err := readAll(strings.NewReader("data: 1\n"+strings.Repeat(":\n", maxNotified/2+over)+"\n"), 10)
		if !errors.Is(err, want) {
			t.Errorf("%d past the limit: %v", over, err)
		}
	}
}

// TestEmptyStream: comments and events without data are counted as notifications are, to
// the limit and one byte past.
func TestEmptyStream(t *testing.T) {
	for name, unit := range map[string]string{"comments": ": comment\n", "ids": "id: 1234567\n\n", "blank lines": "\n", "other fields": "datax: 1\n"} {
		for over, fails := range []bool{false, true} {
			n := maxNotified / len(unit)
			rest := maxNotified - n*len(unit) + over
			body := append(bytes.Repeat([]byte(unit), n), strings.Repeat("\n", rest)...)
			url := answering(t, func(w http.ResponseWriter, id string) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = w.Write(body) // the client goes
				fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[]}}\n\n", id)
			})
			to := target(t, url)
			to.Hint.Protocol, to.MaxBody = versionLegacy, upstream.HardMaxBody
			var x Exchange
			err := newClient(t, safedial.Options{AllowPrivate: true}).Call(&x, to, &Call{Tool: "x"})
			if fails != problem.Is(err, problem.UpstreamTooLarge) || !fails && err != nil {
				t.Errorf("%s, %d past the limit: %v", name, over, err)
			}
		}
	}
}
