//go:build unix

package alert

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/notify/alert/rule"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/rollup"
	"github.com/sluicegate/sluice/registry"
)

// BenchmarkRules is one round over 2,000 toolsets with three rules each, after a report of
// ten seconds in which every tool of them was called and two calls in a hundred failed.
func BenchmarkRules(b *testing.B) {
	const toolsets, tools = 2000, 5
	h := newHall(b)
	ids := make([]string, toolsets)
	limit := 90.0
	h.update(func(ctx context.Context, tx *store.Tx) error {
		spec := &store.Specification{Digest: "sha256:spec", Name: "s", Content: []byte("s")}
		if err := tx.PutSpecification(ctx, spec); err != nil {
			return err
		}
		v := &store.ConnectorVersion{Digest: "sha256:c", SpecDigest: spec.Digest, Report: "{}"}
		if err := tx.PutConnector(ctx, &store.Connector{Name: "c"}, v); err != nil {
			return err
		}
		for i := range ids {
			slug := fmt.Sprintf("ts-%d", i)
			ts := &store.Toolset{Slug: slug, Name: slug, ConnectorName: "c", SourceKind: "openapi", Connector: "c", ConnectorDigest: v.Digest, BaseURL: "https://" + slug + ".example", EnabledTools: tools}
			if err := tx.CreateToolset(ctx, ts); err != nil {
				return err
			}
			ids[i] = ts.ID
			for _, metric := range []string{rule.ErrorRate, rule.LatencyP95, rule.Tokens} {
				over := limit
				if metric != rule.ErrorRate {
					over = 1e9
				}
				r, err := rule.New(fmt.Sprintf("%s-%d", []string{"a", "b", "c"}[len(metric)%3], i), ts.ID, &rule.Settings{Metric: metric, Threshold: &over})
				if err != nil {
					return err
				}
				if err := tx.AddAlertRule(ctx, &store.AlertRule{Name: fmt.Sprintf("%s-%s", slug, metric[:2]), ToolsetID: ts.ID, Document: store.JSON(r.Settings())}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	var took rollup.Histogram
	for i := range 10 {
		took.Add(time.Duration(20+i*7) * time.Millisecond)
	}
	latency := took.AppendBinary(nil)
	report := func() {
		now := h.now()
		for from := 0; from < toolsets; from += 400 {
			h.sent++
			r := &registry.UsageReport{Epoch: "E", Sequence: h.sent, Oldest: 1, Minute: now.Truncate(time.Minute).Unix(), Posted: now}
			for i := from; i < from+400; i++ {
				for j := range tools {
					key := registry.UsageKey{Workspace: "one", Toolset: ids[i], Tool: fmt.Sprintf("tool_%d", j), Outcome: "ok", Credential: "accepted"}
					counts := registry.UsageCounts{Calls: 10, TokensAfter: 1000, Duration: 500_000, Upstream: 400_000, Latency: latency, UpstreamLatency: latency}
					r.Series = append(r.Series, registry.UsageSeries{UsageKey: key, UsageCounts: counts})
					if (i+j)%5 == 0 {
						key.Outcome = "upstream_error"
						counts.Calls = 1
						r.Series = append(r.Series, registry.UsageSeries{UsageKey: key, UsageCounts: counts})
						r.Causes = append(r.Causes, registry.UsageCause{Workspace: "one", Toolset: ids[i], Tool: key.Tool, Cause: "http_500", Calls: 1})
					}
				}
			}
			if _, err := h.st.ApplyUsage(b.Context(), "edge", r); err != nil {
				b.Fatal(err)
			}
		}
	}
	for range 15 {
		report()
		h.pass(time.Minute)
	}
	report()
	if n := len(h.round()); n > 0 {
		b.Fatalf("%d notices", n)
	}
	var used time.Duration
	rounds := 0
	for b.Loop() {
		b.StopTimer()
		h.pass(10 * time.Second)
		report()
		h.looked[h.ws.ID()] = h.now() // keys, edges and sources are looked through every 30 s
		before := cpu(b)
		b.StartTimer()
		if err := h.Round(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		used += cpu(b) - before
		rounds++
		b.StartTimer()
	}
	b.ReportMetric(float64(used.Milliseconds())/float64(rounds), "cpu-ms/round")
	if rows, err := h.ws.OpenAlerts(b.Context()); err != nil || len(rows) > 0 {
		b.Fatalf("%d alerts, %v", len(rows), err)
	}
}

// cpu is the processor time that this process used.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
