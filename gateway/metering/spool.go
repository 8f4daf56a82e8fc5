package metering

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/retry"
	"github.com/sluicegate/sluice/registry"
)

const (
	// FlushEvery is how often what was counted is written to disk: the most that a
	// node that is killed loses. The windows begin at whole multiples of it, so none
	// spans two minutes.
	FlushEvery = 10 * time.Second
	// DefaultSpoolBytes is how much may wait for the control plane: weeks of an
	// ordinary node.
	DefaultSpoolBytes = 256 << 20

	// logShare is the part of the spool that reports with a call log may fill: a long
	// outage must cost the log before it costs a count.
	logShare = 4

	// callsPerReport, with about 400 bytes each: a report is in memory as it is, as JSON and as
	// rows, and a busy node has no more of them at a time.
	callsPerReport = registry.MaxUsageCalls / 5

	// maxPending is how many reports wait in memory while the disk takes none; what
	// is counted then goes into the last of them.
	maxPending = 60
	// maxRefused is how many reports are kept that the control plane refused.
	maxRefused = 100
	// postTimeout of one report.
	postTimeout = 30 * time.Second
	minPause    = time.Second
	// urgentPause is the least time between two reports: a credential that is refused and
	// taken in turn costs a node no more than one a second.
	urgentPause = time.Second
	settleEvery = 100 * time.Millisecond
	maxPause    = time.Minute

	reportSuffix, refusedSuffix = ".json", ".refused"
)

// Poster gives one report to the control plane. An error of kind
// [problem.InvalidArgument] or [problem.TooLarge] says that it will never be taken;
// after any other the same report is posted again.
type Poster interface {
	PostUsage(ctx context.Context, r *registry.UsageReport) (registry.UsageReceipt, error)
}

// SpoolOptions configure a Spool.
type SpoolOptions struct {
	Meter *Meter // required
	// Dir is the directory of the reports that were not posted yet. It is made when
	// it is not there. Required.
	Dir    string
	Poster Poster // required
	// MaxBytes of reports that wait. Beyond, the oldest is dropped and the fault says
	// so. Default: [DefaultSpoolBytes].
	MaxBytes int64
	Now      func() time.Time // Default: time.Now
	// Jitter of the pauses after a report that was not taken. Default: [retry.Half].
	Jitter retry.Jitter
	System atomicfile.System // Default: the operating system's
	Logger *slog.Logger      // Default: discard
}

// Spool writes what a Meter counted to disk, every [FlushEvery], and posts it in
// order until the control plane has it. What it wrote survives a kill and a power
// cut; the control plane applies each report once however often it is posted.
type Spool struct {
	o     SpoolOptions
	log   *slog.Logger
	epoch string
	wake  chan struct{} // capacity 1: there is something to post

	writing sync.Mutex              // held by Flush
	since   time.Time               // guarded by writing; when the window began
	pending []*registry.UsageReport // guarded by writing; drained and not on disk

	posting sync.Mutex // held by Post
	settled time.Time  // guarded by posting; see Settle

	mu       sync.Mutex
	next     uint64   // guarded by mu; sequence of the next report
	files    []report // guarded by mu; on disk and not posted, oldest first
	bytes    int64    // guarded by mu; of files
	dropped  int      // guarded by mu; reports that found no room
	diskErr  error    // guarded by mu
	postErr  error    // guarded by mu
	rejected error    // guarded by mu; the last report that was refused
}

// report is one file of the spool.
type report struct {
	epoch    string
	sequence uint64
	size     int64
}

func (r report) name() string {
	return fmt.Sprintf("%s-%020d%s", r.epoch, r.sequence, reportSuffix)
}

