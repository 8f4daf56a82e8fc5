package metering

import (
	"encoding/json"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/sluicegate/sluice/internal/redact"
	"github.com/sluicegate/sluice/registry"
)

// Capture says of which calls arguments and answers go into the call log.
type Capture uint8

// The settings of capture.
const (
	CaptureNothing Capture = iota
	CaptureFailed          // of calls that failed
	CaptureAll
)

// CaptureOf reads the setting of an access document; one that is not known captures
// nothing.
func CaptureOf(setting string) Capture {
	switch setting {
	case registry.CaptureErrors:
		return CaptureFailed
	case registry.CaptureAll:
		return CaptureAll
	}
	return CaptureNothing
}

// Takes reports whether arguments and answer of a call with this outcome are captured.
func (c Capture) Takes(o Outcome) bool { return c == CaptureAll || c == CaptureFailed && o != OK }

const (
	// MaxLogged is how many calls of all tools are logged between two drains: 400 a
	// second for the ten seconds of a flush. What is beyond is counted only. The bound
	// is for the disk of the control plane, not for the node's time: a call is one slot
	// of memory that is there.
	MaxLogged = 4096
	// blockCalls of them have memory of their own, which goes from a drained window to the
	// next: a node that is called as fast as that holds its calls once, not twice.
	blockCalls = 256
	// loggedFailures of them are kept for calls that failed, so that a crowd of calls
	// that worked does not hide them.
	loggedFailures = MaxLogged / 4
	// maxRawCapture of the arguments, or the answer, of one call until they are
	// redacted: twice what is kept, so that what is cut off of a secret is not
	// what gives it away.
	maxRawCapture = 2 * registry.MaxCaptureBytes
	// maxCaptured bytes between two drains; calls beyond are logged without. Redaction
	// of the worst texts takes about a second for this much.
	maxCaptured = 1 << 20
)

// logged is one call of the log, in memory of its own.
type logged struct {
	tool                                               *Tool
	at                                                 time.Time
	revision                                           uint64
	outcome                                            Outcome
	credential                                         Credential
	cached, captured                                   bool
	status                                             int
	duration, prepare, upstream, shape, encode         time.Duration
	bytesBefore, bytesAfter, tokensBefore, tokensAfter int
	cause, connector, callerKind, caller               string
	request                                            [registry.MaxUsageRequest]byte
	requestLen                                         int
	trace                                              [32]byte
	traced                                             bool
	arguments, answer                                  []byte
	inner                                              bool
	script                                             string
	run                                                *registry.ScriptRun
}

// block is the memory of some calls in a row.
type block [blockCalls]logged

// window is the log between two drains. Writers take slots without a lock, but for the
// first of a block.
type window struct {
	writers    atomic.Int64 // that may be writing into a slot
	next, good atomic.Int64 // slots taken, and calls that worked that asked for one
	captured   atomic.Int64 // bytes
	blocks     [MaxLogged / blockCalls]atomic.Pointer[block]
}

// callLog is the call log of a Meter. Its memory is made with the calls.
type callLog struct {
	now  atomic.Pointer[window]
	mu   sync.Mutex
	idle *window // guarded by mu; the other window, empty; nil: not made yet

	making sync.Mutex
	free   []*block // guarded by making; drained
}

// slot i of a window.
func (l *callLog) slot(w *window, i int64) *logged {
	at := &w.blocks[i/blockCalls]
	b := at.Load()
	if b == nil {
		l.making.Lock()
		if b = at.Load(); b == nil { // no other writer was first
			if n := len(l.free); n > 0 {
				b, l.free = l.free[n-1], l.free[:n-1]
			} else {
				b = new(block)
			}
			at.Store(b)
		}
		l.making.Unlock()
	}
	return &b[i%blockCalls]
}

// release takes back the memory of a block whose calls were drained.
func (l *callLog) release(at *atomic.Pointer[block]) {
	l.making.Lock()
	defer l.making.Unlock()
	if b := at.Swap(nil); b != nil && len(l.free) < MaxLogged/blockCalls {
		l.free = append(l.free, b)
	}
}

// enter gives the window of now to a writer, who must leave it. No drain reads it
// meanwhile.
func (l *callLog) enter() *window {
	for {
		w := l.now.Load()
		if w == nil {
			l.now.CompareAndSwap(nil, &window{})
			continue
		}
		w.writers.Add(1)
		if l.now.Load() == w {
			return w
		}
		w.writers.Add(-1) // it was drained between the two
	}
}

