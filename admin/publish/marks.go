package publish

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/sign"
)

// MarkedRecords is implemented by records that note each release before it is
// published, so that records which were set back, by a lost write-ahead log or an old
// copy, are found out: the registry then has a release that they do not know.
type MarkedRecords interface {
	// ReleaseMark returns the newest release of a group that the records noted; zeros
	// when they noted none.
	ReleaseMark(ctx context.Context, group string) (epoch, revision uint64, err error)
	// MarkRelease notes a release. What it noted is durable.
	MarkRelease(ctx context.Context, group string, epoch, revision uint64) error
	// Unknown returns the slugs of toolsets that the records do not know at the revision
	// that a release lists, or a later one.
	Unknown(ctx context.Context, toolsets []registry.ReleaseToolset) ([]string, error)
}

// maxNamed is how many toolsets the log names.
const maxNamed = 5

// mark is the newest release that the records noted; the zero mark: none.
func (p *Publisher) mark(ctx context.Context, group string) (epoch, revision uint64, err error) {
	return markOf(ctx, p.opts.Records, group)
}

func markOf(ctx context.Context, r Records, group string) (epoch, revision uint64, err error) {
	marks, ok := r.(MarkedRecords)
	if !ok {
		return 0, 0, nil
	}
	return marks.ReleaseMark(ctx, group)
}

// note notes a release that is about to be published.
func (p *Publisher) note(ctx context.Context, group string, epoch, revision uint64) error {
	marks, ok := p.opts.Records.(MarkedRecords)
	if !ok {
		return nil
	}
	return marks.MarkRelease(ctx, group, epoch, revision)
}

// compare finds out whether the records are older than a group's newest release,
// which was read from the registry or published by this process, and stops publishing for the group when they
// are. Records of a version before marks are compared by the revisions of toolsets.
func (p *Publisher) compare(ctx context.Context, group string, newest *sign.Release) error {
	marks, ok := p.opts.Records.(MarkedRecords)
	if !ok {
		return nil
	}
	epoch, revision, err := marks.ReleaseMark(ctx, group)
	if err != nil {
		return err
	}
	r := newest.Release()
	var why, listed string
	switch {
	case epoch == 0:
		unknown, err := marks.Unknown(ctx, r.Toolsets)
		if err != nil {
			return err
		}
		if len(unknown) == 0 {
			return marks.MarkRelease(ctx, group, r.Epoch, r.Revision)
		}
		// Their names are for the log: every member reads this error, and they are of all workspaces.
		listed = names(unknown)
		why = fmt.Sprintf("it lists %d toolsets that the records do not know, or only at an older revision", len(unknown))
	case epoch < r.Epoch || epoch == r.Epoch && revision < r.Revision:
		why = fmt.Sprintf("the newest that the records know is %d.%d", epoch, revision)
	default:
		return nil
	}
	stop := problem.New(problem.Conflict, "publishing is stopped: the records of this control plane are older than release %d.%d of the group %q of edges; %s", r.Epoch, r.Revision, group, why).
		Fix("put the newest records back (the database with its write-ahead log, or a backup) and start again; or, to publish the records as they are, run: sluice release resume --reason WHY")
	p.mu.Lock()
	p.stopped[group] = stop
	p.mu.Unlock()
	p.log.LogAttrs(ctx, slog.LevelError, "publishing is stopped, the records are older than the newest release", slog.String("group", group), slog.String("toolsets", listed), slog.Any("error", stop))
	return nil
}

// Compare finds out, for each group that has a release, whether the records are older than it,
// and stops publishing then. It is for records that may have been set back while this process
// runs: a database that failed over to a replica may lack what was acknowledged.
func (p *Publisher) Compare(ctx context.Context) error {
	p.mu.Lock()
	groups := slices.Sorted(maps.Keys(p.groups))
	p.mu.Unlock()
	for _, group := range groups {
		if r := p.Newest(group); r != nil {
			if err := p.compare(ctx, group, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func names(list []string) string {
	more := ""
	if n := len(list) - maxNamed; n > 0 {
		list, more = list[:maxNamed], fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(list, ", ") + more
}

// Stopped is why nothing is published for a group, as [problem.Conflict]: its newest
// release is newer than the records. nil: nothing is wrong. "" asks for any group.
func (p *Publisher) Stopped(group string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, g := range slices.Sorted(maps.Keys(p.stopped)) {
		if group == "" || g == group {
			return p.stopped[g]
		}
	}
	return nil
}

// resumed notes that an operator decided for the records as they are.
func (p *Publisher) resumed(group string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.stopped, group)
}
