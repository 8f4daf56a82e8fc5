package tracing

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/retry"
)

const (
	// attempts is how often a batch is sent that a collector could not take.
	attempts = 3
	// maxReply is how much of a collector's answer is read.
	maxReply = 64 << 10
	// complainEvery is how often the log tells that spans are lost, at most.
	complainEvery = time.Minute
)

// Tracer records calls and sends them. nil: nothing is recorded.
type Tracer struct {
	config   *config
	exporter *exporter
}

// New makes a tracer of the standard variables, which getenv reads; nil when they do not ask
// for traces. It fails with [problem.InvalidArgument], naming the variable, when they cannot be followed.
func New(getenv func(string) string, version string, log *slog.Logger) (*Tracer, error) {
	c, err := readConfig(getenv, version)
	if err != nil {
		return nil, problem.New(problem.InvalidArgument, "%s", err)
	}
	if c == nil {
		return nil, nil //nolint:nilnil // off
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	// The operator chose the collector, which mostly has a private address.
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: c.tls, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 1, IdleConnTimeout: 90 * time.Second}
	return &Tracer{c, &exporter{
		config: c, log: log, spans: make(chan *Span, c.queue),
		client: &http.Client{Transport: transport, Timeout: c.timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}}, nil
}

// Endpoint is where spans are sent.
func (t *Tracer) Endpoint() string { return t.config.endpoint }

// Counts are the spans that were sent, and that were lost because the queue was full or
// the collector did not take them.
func (t *Tracer) Counts() (sent, lost uint64) {
	if t == nil {
		return 0, 0
	}
	return t.exporter.sent.Load(), t.exporter.lost.Load()
}

// Run sends spans until ctx ends, and then what still waits, for at most the time of one export.
func (t *Tracer) Run(ctx context.Context) {
	if t != nil {
		t.exporter.run(ctx)
	}
}

// exporter sends spans in batches.
type exporter struct {
	config     *config
	client     *http.Client
	log        *slog.Logger
	spans      chan *Span
	sent, lost atomic.Uint64
	complained time.Time // by run
	body       []byte    // by run
	packed     bytes.Buffer
}

// add gives a span to run. It never blocks: a call does not wait for a collector.
func (e *exporter) add(s *Span) {
	select {
	case e.spans <- s:
	default:
		e.lost.Add(1)
	}
}

func (e *exporter) run(ctx context.Context) {
	batch := make([]*Span, 0, e.config.batch)
	tick := time.NewTicker(e.config.delay)
	defer tick.Stop()
	for {
		send := false
		select {
		case s := <-e.spans:
			batch = append(batch, s)
			send = len(batch) == cap(batch)
		case <-tick.C:
			send = len(batch) > 0
		case <-ctx.Done():
			e.flush(context.WithoutCancel(ctx), batch)
			return
		}
		if send {
			e.export(ctx, batch)
			clear(batch)
			batch = batch[:0]
		}
	}
}

// flush sends what waits, for at most the time of one export.
func (e *exporter) flush(ctx context.Context, batch []*Span) {
	ctx, cancel := context.WithTimeout(ctx, e.config.timeout)
	defer cancel()
	for ctx.Err() == nil {
		select {
		case s := <-e.spans:
			if batch = append(batch, s); len(batch) < cap(batch) {
				continue
			}
		default:
		}
		if len(batch) == 0 {
			return
		}
		e.export(ctx, batch)
		batch = batch[:0]
	}
}

// export sends a batch. What a collector is too busy for is sent again, a little later.
func (e *exporter) export(ctx context.Context, batch []*Span) {
	e.body = appendRequest(e.body[:0], e.config.resource, batch)
	wait, err := time.Duration(0), error(nil)
	for try := range attempts {
		if try > 0 && retry.Sleep(ctx, max(wait, retry.Half(time.Second<<try))) != nil {
			break
		}
		if wait, err = e.post(ctx); err == nil {
			e.sent.Add(uint64(len(batch)))
			return
		}
		if wait < 0 {
			break
		}
	}
	e.lost.Add(uint64(len(batch)))
	if time.Since(e.complained) > complainEvery {
		e.complained = time.Now()
		e.log.LogAttrs(ctx, slog.LevelWarn, "traces were not taken by the collector", slog.String("endpoint", e.config.endpoint),
			slog.Uint64("lost_spans", e.lost.Load()), slog.Any("error", err))
	}
}

// post sends the body once. wait is how long the collector wants to be left alone; negative: sending it
// again would not help.
func (e *exporter) post(ctx context.Context) (wait time.Duration, err error) {
	body := e.body
	if e.config.gzip {
		e.packed.Reset()
		z := gzip.NewWriter(&e.packed)
		if _, err := z.Write(body); err != nil {
			return -1, fmt.Errorf("compressing spans: %w", err)
		}
		if err := z.Close(); err != nil {
			return -1, fmt.Errorf("compressing spans: %w", err)
		}
		body = e.packed.Bytes()
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.config.endpoint, bytes.NewReader(body))
	if err != nil {
		return -1, fmt.Errorf("asking a collector: %w", err)
	}
	r.Header = e.config.headers.Clone()
	r.Header.Set("Content-Type", "application/x-protobuf")
	if e.config.gzip {
		r.Header.Set("Content-Encoding", "gzip")
	}
	res, err := e.client.Do(r)
	if err != nil {
		return 0, fmt.Errorf("asking a collector: %w", err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxReply)) // so that the connection is kept
	switch {
	case res.StatusCode/100 == 2:
		return 0, nil
	case res.StatusCode == http.StatusTooManyRequests, res.StatusCode == http.StatusBadGateway, res.StatusCode == http.StatusServiceUnavailable, res.StatusCode == http.StatusGatewayTimeout:
		seconds, _ := time.ParseDuration(res.Header.Get("Retry-After") + "s") // 0 when it is a date or absent
		return min(max(seconds, 0), e.config.timeout), fmt.Errorf("a collector answered %s", res.Status)
	}
	return -1, fmt.Errorf("a collector answered %s", res.Status)
}
