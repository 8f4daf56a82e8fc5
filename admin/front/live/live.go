package live

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// How many streams there are at once: each keeps a connection and a goroutine.
const (
	// maxStreams is of the whole node.
	maxStreams = 1000
	// maxStreamsOfOne is of one member or API token: several browsers with several windows.
	maxStreamsOfOne = 20
)

const (
	// lookEvery is how often the records of a workspace are looked at while somebody is notified of them.
	lookEvery = time.Second
	// beat is how often a stream says that it is there, and whether it may go on: proxies
	// close what is silent for a minute.
	beat = 15 * time.Second
)

// Event is what a stream tells.
type Event struct {
	// Mark is where a later stream goes on.
	Mark string
	// Subjects are the kinds of records that changed; none: the stream begins, or is still there.
	Subjects []string
}

// Room reports changes. Its exported fields must be set before it is used.
type Room struct {
	Store *store.Store
	Log   *slog.Logger
	// Stopping is closed when streams are to end.
	Stopping <-chan struct{}

	mu      sync.Mutex
	streams int               // guarded by mu
	of      map[string]int    // guarded by mu: streams of a member or token
	watched map[string]*watch // guarded by mu: by workspace
}

// watch looks at the records of a workspace for all of its streams.
type watch struct {
	streams int // guarded by Room.mu
	stop    context.CancelFunc
	changed publish.Bell

	mu    sync.Mutex
	marks []string // guarded by mu; nil: not known yet
}

// Stream is one who is told. It must be closed.
type Stream struct {
	room   *Room
	ws     *store.Workspace
	as     *store.Token
	secret []byte // hash of the secret of the session or token that asks
	holder string
	watch  *watch
	once   sync.Once
}

// Open begins to tell the one who asks. It fails with [problem.RateLimited] when too many are told already.
func (r *Room) Open(ctx context.Context, ws *store.Workspace) (*Stream, error) {
	req := request.Of(ctx)
	s := &Stream{room: r, ws: ws, as: req.Token, secret: req.Token.Hash, holder: req.Token.ID}
	if req.Session != nil {
		s.secret = req.Session.Hash
	}
	if req.Token.MemberID != "" {
		s.holder = req.Token.MemberID
	}
	s.holder = ws.ID() + "/" + s.holder
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of, r.watched = map[string]int{}, map[string]*watch{}
	}
	switch {
	case r.of[s.holder] >= maxStreamsOfOne:
		return nil, problem.New(problem.RateLimited, "you have %d open event streams", maxStreamsOfOne).Fix("close one, such as a window with the console, or ask from time to time instead")
	case r.streams >= maxStreams:
		return nil, problem.New(problem.RateLimited, "this node has %d open event streams", maxStreams).Fix("try again later, or ask from time to time instead")
	}
	r.streams++
	r.of[s.holder]++
	if s.watch = r.watched[ws.ID()]; s.watch == nil {
		// It goes on for later streams when the first one ends.
		looking, stop := context.WithCancel(context.WithoutCancel(ctx))
		s.watch = &watch{stop: stop}
		r.watched[ws.ID()] = s.watch
		go r.look(looking, ws, s.watch)
	}
	s.watch.streams++
	return s, nil
}

// Close ends the stream.
func (s *Stream) Close() {
	s.once.Do(func() {
		r := s.room
		r.mu.Lock()
		defer r.mu.Unlock()
		r.streams--
		if r.of[s.holder]--; r.of[s.holder] == 0 {
			delete(r.of, s.holder)
		}
		if s.watch.streams--; s.watch.streams == 0 {
			s.watch.stop()
			delete(r.watched, s.ws.ID())
		}
	})
}

// look looks at the records of a workspace until ctx ends.
func (r *Room) look(ctx context.Context, ws *store.Workspace, w *watch) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	failed := false
	for {
		marks, err := ws.ChangeMarks(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if !failed {
				r.Log.LogAttrs(ctx, slog.LevelWarn, "changes are not told: the records cannot be read", slog.Any("error", err))
			}
		default:
			w.mu.Lock()
			changed := strings.Join(w.marks, "_") != strings.Join(marks, "_")
			w.marks = marks
			w.mu.Unlock()
			if changed {
				w.changed.Ring()
			}
		}
		failed = err != nil
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Follow sends what changed after a mark of an earlier stream ("": from now on), until ctx
// or the node ends, send fails, or who asks may no longer do what they might at the
// beginning: then it fails with [problem.Unauthenticated].
func (s *Stream) Follow(ctx context.Context, after string, send func(Event) error) error {
	beats := time.NewTicker(beat)
	defer beats.Stop()
	var at []string // what was told already; nil: nothing
	if after != "" {
		at = strings.Split(after, "_")
	}
	for began := false; ; {
		rung := s.watch.changed.Wait()
		s.watch.mu.Lock()
		marks := s.watch.marks
		s.watch.mu.Unlock()
		if marks != nil {
			changed := changes(at, marks)
			if !began || len(changed) > 0 {
				if err := s.allowed(ctx); err != nil {
					return err
				}
				if err := send(Event{Mark: strings.Join(marks, "_"), Subjects: changed}); err != nil {
					return err
				}
			}
			at, began = marks, true
		}
		select {
		case <-rung:
		case <-ctx.Done():
			return nil
		case <-s.room.Stopping:
			return nil
		case <-beats.C:
			if err := s.allowed(ctx); err != nil {
				return err
			}
			if err := send(Event{}); err != nil {
				return err
			}
		}
	}
}

// changes are the subjects whose marks differ. A mark that is not understood differs in all of them.
func changes(at, marks []string) []string {
	out := []string{}
	for i, m := range marks {
		if at != nil && (len(at) != len(marks) || at[i] != m) {
			out = append(out, store.Subjects[i])
		}
	}
	return out
}

// allowed fails when the session or token ended, or has another role than at the beginning.
// It does not count as use of the session.
func (s *Stream) allowed(ctx context.Context) error {
	var now *store.Token
	var err error
	if s.as.Hash == nil {
		_, now, err = s.room.Store.SessionByHash(ctx, s.secret)
	} else {
		now, err = s.room.Store.TokenByHash(ctx, s.secret)
	}
	if err != nil {
		return err
	}
	if now.Role != s.as.Role {
		return problem.New(problem.Unauthenticated, "the role has changed").Fix("open the stream again")
	}
	return nil
}
