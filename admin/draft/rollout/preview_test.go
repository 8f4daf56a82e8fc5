package rollout

import (
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

func TestPreviewLife(t *testing.T) {
	seconds := func(d time.Duration) int64 { return int64(d / time.Second) }
	for in, want := range map[int64]time.Duration{
		0: DefaultPreviewLife, 1: minPreviewLife, seconds(minPreviewLife): minPreviewLife, seconds(MaxPreviewLife): MaxPreviewLife, seconds(MaxPreviewLife) + 1: MaxPreviewLife,
	} {
		if got := previewLife(in); got != want {
			t.Errorf("%d seconds: %s, want %s", in, got, want)
		}
	}
}

func TestShowPreview(t *testing.T) {
	r := &Room{PreviewURL: "https://gateway.example/preview/"}
	got := r.showPreview(&store.Toolset{DraftDigest: "b", LiveDigest: "a"}, &store.Preview{ID: "x", Digest: "a"})
	if got.URL != "https://gateway.example/preview/x" || got.Current || !got.Live || got.Token != "" {
		t.Errorf("%+v", got)
	}
	if _, err := new(Room).PreviewDraft(t.Context(), nil, "shop", nil, nil); !problem.Is(err, problem.Unsupported) {
		t.Errorf("a node without a gateway: %v", err)
	}
}
