package gateway_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"
)

// TestMain fails the package when goroutines are left at the end.
func TestMain(m *testing.M) {
	code := m.Run()
	http.DefaultClient.CloseIdleConnections()
	if code == 0 && !settled(20) {
		buf := make([]byte, 1<<20)
		fmt.Fprintf(os.Stderr, "goroutines are left:\n%s\n", buf[:runtime.Stack(buf, true)])
		code = 1
	}
	os.Exit(code)
}

// settled waits until at most n goroutines run.
func settled(n int) bool {
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); runtime.Gosched() {
		if runtime.NumGoroutine() <= n {
			return true
		}
	}
	return false
}

// syncBuffer collects logs of many goroutines.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (s *syncBuffer) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(s, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
