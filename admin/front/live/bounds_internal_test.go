package live

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// TestMaxStreams: a node has so many streams, whoever opens them, and one member or token
// has at most [maxStreamsOfOne] of them.
func TestMaxStreams(t *testing.T) {
	st, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "sluice.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	r := &Room{Store: st, Log: slog.New(slog.DiscardHandler)}
	open := func(holder string) (*Stream, error) {
		ctx := request.With(t.Context(), &request.Request{Token: &store.Token{ID: holder, Hash: []byte(holder)}})
		return r.Open(ctx, st.Workspace(request.Operator))
	}
	var streams []*Stream
	for i := range maxStreams {
		s, err := open(fmt.Sprint("tok_", i/maxStreamsOfOne))
		if err != nil {
			t.Fatalf("stream %d: %v", i+1, err)
		}
		streams = append(streams, s)
	}
	if _, err := open("tok_0"); !problem.Is(err, problem.RateLimited) {
		t.Errorf("stream %d of one: %v", maxStreamsOfOne+1, err)
	}
	if _, err := open("tok_new"); !problem.Is(err, problem.RateLimited) {
		t.Errorf("stream %d: %v", maxStreams+1, err)
	}
	streams[0].Close()
	streams[0].Close() // Counts once.
	if s, err := open("tok_new"); err != nil {
		t.Errorf("the place of a stream that ended is not free: %v", err)
	} else {
		streams = append(streams, s)
	}
	for _, s := range streams {
		s.Close()
	}
	if r.streams != 0 || len(r.of) != 0 || len(r.watched) != 0 {
		t.Errorf("after all ended there are %d streams, %v, %v", r.streams, r.of, r.watched)
	}
}