// NewSpool reads which reports a former run left. A directory that cannot be read
// or written is not an error: it is said by [Spool.Fault] and tried again.
func NewSpool(o SpoolOptions) (*Spool, error) {
	if o.Meter == nil || o.Dir == "" || o.Poster == nil {
		return nil, errors.New("metering: a spool needs a meter, a directory and a poster")
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultSpoolBytes
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.System == nil {
		o.System = atomicfile.OS
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Spool{
		o: o, log: o.Logger.With(slog.String("component", "usage")), epoch: ulid.Make().String(), wake: make(chan struct{}, 1), since: o.Now(), next: 1,
	}
	s.diskErr = s.read()
	return s, nil
}

// read lists the reports on disk and removes what a crash left half written.
func (s *Spool) read() error {
	if err := atomicfile.MkdirAll(s.o.System, s.o.Dir, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(s.o.Dir)
	if err != nil {
		return fmt.Errorf("read the usage spool: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), atomicfile.TempPrefix) {
			_ = s.o.System.Remove(filepath.Join(s.o.Dir, e.Name())) // tried again at the next start
			continue
		}
		stem, ok := strings.CutSuffix(e.Name(), reportSuffix)
		epoch, number, found := strings.Cut(stem, "-")
		n, err := strconv.ParseUint(number, 10, 64)
		if !ok || !found || err != nil {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue // gone meanwhile
		}
		r := report{epoch, n, info.Size()}
		s.files, s.bytes = append(s.files, r), s.bytes+r.size
	}
	slices.SortFunc(s.files, func(a, b report) int { return strings.Compare(a.name(), b.name()) })
	return nil
}

// Waiting is how many reports are on disk and not posted.
func (s *Spool) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.files)
}

// Fault says what keeps usage from the disk or from the control plane; nil: nothing.
func (s *Spool) Fault() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lost error
	if s.dropped > 0 {
		lost = fmt.Errorf("%d usage reports were dropped: more than %d bytes wait", s.dropped, s.o.MaxBytes)
	}
	return errors.Join(s.diskErr, s.postErr, s.rejected, lost)
}

// Run flushes and posts until ctx ends, and returns ctx's error. Calls may still run
// then: Flush once more when they ended.
func (s *Spool) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() { s.postAll(ctx) })
	defer wg.Wait()
	for {
		now := s.o.Now()
		if err := s.await(ctx, now.Truncate(FlushEvery).Add(FlushEvery).Sub(now)); err != nil {
			return err
		}
		if err := s.Flush(); err != nil {
			s.log.LogAttrs(ctx, slog.LevelWarn, "usage is not on disk, a kill now would lose it", slog.Any("error", err))
		}
	}
}

// await waits for d, less when something is to be reported at once, but never less than
// [urgentPause].
func (s *Spool) await(ctx context.Context, d time.Duration) error {
	first := min(d, urgentPause)
	if err := retry.Sleep(ctx, first); err != nil {
		return err
	}
	rest := time.NewTimer(d - first)
	defer rest.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.o.Meter.urgent:
	case <-rest.C:
	}
	return nil
}

// Flush writes what was counted since the last one to disk. On an error it stays in
// memory for the next.
func (s *Spool) Flush() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	now := s.o.Now()
	since := s.since
	if d := now.Sub(since); d < 0 || d > 2*FlushEvery {
		since = now.Add(-FlushEvery) // the machine slept, or its clock was set
	}
	s.since = now
	s.take(s.o.Meter.Drain(), since)
	var err error
	for err == nil && len(s.pending) > 0 {
		if err = s.write(s.pending[0]); err == nil {
			s.pending = s.pending[1:]
		}
	}
	s.mu.Lock()
	s.diskErr = err
	s.mu.Unlock()
	return err
}

// take appends what was drained to the pending reports. s.writing is held.
func (s *Spool) take(u *Usage, since time.Time) {
	minute := since.Truncate(time.Minute).Unix()
	for len(u.Series) > 0 || len(u.Causes) > 0 || len(u.Samples) > 0 || len(u.Found) > 0 || len(u.Calls) > 0 || len(u.Omitted) > 0 || len(u.Trials) > 0 {
		r := &registry.UsageReport{Minute: minute}
		r.Calls, u.Calls = cutCalls(u.Calls)
		r.Omitted, u.Omitted = cutAt(u.Omitted, registry.MaxUsageSeries)
		r.Series, u.Series = cutAt(u.Series, registry.MaxUsageSeries)
		r.Causes, u.Causes = cutAt(u.Causes, registry.MaxUsageSeries)
		r.Samples, u.Samples = cutAt(u.Samples, registry.MaxUsageSamples)
		r.Found, u.Found = cutAt(u.Found, registry.MaxUsageFound)
		r.Trials, u.Trials = cutAt(u.Trials, registry.MaxUsageTrials)
		if n := len(s.pending); n >= maxPending && join(s.pending[n-1], r) {
			continue
		}
		s.pending = append(s.pending, r)
	}
}

func cutAt[T any](all []T, n int) (head, tail []T) {
	n = min(n, len(all))
	return all[:n:n], all[n:]
}

