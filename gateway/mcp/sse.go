package mcp

import (
	"bytes"
	"io"
	"log/slog"
	"math"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/session"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/textfilter"
)

const (
	// beatFirst and beatEvery are when a call that has nothing else to tell says
	// that it is still running: clients give a silent call up after a minute, some
	// after ten seconds.
	beatFirst = time.Second
	beatEvery = 5 * time.Second
	// maxPending bounds what waits for a client that reads slowly, in bytes.
	// Notifications that do not fit are left out; the result never is.
	maxPending = 1 << 20
	// returnWithin is how long a call of a session goes on whose client lost its connection
	// and did not come back: clients try for half a minute.
	returnWithin = 30 * time.Second
	// awayEvery is how often that is looked at.
	awayEvery = time.Second
)

// Level is the severity of a log message (RFC 5424, as MCP names it).
type Level uint8

// The levels. LevelNone is not a level at all.
const (
	LevelNone Level = iota
	LevelDebug
	LevelInfo
	LevelNotice
	LevelWarning
	LevelError
	LevelCritical
	LevelAlert
	LevelEmergency
)

var levelNames = [...]string{"", "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// String is the name in the protocol.
func (l Level) String() string { return levelNames[l] }

// levelOf reads a level; LevelNone for what is none.
func levelOf(v jsonscan.Value) Level {
	for l := LevelDebug; l <= LevelEmergency; l++ {
		if v.EqualText(levelNames[l]) {
			return l
		}
	}
	return LevelNone
}

// Stream carries the notifications of one tool call to its client, ahead of the
// result. It exists only when the client asked for some and accepts a stream; the
// answer becomes one with the first notification (MCP 2026-07-28 "Receiving
// Messages"). A nil Stream drops everything. It is safe for concurrent use, until
// the call it belongs to returned.
type Stream struct {
	token   []byte           // raw JSON of the progress token; nil: none
	level   Level            // of the least log message that is wanted; LevelNone: none is
	named   bool             // the client named the level
	session *session.Session // whose client may resume the stream; nil: it cannot
	request []byte           // JSON of the id of the call, of a session
	made    string           // the settings of its toolset that make the answer

	tasks     TaskNames // see OfTasks
	ownToken  uint64
	taskToken []byte

	mu      sync.Mutex
	replay  *session.Replay // guarded by mu; nil: the stream cannot be resumed
	lost    bool            // guarded by mu; the connection is not written any more
	pending []byte          // guarded by mu; events that were not sent yet
	started bool            // guarded by mu; something was notified
	beating string          // guarded by mu; message of the beats; "": none
	begun   time.Time       // of the call
	last    float64         // guarded by mu; progress sent last
	wake    chan struct{}   // holds one token: look at pending
}

// WantsProgress reports whether progress is delivered.
func (s *Stream) WantsProgress() bool { return s != nil && s.token != nil }

// Started reports whether the answer is a stream by now.
func (s *Stream) Started() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.started
}

// Wants reports whether log messages of a level are delivered.
func (s *Stream) Wants(l Level) bool { return s != nil && s.level != LevelNone && l >= s.level }

// NamedLevel reports whether the client named the level, and not the gateway.
func (s *Stream) NamedLevel() bool { return s != nil && s.named }

// Progress sends notifications/progress; total 0: not known; message "": none.
// Progress that does not increase is left out: clients may refuse it.
func (s *Stream) Progress(progress, total float64, message string) {
	if !s.WantsProgress() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progressLocked(progress, total, message)
}

func (s *Stream) progressLocked(progress, total float64, message string) {
	if s.started && progress <= s.last || math.IsNaN(progress) || math.IsInf(progress, 0) {
		return
	}
	s.last = progress
	b := append([]byte(nil), `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`...)
	b = append(b, s.token...)
	b = append(b, `,"progress":`...)
	b = strconv.AppendFloat(b, progress, 'f', -1, 64)
	if total > 0 && !math.IsInf(total, 0) {
		b = append(b, `,"total":`...)
		b = strconv.AppendFloat(b, total, 'f', -1, 64)
	}
	if message != "" {
		b = append(b, `,"message":`...)
		b = jsonscan.AppendStringOf(b, message)
	}
	_ = s.sendLocked(append(b, `}}`...)) // left out when there is no room
}

