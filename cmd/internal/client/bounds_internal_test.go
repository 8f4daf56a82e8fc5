package client

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
)

// long answers with so many bytes of JSON.
type long int64

func (n long) RoundTrip(r *http.Request) (*http.Response, error) {
	body := io.MultiReader(io.LimitReader(spaces{}, int64(n)-2), strings.NewReader("{}"))
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(body), Request: r}, nil
}

type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// TestMaxAnswer: an answer as large is read, one a byte larger is refused and not cut.
func TestMaxAnswer(t *testing.T) {
	for n, ok := range map[long]bool{maxAnswer: true, maxAnswer + 1: false} {
		var v struct{}
		err := New(Options{Base: "http://admin.example", HTTP: &http.Client{Transport: n}}).Get(t.Context(), "/x", &v)
		if (err == nil) != ok || !ok && !problem.Is(err, problem.TooLarge) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}
