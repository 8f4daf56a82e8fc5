package pool

import "context"

const (
	// maxLater is how many jobs wait for the server at most, and maxLaterBytes how much they
	// hold: what comes when there is no room is not done.
	maxLater      = 1024
	maxLaterBytes = 16 << 20
)

// job is something that no call waits for.
type job struct {
	size int
	run  func(context.Context)
}

// Later runs a job that holds size bytes behind those that were given before, so that no call
// waits for it; false: there is no room, and it is not run. What waits when the Store is closed
// is not run either.
func (s *Store) Later(size int, run func(context.Context)) bool {
	if s.waiting.Add(int64(size)) <= maxLaterBytes {
		select {
		case s.jobs <- job{size, run}:
			return true
		default:
		}
	}
	s.waiting.Add(-int64(size))
	return false
}

// runLater runs jobs until the Store is closed.
func (s *Store) runLater() {
	for {
		select {
		case <-s.done:
			return
		case j := <-s.jobs:
			j.run(context.Background())
			s.waiting.Add(-int64(j.size))
		}
	}
}