// Log sends notifications/message when the level is wanted. data is one JSON
// value.
func (s *Stream) Log(l Level, logger string, data []byte) {
	if !s.Wants(l) {
		return
	}
	b := append([]byte(nil), `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"`...)
	b = append(append(b, l.String()...), '"')
	if logger != "" {
		b = append(b, `,"logger":`...)
		b = jsonscan.AppendStringOf(b, logger)
	}
	b = append(b, `,"data":`...)
	b = append(b, data...)
	b = append(b, `}}`...)
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.sendLocked(b) // left out when there is no room
}

// Relay passes a notification of another server on, its parameters as they came but
// for hidden characters:
// progress under the token of this call, log messages of a level that is wanted, and to
// clients that can be sent to a URL that they are done there.
// Everything else is dropped. It keeps nothing of params.
func (s *Stream) Relay(method string, params jsonscan.Value) {
	if s == nil || params.Kind() != jsonscan.Object {
		return
	}
	if textfilter.IndexJSON(params.Raw()) >= 0 {
		params = jsonscan.Trusted(textfilter.AppendJSON(nil, params.Raw()))
	}
	params = s.tasks.rename(params)
	switch method {
	case "notifications/progress":
		token := s.tokenOf(params)
		if token == nil {
			return
		}
		progress, err := strconv.ParseFloat(string(params.Get("progress").Raw()), 64)
		s.mu.Lock()
		defer s.mu.Unlock()
		if err != nil || s.started && progress <= s.last && s.last > 0 {
			return
		}
		s.last = progress
		_ = s.sendLocked(appendRelayed(method, params, token)) // left out when there is no room
	case "notifications/message":
		if l := levelOf(params.Get("level")); l == LevelNone || !s.Wants(l) {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		_ = s.sendLocked(appendRelayed(method, params, nil)) // left out when there is no room
	case taskStatus:
		said, ok := s.tasks.status(params)
		if !ok {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		_ = s.sendLocked(appendRelayed(method, said, nil)) // left out when there is no room
	case elicitationComplete:
		if s.session == nil || !opensURLs(s.session) {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		_ = s.sendLocked(appendRelayed(method, params, nil)) // left out when there is no room
	}
}

// Request sends a request of another server to the client of a session, under the id of
// the question, and reports whether there was room for it. What is not a parameter object is
// left out; hidden characters are removed. It keeps nothing of params.
func (s *Stream) Request(q *session.Question, method string, params jsonscan.Value) bool {
	if s == nil {
		return false
	}
	b := AppendRequest(nil, q, method, params, s.tasks)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sendLocked(b)
}

// ProgressOnly passes on of a notification of another server how far a call is, by numbers alone:
// its words, which come while the call runs, are not filtered one by one.
func (s *Stream) ProgressOnly(method string, params jsonscan.Value) {
	if method != "notifications/progress" {
		return
	}
	progress, err := strconv.ParseFloat(string(params.Get("progress").Raw()), 64)
	if err != nil {
		return
	}
	total, _ := strconv.ParseFloat(string(params.Get("total").Raw()), 64) // 0: not known
	s.Progress(progress, total, "")
}

// tokenOf is the client's token for what a server reports; nil: there is none.
func (s *Stream) tokenOf(params jsonscan.Value) []byte {
	if own, ok := params.Get("progressToken").Whole(); ok && s.taskToken != nil && own == s.ownToken {
		return s.taskToken
	}
	return s.token
}

func appendRelayed(method string, params jsonscan.Value, token []byte) []byte {
	b := append([]byte(nil), `{"jsonrpc":"2.0","method":"`...)
	b = append(append(b, method...), `","params":{`...)
	mark := len(b)
	for it := params.Members(); it.Next(); {
		b = jsonscan.AppendKey(b, mark, it.Key())
		if it.KeyEqual("progressToken") && token != nil {
			b = append(b, token...)
		} else {
			b = append(b, it.Value().Raw()...)
		}
	}
	return append(b, '}', '}')
}

// Beat lets the stream say by itself that the call is still running: progress is
// the seconds it took so far, without a total. It is for calls that know nothing
// of their progress; once begun, no other progress may be sent.
func (s *Stream) Beat(message string) {
	if !s.WantsProgress() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beating = message
}

func (s *Stream) beat() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.beating != "" {
		s.progressLocked(math.Round(time.Since(s.begun).Seconds()*10)/10, 0, s.beating)
	}
}

func (s *Stream) sendLocked(message []byte) bool {
	if len(s.pending)+len(message) > maxPending {
		return false
	}
	if !s.started && s.session != nil {
		if s.replay = s.session.Replay(s.request, s.made); s.replay != nil && s.session.Primed() {
			s.pending = s.replay.AppendPrime(s.pending)
		}
	}
	s.started = true
	s.appendLocked(message, false)
	s.signal()
	return true
}

// appendLocked makes a message the next event, for this connection or for the one that the
// client came back on.
func (s *Stream) appendLocked(message []byte, last bool) {
	if s.replay == nil {
		s.pending = appendEvent(s.pending, message)
		return
	}
	out, elsewhere := s.replay.Append(s.pending, message, last)
	if s.lost = s.lost || elsewhere; !s.lost {
		s.pending = out
	}
}

// finish makes the response the last event.
func (s *Stream) finish(response []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.appendLocked(response, true)
}

// Lose says that the client's connection is gone, and reports whether the call goes on
// because the client can read the rest on another.
func (s *Stream) Lose() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.replay == nil {
		return false
	}
	s.lost = true
	s.replay.Leave()
	s.signal()
	return true
}

func (s *Stream) isLost() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

func (s *Stream) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// take moves what is pending to p.
func (s *Stream) take(p []byte) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := copy(p, s.pending)
	s.pending = s.pending[:copy(s.pending, s.pending[n:])]
	return n
}