// cutCalls takes as many calls as one report may have.
func cutCalls(all []registry.UsageCall) (head, tail []registry.UsageCall) {
	n, size := 0, 0
	for n < len(all) && n < callsPerReport {
		if size += all[n].WireBytes(); size > registry.MaxUsageCallBytes {
			break
		}
		n++
	}
	return cutAt(all, n)
}

// unlog takes the calls out of a report and says how many they were.
func unlog(r *registry.UsageReport) {
	for i := range r.Calls {
		c := &r.Calls[i]
		r.Omitted = addOmitted(r.Omitted, registry.UsageOmitted{Workspace: c.Workspace, Toolset: c.Toolset, Calls: 1})
	}
	r.Calls = nil
}

// join adds r to a report that is not on disk yet, and reports whether it has room.
func join(to, r *registry.UsageReport) bool {
	at := make(map[registry.UsageKey]int, len(to.Series))
	for i := range to.Series {
		at[to.Series[i].UsageKey] = i
	}
	fresh := 0
	for i := range r.Series {
		if _, ok := at[r.Series[i].UsageKey]; !ok {
			fresh++
		}
	}
	// What waits in memory for a disk that takes nothing is counted, not logged.
	unlog(r)
	if trialsJoined(to, r) > registry.MaxUsageTrials || len(to.Omitted)+len(r.Omitted) > registry.MaxUsageSeries || len(to.Series)+fresh > registry.MaxUsageSeries || len(to.Causes)+len(r.Causes) > registry.MaxUsageSeries {
		return false
	}
	for i := range r.Series {
		x := &r.Series[i]
		j, ok := at[x.UsageKey]
		if !ok {
			to.Series = append(to.Series, *x)
			continue
		}
		if err := to.Series[j].Add(&x.UsageCounts); err != nil {
			panic("BUG: a histogram of this node cannot be read: " + err.Error())
		}
	}
	for _, o := range r.Omitted {
		to.Omitted = addOmitted(to.Omitted, o)
	}
	joinTrials(to, r)
	to.Causes = append(to.Causes, r.Causes...)
	to.Samples = append(to.Samples, r.Samples...)
	to.Samples = to.Samples[:min(len(to.Samples), registry.MaxUsageSamples)]
	to.Found = append(to.Found, r.Found...)
	to.Found = to.Found[:min(len(to.Found), registry.MaxUsageFound)]
	return true
}

// sameTrial finds what a report says of a trial; -1: nothing.
func sameTrial(in *registry.UsageReport, of *registry.UsageTrial) int {
	return slices.IndexFunc(in.Trials, func(t registry.UsageTrial) bool {
		return t.Trial == of.Trial && t.Toolset == of.Toolset && t.Workspace == of.Workspace
	})
}

// trialsJoined is how many trials both reports have together.
func trialsJoined(to, r *registry.UsageReport) int {
	n := len(to.Trials)
	for i := range r.Trials {
		if sameTrial(to, &r.Trials[i]) < 0 {
			n++
		}
	}
	return n
}

// joinTrials adds the trials of r to those of a report that has room for them.
func joinTrials(to, r *registry.UsageReport) {
	for i := range r.Trials {
		x := &r.Trials[i]
		j := sameTrial(to, x)
		if j < 0 {
			to.Trials = append(to.Trials, *x)
			continue
		}
		if err := to.Trials[j].Add(&x.TrialCounts); err != nil {
			panic("BUG: a histogram of this node cannot be read: " + err.Error())
		}
	}
}

// write makes a pending report durable and hands it to the poster.
func (s *Spool) write(r *registry.UsageReport) error {
	s.mu.Lock()
	f := report{epoch: s.epoch, sequence: s.next}
	r.Epoch, r.Sequence, r.Oldest = s.epoch, s.next, s.next
	for _, waiting := range s.files {
		if waiting.epoch == s.epoch {
			r.Oldest = waiting.sequence
			break
		}
	}
	crowded := s.bytes > s.o.MaxBytes/logShare
	s.mu.Unlock()
	if crowded {
		unlog(r)
	}
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode a usage report: %w", err)
	}
	if err := atomicfile.MkdirAll(s.o.System, s.o.Dir, 0o700); err != nil {
		return err
	}
	if err := atomicfile.WriteOn(s.o.System, filepath.Join(s.o.Dir, f.name()), b, 0o600); err != nil {
		return err
	}
	f.size = int64(len(b))
	s.mu.Lock()
	s.next++
	s.files, s.bytes = append(s.files, f), s.bytes+f.size
	var gone []report
	for s.bytes > s.o.MaxBytes && len(s.files) > 1 {
		gone = append(gone, s.files[0])
		s.bytes -= s.files[0].size
		s.files = s.files[1:]
		s.dropped++
	}
	s.mu.Unlock()
	for _, g := range gone {
		_ = atomicfile.Remove(s.o.System, filepath.Join(s.o.Dir, g.name())) // what stays is posted after a restart
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return nil
}

