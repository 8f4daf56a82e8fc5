package suggest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
)

// TestAskingBounds: so much of a tool is sent to the model.
func TestAskingBounds(t *testing.T) {
	for over := range 2 {
		props := map[string]any{}
		for i := range maxArguments + over {
			props[fmt.Sprintf("p%02d", i)] = map[string]any{"type": "string"}
		}
		schema, err := json.Marshal(map[string]any{"type": "object", "properties": props})
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Repeat("d", maxAsked+over)
		b, err := asking("s", []Tool{{Name: "t", Description: text, InputSchema: schema}})
		if err != nil {
			t.Fatal(err)
		}
		var q question
		if err := json.Unmarshal(b, &q); err != nil {
			t.Fatal(err)
		}
		if whole := q.Tools[0].Description == text; len(q.Tools[0].Arguments) != maxArguments || whole != (over == 0) || len(q.Tools[0].Description) > maxAsked+len("…") {
			t.Errorf("%d past the bounds: %d arguments, %d bytes", over, len(q.Tools[0].Arguments), len(q.Tools[0].Description))
		}
	}
}

// TestMaxAnswer: an answer as large is read, a byte more is refused and not cut.
func TestMaxAnswer(t *testing.T) {
	for n, ok := range map[int]bool{maxAnswer: true, maxAnswer + 1: false} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(make([]byte, n))
		}))
		m, err := New(Options{HTTP: s.Client(), URL: s.URL, Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		_, b, err := m.post(t.Context(), &chat{})
		if ok != (err == nil && len(b) == n) || !ok && !problem.Is(err, problem.UpstreamTooLarge) {
			t.Errorf("%d bytes: %d are read, %v", n, len(b), err)
		}
		s.Close()
	}
}
