package pages

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/internal/problem"
)

func room(public string) *Room {
	return &Room{Front: &front.Room{Log: slog.New(slog.DiscardHandler), PublicURL: public}}
}

// What comes back to a login is text from elsewhere: it is bounded, and never markup.
func TestCallback(t *testing.T) {
	p := room("")
	w := httptest.NewRecorder()
	p.Callback(w, httptest.NewRequest(http.MethodPost, login.CallbackPath, nil))
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != http.MethodGet {
		t.Errorf("POST: %d %v", w.Code, w.Header())
	}
	w = httptest.NewRecorder()
	p.Callback(w, httptest.NewRequest(http.MethodGet, login.CallbackPath+"?"+strings.Repeat("x", login.MaxCallback+1), nil))
	if w.Code != http.StatusRequestEntityTooLarge || !strings.Contains(w.Body.String(), "The login did not succeed") {
		t.Errorf("too long: %d %s", w.Code, w.Body)
	}
	w = httptest.NewRecorder()
	p.callbackPage(w, "", problem.New(problem.Forbidden, "<script>x</script>"))
	if body := w.Body.String(); w.Code != http.StatusForbidden || strings.Contains(body, "<script>") || !strings.Contains(body, "&lt;script&gt;") {
		t.Errorf("markup: %d %s", w.Code, body)
	}
	if w.Header().Get("Referrer-Policy") != "no-referrer" {
		t.Error("the address of the page is passed on")
	}
}

// The cookie of a login is one that no neighbour in the domain can plant, where browsers
// have that.
func TestOpenIDCookie(t *testing.T) {
	if c := room("https://sluice.example.com").openIDLogin(t.Context()); c.Name != "__Host-"+openIDCookie || !c.Secure || c.Path != "/" {
		t.Errorf("over https: %+v", c)
	}
	ctx := request.With(t.Context(), &request.Request{Base: "http://127.0.0.1:7301"})
	if c := room("").openIDLogin(ctx); c.Name != openIDCookie || c.Secure || c.Path != OpenIDCallback {
		t.Errorf("over http: %+v", c)
	}
}
