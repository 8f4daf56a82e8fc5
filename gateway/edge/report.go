package edge

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/sluicegate/sluice/registry"
)

// reportEvery is how often a node tells the control plane how it is; a change is
// told within reportCheck.
const (
	reportEvery = 30 * time.Second
	reportCheck = time.Second
	// reportTimeout of one report.
	reportTimeout = 10 * time.Second
	// lowSpace of a node is reported: a release, the code compiled of it and the usage of a day
	// need less.
	lowSpace = 128 << 20
)

// Reporter tells the control plane how this node is.
type Reporter struct {
	Remote   *Remote
	Follower *Follower
	Vault    *Vault
	Version  string
	// Usage is what keeps the node from posting its usage; nil func or nil: nothing.
	Usage func() error
	// Space is how many bytes are free on the disk of the node; nil func: it is not watched.
	Space  func() (free int64, known bool)
	Logger *slog.Logger
}

// State is what the node would tell now.
func (r *Reporter) State() registry.EdgeStatus {
	s := r.Follower.Status()
	out := registry.EdgeStatus{
		Version: r.Version, Ready: s.Ready, Epoch: s.Epoch, Revision: s.Revision, Release: s.Release, Toolsets: s.Toolsets,
		Applied: s.Applied.UTC().Truncate(time.Second), Saved: s.Saved != "" && s.Saved == s.Release, Expired: s.Expired,
		Following: text(s.Following), Cache: text(s.Cache), Trials: true,
	}
	if s.Applied.IsZero() {
		out.Applied = time.Time{}
	}
	if r.Vault != nil {
		out.Secrets = text(r.Vault.Fault())
		if err := r.Vault.Missing(); err != nil {
			out.Ready, out.Secrets = false, text(err)
		}
	}
	if err := r.Remote.Fault(); err != nil && out.Following == "" {
		out.Following = text(err)
	}
	if r.Space != nil {
		// The number is not said: a report is sent when anything in it changes.
		if free, known := r.Space(); known && free < lowSpace {
			out.Disk = fmt.Sprintf("less than %d MB are free on the disk of its data directory", lowSpace>>20)
		}
	}
	if r.Usage != nil {
		out.Usage = text(r.Usage())
	}
	return out
}

func text(err error) string {
	if err == nil {
		return ""
	}
	s := err.Error()
	return s[:min(len(s), 1000)]
}

// Run reports until ctx ends; it returns ctx's error. A report that does not
// arrive is not kept: the next one says the same and more.
func (r *Reporter) Run(ctx context.Context) error {
	var last registry.EdgeStatus
	var next time.Time
	tick := time.NewTicker(reportCheck)
	defer tick.Stop()
	for ctx.Err() == nil {
		if s := r.State(); s != last || !time.Now().Before(next) {
			rctx, cancel := context.WithTimeout(ctx, reportTimeout)
			err := r.Remote.Report(rctx, s)
			cancel()
			// One that did not arrive is tried again at the usual time, whatever changes:
			// a control plane that is down is not asked every second.
			last, next = s, time.Now().Add(reportEvery)
			if err != nil && r.Logger != nil {
				r.Logger.LogAttrs(ctx, slog.LevelDebug, "report not sent", slog.Any("error", err))
			}
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	return ctx.Err()
}
