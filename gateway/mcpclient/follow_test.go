package mcpclient

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
)

// TestFollow: each transport subscribes to maxFollowed resources at most, reports their
// changes, and ends with who listens.
func TestFollow(t *testing.T) {
	for name, handler := range map[string]func(get func(*http.Request) *sdk.Server) http.Handler{
		"2026-07-28": func(get func(*http.Request) *sdk.Server) http.Handler {
			return sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{Stateless: true})
		},
		"with sessions": func(get func(*http.Request) *sdk.Server) http.Handler {
			h := sdk.NewStreamableHTTPHandler(get, nil)
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Mcp-Method") == "server/discover" {
					w.WriteHeader(http.StatusBadRequest) // of the older revisions only
					return
				}
				h.ServeHTTP(w, r)
			})
		},
		// As servers of the official Java SDK.
		"with sessions, headers with the first event": func(get func(*http.Request) *sdk.Server) http.Handler {
			h := sdk.NewStreamableHTTPHandler(get, nil)
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Mcp-Method") == "server/discover" {
					w.WriteHeader(http.StatusBadRequest)
					return
				}
				h.ServeHTTP(&lateWriter{ResponseWriter: w}, r)
			})
		},
		"2024-11-05": func(get func(*http.Request) *sdk.Server) http.Handler { return sdk.NewSSEHandler(get, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			joined := make(chan string, 2*maxFollowed)
			s := sdk.NewServer(&sdk.Implementation{Name: "n", Version: "1"}, &sdk.ServerOptions{
				SubscribeHandler:   func(_ context.Context, r *sdk.SubscribeRequest) error { joined <- r.Params.URI; return nil },
				UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
			})
			var uris []string
			for i := range maxFollowed + 1 {
				uri := fmt.Sprintf("test://%d", i)
				s.AddResource(&sdk.Resource{Name: uri, URI: uri}, nil)
				uris = append(uris, uri)
			}
			up := httptest.NewServer(handler(func(*http.Request) *sdk.Server { return s }))
			t.Cleanup(func() { _ = up.Listener.Close(); up.CloseClientConnections(); up.Close() })
			c := newClient(t, safedial.Options{AllowPrivate: true})
			to := target(t, up.URL)
			to.Deadline, to.Cancel, to.Caller = time.Time{}, &upstream.Cancel{}, "ada"
			opened, told, ended := make(chan bool, 9), make(chan string, 9), make(chan error, 1)
			go func() {
				var x Exchange
				ended <- c.Follow(&x, to, &Feed{URIs: uris, Opened: func(modern bool) { opened <- modern }, Notify: func(method string, params jsonscan.Value) {
					if method == "notifications/resources/updated" {
						told <- string(params.Get("uri").AppendText(nil))
					}
				}})
			}()
			select {
			case modern := <-opened:
				if modern != (name == "2026-07-28") {
					t.Errorf("modern: %v", modern)
				}
				if !modern && len(joined) != maxFollowed {
					t.Errorf("subscribed to %d, not %d", len(joined), maxFollowed)
				}
			case err := <-ended:
				t.Fatal(err)
			case <-time.After(20 * time.Second):
				t.Fatal("it was not opened")
			}
			for _, uri := range []string{uris[maxFollowed], uris[maxFollowed-1]} { // the first is one too many
				if err := s.ResourceUpdated(t.Context(), &sdk.ResourceUpdatedNotificationParams{URI: uri}); err != nil {
					t.Fatal(err)
				}
			}
			select {
			case got := <-told:
				if got != uris[maxFollowed-1] {
					t.Errorf("reported %s", got)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("nothing was told")
			}
			to.Cancel.Cancel()
			select {
			case err := <-ended:
				if err != nil {
					t.Errorf("the end of a stream that was open: %v", err)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("it goes on")
			}
		})
	}
}

// lateWriter sends nothing, not even headers, before there is a message.
type lateWriter struct {
	http.ResponseWriter
	wrote bool
}

func (w *lateWriter) Write(b []byte) (int, error) {
	if !w.wrote && !bytes.Contains(b, []byte("jsonrpc")) {
		return len(b), nil
	}
	w.wrote = true
	return w.ResponseWriter.Write(b)
}

func (w *lateWriter) Flush() {
	if w.wrote {
		_ = http.NewResponseController(w.ResponseWriter).Flush()
	}
}

// TestFollowNothing: a server without sessions of an older revision has no stream for a
// caller.
func TestFollowNothing(t *testing.T) {
	s := sdkServer(t)
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: true})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") == "server/discover" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { _ = up.Listener.Close(); up.CloseClientConnections(); up.Close() })
	c := newClient(t, safedial.Options{AllowPrivate: true})
	var x Exchange
	err := c.Follow(&x, target(t, up.URL), &Feed{Opened: func(bool) { t.Error("it was opened") }})
	if !problem.Is(err, problem.Unsupported) {
		t.Errorf("it ended with %v", err)
	}
}
