package probe_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/probe"
)

func TestProbe(t *testing.T) {
	now, runs, result := time.Unix(1e9, 0), 0, error(nil)
	fault := errors.New("full")
	p := &probe.Probe{Every: 10 * time.Second, Again: time.Second, Patience: time.Minute, Now: func() time.Time { return now }, Check: func(context.Context) error {
		runs++
		return result
	}}
	for _, step := range []struct {
		wait time.Duration
		is   error
		want error
		runs int
	}{
		{0, nil, nil, 1},
		{10*time.Second - 1, fault, nil, 1},
		{1, fault, fault, 2},
		{time.Second - 1, nil, fault, 2},
		{1, nil, nil, 3},
		{-time.Hour, fault, fault, 4}, // a clock that was set back
	} {
		now, result = now.Add(step.wait), step.is
		if err := p.Result(t.Context()); !errors.Is(err, step.want) || runs != step.runs {
			t.Errorf("%+v: %v after %d runs", step, err, runs)
		}
	}
}

// TestHanging: a check that hangs does not hold up who asks, and runs once.
func TestHanging(t *testing.T) {
	begun, release := make(chan struct{}, 2), make(chan struct{})
	p := &probe.Probe{Every: 0, Again: 0, Patience: time.Minute, Check: func(context.Context) error {
		begun <- struct{}{}
		<-release
		return nil
	}}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 {
		if err := p.Result(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
	<-begun
	close(release)
	if err := p.Result(t.Context()); err != nil {
		t.Error(err)
	}
}