func (s *Stream) hasStarted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.started
}

// appendEvent appends one server-sent event without an id.
func appendEvent(dst, message []byte) []byte { return session.AppendEvent(dst, "", message) }

// AcceptsStream reports whether a client takes text/event-stream.
func AcceptsStream(accept []byte) bool {
	for part := range bytes.SplitSeq(accept, []byte(",")) {
		media, params, _ := bytes.Cut(part, []byte(";"))
		if bytes.EqualFold(trim(media), []byte("text/event-stream")) && !bytes.Equal(bytes.ReplaceAll(params, []byte(" "), nil), []byte("q=0")) {
			return true
		}
	}
	return false
}

// newStream makes the stream of a call whose client asked for notifications; nil
// when it did not or cannot read them. Before 2026-07-28 the level of the log is
// that of the session; where none is known, what a tool has to tell by itself is told
// from the level info on.
func (x *exchange) newStream(modern bool) *Stream {
	token, level, named := x.msg.meta.Get("progressToken"), LevelNone, true
	switch {
	case modern:
		level = levelOf(x.msg.meta.Get(metaLogLevel))
	case x.session != nil && x.session.Level() != 0:
		level = Level(x.session.Level())
	case x.tool.Logs():
		level, named = LevelInfo, false // MCP 2025-11-25 "Logging": the server chooses while it was told no level
	}
	if k := token.Kind(); k != jsonscan.String && k != jsonscan.Number {
		token = jsonscan.Value{}
	}
	if !token.Exists() && level == LevelNone || x.batched || x.rc == nil || !AcceptsStream(x.req.Peek(fasthttp.HeaderAccept)) {
		return nil
	}
	s := &Stream{level: level, named: named, begun: time.Now(), wake: make(chan struct{}, 1)}
	if token.Exists() {
		s.token = token.Raw() // lives as long as the request, which the stream does not outlive
	}
	if !modern {
		s.session, s.request, s.made = x.session, x.msg.id, x.ts.Made()
	}
	return s
}

