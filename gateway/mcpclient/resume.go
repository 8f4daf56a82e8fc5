package mcpclient

import (
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/problem"
)

const (
	// maxResumes is how often in a row a stream is asked for again that cannot be had.
	maxResumes = 5
	// resumeAfter is when a stream is asked for again whose server did not say, or that
	// brought nothing; resumeMost is the longest that a server may ask for, and resumeLeast
	// what is waited in any case.
	resumeAfter = time.Second
	resumeMost  = time.Minute
	resumeLeast = 50 * time.Millisecond
)

// resumable reports whether the rest of a stream can be asked for (MCP 2025-11-25
// "Resumability and Redelivery"): it was cut by the connection or the server, whose last
// event had an id. err is how the request ended.
func (x *Exchange) resumable(m *message, err error) bool {
	return x.cut && !x.got && !x.flood.overrun && m.id != 0 && len(x.events.id) > 0 &&
		m.link != nil && !m.link.modern && !problem.Is(err, problem.Cancelled) && !problem.Is(err, problem.Timeout)
}

// resume reads the rest of a stream that was cut, on one GET after the other, until the
// answer is in it. Servers end a stream on purpose, so that a long call holds no connection.
// When no stream can be had it fails with err, which the request ended with. The request is
// not made again: the server took it.
func (c *Client) resume(x *Exchange, t *Target, l *link, err error) error {
	if err == nil {
		err = unanswered(t)
	}
	own := *t
	for vain, wait := 0, x.resumeAfter(); vain < maxResumes; wait = x.resumeAfter() {
		if !x.deadline.IsZero() { // progress moved it
			own.Deadline = x.deadline
		}
		if vain > 0 {
			wait = max(wait, resumeAfter)
		}
		if ended := rest(&own, wait); ended != nil {
			return ended
		}
		before := string(x.events.id)
		failed := c.fetchRest(x, &own, l)
		switch {
		case x.got:
			return nil
		case problem.Is(failed, problem.Cancelled), problem.Is(failed, problem.Timeout), x.flood.overrun:
			return failed
		case failed == nil && !x.cut && x.Status() < fasthttp.StatusInternalServerError: // there is no stream to be had
			return err
		case string(x.events.id) != before:
			vain = 0
		default:
			vain++
		}
	}
	return err
}

// resumeAfter is how long the server wants to be left alone.
func (x *Exchange) resumeAfter() time.Duration {
	if x.events.retry < 0 {
		return resumeAfter
	}
	return min(max(x.events.retry, resumeLeast), resumeMost)
}

// fetchRest asks once for what follows the last event.
func (c *Client) fetchRest(x *Exchange, t *Target, l *link) error {
	x.cut = false
	x.asksStream(t, l)
	x.http.Request.Header.SetBytesV("Last-Event-ID", x.events.id)
	x.http.Events = x.readEvents(t, true)
	return c.send(x, t)
}

// rest waits, unless the call ends before.
func rest(t *Target, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	end := time.NewTimer(time.Until(t.Deadline))
	defer end.Stop()
	tick := time.NewTicker(cancelPoll)
	defer tick.Stop()
	for {
		select {
		case <-timer.C:
			return nil
		case <-end.C:
			return problem.New(problem.Timeout, "%s did not answer in time", t.Endpoint.Name()).Fix("try again")
		case <-tick.C:
			if t.Cancel.Cancelled() {
				return problem.New(problem.Cancelled, "the client no longer waits for the answer")
			}
		}
	}
}