// log writes a call into the log, or counts it as omitted.
func (t *Tool) log(c *Call, tokensBefore, tokensAfter int) {
	if t.id.Toolset == "" {
		return // a test of a draft
	}
	w := t.m.calls.enter()
	defer w.writers.Add(-1)
	const most = MaxLogged - loggedFailures
	if c.Outcome == OK && (w.good.Load() >= most || w.good.Add(1) > most) || w.next.Load() >= MaxLogged {
		t.omitted.Add(1)
		return
	}
	i := w.next.Add(1) - 1
	if i >= MaxLogged {
		t.omitted.Add(1)
		return
	}
	s := t.m.calls.slot(w, i)
	s.tool, s.at, s.revision, s.outcome, s.credential, s.cached, s.status = t, c.Started, c.Revision, c.Outcome, c.Credential, c.Cached, c.Status
	if s.at.IsZero() {
		s.at = time.Now().Add(-c.Duration)
	}
	s.duration, s.prepare, s.upstream, s.shape, s.encode = c.Duration, c.Prepare, c.Upstream, c.Plugins, c.Encode
	s.bytesBefore, s.bytesAfter, s.tokensBefore, s.tokensAfter = len(c.Before), len(c.After), tokensBefore, tokensAfter
	s.cause, s.connector, s.callerKind, s.caller = c.Cause, c.Connector, c.CallerKind, c.Caller
	if s.requestLen = 0; len(c.Request) <= len(s.request) {
		s.requestLen = copy(s.request[:], c.Request)
	}
	s.traced = len(c.Trace) == len(s.trace)
	copy(s.trace[:], c.Trace)
	s.captured, s.arguments, s.answer = false, nil, nil
	s.inner, s.script, s.run = c.Inner, c.Script, nil
	if c.Capture.Takes(c.Outcome) {
		args, answer := c.Arguments[:min(len(c.Arguments), maxRawCapture)], c.Answer
		if !c.Text {
			answer = nil // an image or a sound
		}
		answer = answer[:min(len(answer), maxRawCapture)]
		if w.captured.Add(int64(len(args)+len(answer))) <= maxCaptured {
			s.captured = true
			s.arguments, s.answer = append([]byte(nil), args...), append([]byte(nil), answer...)
			if s.run = c.Run; c.Run != nil && w.captured.Add(int64(len(c.Run.Code))) > maxCaptured {
				s.run = &registry.ScriptRun{Withheld: registry.WithheldRoom}
			}
		} else if c.Run != nil {
			s.captured, s.run = true, &registry.ScriptRun{Withheld: registry.WithheldRoom}
		}
	}
}

// drain takes what was logged since the last one.
func (l *callLog) drain() []registry.UsageCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.now.Load()
	if w == nil || w.good.Load() == 0 && w.next.Load() == 0 {
		return nil
	}
	if l.idle == nil {
		l.idle = &window{}
	}
	l.now.Store(l.idle)
	for w.writers.Load() != 0 {
		runtime.Gosched() // a writer copies one call
	}
	n := min(w.next.Load(), MaxLogged)
	out := make([]registry.UsageCall, n)
	for i := range n {
		s := l.slot(w, i)
		out[i] = s.call()
		s.tool, s.arguments, s.answer, s.caller, s.cause, s.script, s.run = nil, nil, nil, "", "", "", nil
		if i%blockCalls == blockCalls-1 || i == n-1 {
			l.release(&w.blocks[i/blockCalls])
		}
	}
	w.next.Store(0)
	w.good.Store(0)
	w.captured.Store(0)
	l.idle = w
	return out
}

// call is the slot as it is reported, its texts redacted.
func (s *logged) call() registry.UsageCall {
	id := &s.tool.id
	micros := func(d time.Duration) uint64 { return uint64(max(d, 0) / time.Microsecond) }
	c := registry.UsageCall{
		Workspace: id.Workspace, Toolset: id.Toolset, Tool: id.Tool, Connector: s.connector, At: s.at.UTC().Truncate(time.Millisecond), Revision: s.revision,
		Outcome: s.outcome.String(), Cause: s.cause, Credential: s.credential.String(), Status: s.status, Cached: s.cached,
		CallerKind: s.callerKind, Caller: plain(s.caller, registry.MaxUsageCaller), Request: plain(string(s.request[:s.requestLen]), registry.MaxUsageRequest),
		Duration: micros(s.duration), Prepare: micros(s.prepare), Upstream: micros(s.upstream), Shape: micros(s.shape), Encode: micros(s.encode),
		BytesBefore: uint64(s.bytesBefore), BytesAfter: uint64(s.bytesAfter), TokensBefore: uint64(max(s.tokensBefore, 0)), TokensAfter: uint64(max(s.tokensAfter, 0)),
		Captured: s.captured, Inner: s.inner, Script: s.script,
	}
	if c.CallerKind == "" {
		c.CallerKind = "anonymous"
	}
	if s.traced {
		c.Trace = string(s.trace[:])
	}
	if s.captured {
		c.Arguments, c.Answer = captured(s.arguments), captured(s.answer)
		c.Run = keptRun(s.run)
	}
	return c
}

// keptRun is a run of a script as it is reported. A script in which redaction finds something
// is not kept: it would be another script.
func keptRun(r *registry.ScriptRun) json.RawMessage {
	if r == nil {
		return nil
	}
	if redact.Text(r.Code, len(r.Code)+1) != r.Code || strings.ContainsRune(r.Code, 0) {
		r = &registry.ScriptRun{Withheld: registry.WithheldPersonal}
	}
	out, err := json.Marshal(r)
	if err != nil || len(out) > registry.MaxUsageRun {
		out, _ = json.Marshal(registry.ScriptRun{Withheld: registry.WithheldRoom}) // never fails
	}
	return out
}

// captured is the part of a text that is kept.
func captured(b []byte) string {
	return strings.ReplaceAll(redact.Text(string(b), registry.MaxCaptureBytes), "\x00", " ")
}

// plain cuts a text of a caller to what both databases can hold.
func plain(s string, most int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", " ")
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}