// answer is the body of a response whose call still runs: notifications, then the
// result. The call runs in its own goroutine; Close ends it and waits for it, so
// nothing of the request is used afterwards.
type answer struct {
	x     *exchange
	s     *Stream
	done  chan struct{} // closed when the call returned and x.out is the response
	beats *time.Timer
	ended bool // the result was made an event
}

// stream runs finish (the rest of serving a tool call) in its own goroutine. When
// it returns before anything was notified, that is the response. Otherwise the
// response becomes a stream which owns x from now on, and stream returns true.
func (x *exchange) stream(s *Stream, finish func()) bool {
	a := &answer{x: x, s: s, done: make(chan struct{}), beats: time.NewTimer(beatFirst)}
	go func() {
		defer close(a.done)
		defer func() {
			if v := recover(); v != nil { // the caller's boundary is another goroutine's
				x.s.log.Error("a tool call ended in a panic", slog.Any("cause", v), slog.String("stack", string(debug.Stack())))
				x.out = x.out[:0]
				x.fail(&faultInternal)
			}
		}()
		finish()
	}()
	for !s.hasStarted() {
		select {
		case <-a.done:
			if !s.hasStarted() {
				a.beats.Stop()
				return false
			}
		case <-s.wake:
			s.signal() // for Read
		case <-a.beats.C:
			a.beats.Reset(beatEvery)
			s.beat()
		}
	}
	h := &x.rc.Response.Header
	x.rc.SetStatusCode(fasthttp.StatusOK)
	h.SetContentType("text/event-stream")
	h.Set(fasthttp.HeaderCacheControl, "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	x.rc.Response.SetBodyStream(a, -1)
	return true
}

// Read implements [io.Reader]: it blocks until there is something to send.
func (a *answer) Read(p []byte) (int, error) {
	for {
		if n := a.s.take(p); n > 0 {
			a.extend()
			return n, nil
		}
		if a.ended || a.s.isLost() {
			return 0, io.EOF
		}
		select {
		case <-a.done:
			a.end()
		case <-a.s.wake:
		case <-a.beats.C:
			a.beats.Reset(beatEvery)
			a.s.beat()
		}
	}
}

// extend gives the client time for the next write: the server's limit is for
// answers that are written at once.
func (a *answer) extend() {
	if c := a.x.rc.Conn(); c != nil && a.x.s.writeTimeout > 0 {
		_ = c.SetWriteDeadline(time.Now().Add(a.x.s.writeTimeout)) // a closed connection fails the write
	}
}

// end makes the result the last event, once.
func (a *answer) end() {
	if !a.ended {
		a.ended = true
		a.s.finish(a.x.out)
	}
}

// Close implements [io.Closer]. The client may have gone: the call is ended, unless the
// client can come back for the rest.
func (a *answer) Close() error {
	select {
	case <-a.done:
	default:
		if !a.s.Lose() || !a.outlast() {
			a.x.tool.Cancel()
		}
		<-a.done
	}
	a.end()
	a.beats.Stop()
	a.x.release()
	return nil
}

// outlast waits for the end of a call whose client lost its connection. It is false when
// the client did not come back, or the gateway stops.
func (a *answer) outlast() bool {
	tick := time.NewTicker(awayEvery)
	defer tick.Stop()
	for {
		select {
		case <-a.done:
			return true
		case <-a.beats.C:
			a.beats.Reset(beatEvery)
			a.s.beat()
		case <-tick.C:
			if away := a.s.replay.Away(); away >= returnWithin || away > 0 && a.x.s.stopping() {
				return false
			}
		}
	}
}
