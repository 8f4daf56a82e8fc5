package source

import (
	"context"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/openapi"
)

// page is a fetcher whose one document has so many bytes.
type page int

func (n page) Fetch(_ context.Context, in FetchRequest) (Document, error) {
	if int64(n) > in.Limit {
		return Document{}, problem.New(problem.UpstreamTooLarge, "more than %d bytes", in.Limit)
	}
	return Document{Data: []byte(strings.Repeat(" ", int(n))), URL: in.URL}, nil
}

// TestMaxOverlayBytes: an overlay is fetched that is as long as the compiler accepts, and no
// longer one; it is kept as it came, for when it cannot be fetched again.
func TestMaxOverlayBytes(t *testing.T) {
	for over := range 2 {
		n := openapi.MaxOverlayBytes + over
		r := &Room{Fetcher: page(n)}
		src := new(Source)
		err := r.readOverlays(t.Context(), src, []OverlaySource{{URL: "https://api.example/overlay.yaml"}})
		if over == 1 {
			if !problem.Is(err, problem.UpstreamTooLarge) || len(src.Overlays) != 0 {
				t.Errorf("an overlay of %d bytes: %v", n, err)
			}
			continue
		}
		if err != nil || len(src.Overlays) != 1 || len(src.Overlays[0].Document) != n || len(src.Spec.Overlays) != 1 || len(src.Spec.Overlays[0].Data) != n {
			t.Errorf("an overlay of %d bytes: %v", n, err)
		}
	}
}

// TestOverlaysThatAreNone: each fault is told by its place, and nothing is fetched for it.
func TestOverlaysThatAreNone(t *testing.T) {
	r := &Room{}
	for at, list := range map[string][]OverlaySource{
		"/source/openapi/overlays/0":     {{FileName: "empty"}},
		"/source/openapi/overlays/1/url": {{Document: "overlay: 1.0.0"}, {URL: "https://user:secret@api.example/o"}},
		"/source/openapi/overlays/0/url": {{URL: "file:///etc/passwd"}},
	} {
		src := new(Source)
		err := r.readOverlays(t.Context(), src, list)
		p := problem.As(err)
		if p == nil || p.Place.Pointer != at || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", at, err)
		}
	}
}
