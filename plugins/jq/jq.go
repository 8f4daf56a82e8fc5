package jq

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/metrics"
	"time"

	"github.com/itchyny/gojq"

	"github.com/sluicegate/sluice/internal/problem"
)

// Bounds of an expression and of a run.
const (
	MaxExpression = 8 << 10         // bytes of an expression: people write them
	MaxInput      = 8 << 20         // bytes of an answer; decoded it takes about ten times that
	MaxOutput     = 4 << 20         // bytes of the result, ten times a token budget
	MaxResults    = 10_000          // values an expression may yield
	MaxTime       = 1 * time.Second // of one run; answers take milliseconds
	// MaxHeap is how much the heap of the process may grow during one run. It is
	// looked at every heapInterval, so a single operation can pass it before the
	// run is ended; gojq itself bounds repeated strings and array indices.
	MaxHeap      = 256 << 20
	heapInterval = 5 * time.Millisecond
	// runs is how many expressions run at once: their memory adds up.
	runs = 4
)

// Errors of [Program.Append].
var (
	// ErrBounds: the run passed MaxInput, MaxOutput, MaxResults, MaxTime or MaxHeap.
	ErrBounds = errors.New("jq: out of bounds")
	// ErrExpression: the expression failed on this answer.
	ErrExpression = errors.New("jq: the expression failed")
)

// Program is a compiled expression.
type Program struct{ code *gojq.Code }

// Compile reads an expression. Faults are *problem.Error of kind InvalidArgument.
func Compile(expression string) (*Program, error) {
	fault := func(err error) error {
		return problem.New(problem.InvalidArgument, "jq expression: %.300s", err.Error()).
			Fix("try it with jq on a recorded answer first").Because(err)
	}
	if len(expression) > MaxExpression {
		return nil, problem.New(problem.InvalidArgument, "jq expression of %d bytes, at most %d", len(expression), MaxExpression)
	}
	q, err := gojq.Parse(expression)
	if err != nil {
		return nil, fault(err)
	}
	code, err := gojq.Compile(q, gojq.WithEnvironLoader(func() []string { return nil }))
	if err != nil {
		return nil, fault(err)
	}
	return &Program{code: code}, nil
}

var slots = make(chan struct{}, runs)

// Append runs the program on doc, one JSON text, and appends the result to dst:
// the value it yields, null for none, an array for several. It fails with
// ErrBounds or ErrExpression, or as the decoding of doc does, and then returns dst
// as it was. It keeps neither argument. Cancelling ctx ends the run.
func (p *Program) Append(ctx context.Context, dst, doc []byte) ([]byte, error) {
	if len(doc) > MaxInput {
		return dst, fmt.Errorf("%w: %d bytes of input, at most %d", ErrBounds, len(doc), MaxInput)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, MaxTime, fmt.Errorf("%w: longer than %s", ErrBounds, MaxTime))
	defer cancel()
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return dst, context.Cause(ctx)
	}
	ctx, over := context.WithCancelCause(ctx)
	defer over(nil)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		watchHeap(ctx, over)
	}()
	defer func() { over(nil); <-watched }()

	var in any
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	if err := d.Decode(&in); err != nil {
		return dst, fmt.Errorf("reading the answer: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return dst, errors.New("reading the answer: more than one document")
	}
	mark := len(dst)
	count := 0
	for it := p.code.RunWithContext(ctx, in); ; {
		v, ok := it.Next()
		if !ok {
			break
		}
		if ctx.Err() != nil {
			return dst[:mark], context.Cause(ctx)
		}
		if err, failed := v.(error); failed {
			var halt *gojq.HaltError
			if errors.As(err, &halt) && halt.Value() == nil {
				break
			}
			return dst[:mark], fmt.Errorf("%w: %.300s", ErrExpression, err.Error())
		}
		b, err := gojq.Marshal(v)
		if err != nil {
			return dst[:mark], fmt.Errorf("%w: %w", ErrExpression, err)
		}
		if count++; count == 2 { // the first turns out to be one of several
			dst = append(dst[:mark], append([]byte{'['}, dst[mark:]...)...)
		}
		if count > 1 {
			dst = append(dst, ',')
		}
		dst = append(dst, b...)
		if count > MaxResults || len(dst)-mark > MaxOutput {
			return dst[:mark], fmt.Errorf("%w: more than %d values or %d bytes", ErrBounds, MaxResults, MaxOutput)
		}
	}
	if ctx.Err() != nil {
		return dst[:mark], context.Cause(ctx)
	}
	switch count {
	case 0:
		dst = append(dst, "null"...)
	case 1:
	default:
		dst = append(dst, ']')
	}
	return dst, nil
}

// watchHeap ends a run when the heap grew too much, until ctx ends.
func watchHeap(ctx context.Context, over context.CancelCauseFunc) {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	start := sample[0].Value.Uint64()
	tick := time.NewTicker(heapInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			metrics.Read(sample)
			now := sample[0].Value.Uint64()
			if start = min(start, now); now > start+MaxHeap { // garbage from before the run is no room for it
				over(fmt.Errorf("%w: more than %d MB of memory", ErrBounds, MaxHeap>>20))
				return
			}
		}
	}
}
