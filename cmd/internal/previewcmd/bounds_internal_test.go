package previewcmd

import (
	"io"
	"testing"

	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/problem"
)

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// TestMaxFile: an answer as large is read, one a byte larger is refused and not cut.
func TestMaxFile(t *testing.T) {
	for n, ok := range map[int64]bool{maxFile: true, maxFile + 1: false} {
		b, err := previewer{&command.Session{Terminal: terminal.Terminal{In: io.LimitReader(zeros{}, n)}}}.readAnswer("-")
		if ok != (err == nil && int64(len(b)) == n) || !ok && !problem.Is(err, problem.InvalidArgument) {
			t.Errorf("%d bytes: %d are read, %v", n, len(b), err)
		}
	}
}