// postAll posts reports in order until ctx ends.
func (s *Spool) postAll(ctx context.Context) {
	pause := retry.Backoff{First: minPause, Longest: maxPause, Jitter: s.o.Jitter}
	for ctx.Err() == nil {
		err := s.Post(ctx)
		if err == nil {
			pause.Reset()
			select {
			case <-ctx.Done():
			case <-s.wake:
			}
			continue
		}
		_ = pause.Wait(ctx) // the loop looks at ctx
	}
}

// Post posts the reports that wait, oldest first, until none is left or one is not
// taken.
func (s *Spool) Post(ctx context.Context) error {
	s.posting.Lock()
	defer s.posting.Unlock()
	return s.postLocked(ctx)
}

// Settle brings the control plane up to date before somebody reads there, at most
// ten times a second: who asks sooner waits. It is for a node beside its control
// plane, where posting is quick.
func (s *Spool) Settle(ctx context.Context) error {
	s.posting.Lock()
	defer s.posting.Unlock()
	if wait := settleEvery - time.Since(s.settled); wait > 0 {
		if err := retry.Sleep(ctx, wait); err != nil {
			return err
		}
	}
	s.settled = time.Now()
	if err := s.Flush(); err != nil {
		return err
	}
	return s.postLocked(ctx)
}

func (s *Spool) postLocked(ctx context.Context) error {
	for {
		s.mu.Lock()
		if len(s.files) == 0 {
			s.postErr = nil
			s.mu.Unlock()
			return nil
		}
		f := s.files[0]
		s.mu.Unlock()
		err := s.postOne(ctx, f)
		refused := problem.Is(err, problem.InvalidArgument) || problem.Is(err, problem.TooLarge)
		s.mu.Lock()
		if s.postErr = err; refused {
			s.rejected, s.postErr, err = err, nil, nil
		}
		s.mu.Unlock()
		if err != nil {
			return err
		}
		s.forget(ctx, f, refused)
	}
}

func (s *Spool) postOne(ctx context.Context, f report) error {
	path := filepath.Join(s.o.Dir, f.name())
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // dropped meanwhile
	}
	if err != nil {
		return fmt.Errorf("read a usage report: %w", err)
	}
	r := new(registry.UsageReport)
	if err := json.Unmarshal(b, r); err != nil {
		return problem.New(problem.InvalidArgument, "the usage report %s is damaged", f.name()).Because(err)
	}
	r.Posted = s.o.Now().UTC()
	pctx, cancel := context.WithTimeout(ctx, postTimeout)
	defer cancel()
	if _, err := s.o.Poster.PostUsage(pctx, r); err != nil {
		return fmt.Errorf("post usage: %w", err)
	}
	return nil
}

// forget takes a report out of the spool. One that was refused is kept beside it for
// people, unless there are many.
func (s *Spool) forget(ctx context.Context, f report, refused bool) {
	path := filepath.Join(s.o.Dir, f.name())
	var err error
	kept, _ := filepath.Glob(filepath.Join(s.o.Dir, "*"+refusedSuffix)) // the pattern is valid
	if refused && len(kept) < maxRefused {
		s.log.LogAttrs(ctx, slog.LevelError, "a usage report was refused and put aside", slog.String("report", f.name()), slog.Any("error", s.Fault()))
		err = s.o.System.Rename(path, strings.TrimSuffix(path, reportSuffix)+refusedSuffix)
	} else {
		err = atomicfile.Remove(s.o.System, path)
	}
	// One that stays is posted again after a restart, and dropped there as a repetition.
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.log.LogAttrs(ctx, slog.LevelWarn, "a usage report that was posted is still in the spool", slog.Any("error", err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.files, f); i >= 0 {
		s.files = slices.Delete(s.files, i, i+1)
		s.bytes -= f.size
	}
}
