package mcpclient

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/sluicegate/sluice/internal/safedial"
)

// closing is a server whose streams have neither a length nor chunks: the end of the connection
// is theirs, as servers of HTTP/1.0 and some frameworks end them. A call gets its own argument.
func closing(t *testing.T) string {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			ID     json.RawMessage
			Method string
			Params struct{ Arguments json.RawMessage }
		}
		_ = json.NewDecoder(r.Body).Decode(&in) // a notification has no id
		result := `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`
		switch in.Method {
		case "initialize":
		case "tools/call":
			result = `{"content":[],"structuredContent":` + string(in.Params.Arguments) + `}`
		default:
			w.WriteHeader(http.StatusAccepted)
			return
		}
		conn, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		note := `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"` + strings.Repeat("x", 40<<10) + "\"}}\n\n"
		fmt.Fprintf(buf, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n%sdata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", note, in.ID, result)
		_ = buf.Flush() // else the client has gone
	})
}

// TestStreamsWithoutLength: a call gets its own answer, however many run, though the reader of
// such a stream belongs to other connections afterwards.
func TestStreamsWithoutLength(t *testing.T) {
	c, url := newClient(t, safedial.Options{AllowPrivate: true}), closing(t)
	var work sync.WaitGroup
	for caller := range 8 {
		work.Go(func() {
			var x Exchange
			for n := range 20 {
				to, want := target(t, url), fmt.Sprintf(`{"caller":%d,"call":%d}`, caller, n)
				to.Hint.Protocol = versionLegacy
				x.Reset()
				if err := c.Call(&x, to, &Call{Tool: "x", Arguments: []byte(want)}); err != nil {
					t.Errorf("%s: %v", want, err)
				} else if got := string(x.Result().Get("structuredContent").Raw()); got != want {
					t.Errorf("%s got %s", want, got)
				}
			}
		})
	}
	work.Wait()
}
