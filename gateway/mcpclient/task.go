package mcpclient

import (
	"strconv"
	"time"

	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

const (
	// taskLife is how long a server is asked to keep a task: longer than any call takes.
	taskLife = 2 * time.Hour
	// taskPoll is how often a server is asked how far a task is that does not say how often
	// it wants to be. It is asked neither more often than taskSoonest nor less than taskLatest.
	taskPoll, taskSoonest, taskLatest = time.Second, 100 * time.Millisecond, 10 * time.Second
	// maxTaskID bounds the name of a task, which is repeated with each question.
	maxTaskID = 1 << 10
)

// task is a call that a server goes on with by itself (MCP 2025-11-25 "Tasks").
type task struct {
	id       string
	status   string
	said     string // what a person is told
	interval time.Duration
}

// ended reports whether the result is there.
func (k *task) ended() bool {
	return k.status == "completed" || k.status == "failed" || k.status == "cancelled"
}

// read takes over what the server says of the task; false: it is not a task.
func (k *task) read(v jsonscan.Value) bool {
	id, status := v.Get("taskId"), v.Get("status")
	if id.Kind() != jsonscan.String || status.Kind() != jsonscan.String || len(id.Raw()) > maxTaskID {
		return false
	}
	k.id, k.status, k.said = string(id.AppendText(nil)), string(status.AppendText(nil)), ""
	if said := v.Get("statusMessage"); said.Kind() == jsonscan.String {
		k.said = clip(said.AppendText(nil), maxMessage)
	}
	k.interval = taskPoll
	if ms, ok := v.Get("pollInterval").Int64(); ok && ms > 0 {
		k.interval = time.Duration(min(ms, taskLatest.Milliseconds())) * time.Millisecond
	}
	k.interval = max(k.interval, taskSoonest)
	return k.ended() || k.status == "working" || k.status == "input_required"
}

// awaitTask waits for the result of the task that x has as the result of the call, and
// leaves that in x. A server that answered at once has given its result already. The
// task is cancelled when the call ends before it.
func (c *Client) awaitTask(x *Exchange, t *Target, l *link, call *Call) error {
	given := x.result.Get("task")
	if !given.Exists() {
		return nil
	}
	own := *t
	t = &own
	t.defaults()
	if x.deadline.After(t.Deadline) {
		t.Deadline = x.deadline
	}
	var k task
	if !k.read(given) {
		return noTask(t)
	}
	err := c.followTask(x, t, l, call, &k)
	if err != nil && (problem.Is(err, problem.Cancelled) || problem.Is(err, problem.Timeout)) {
		c.background(t, l, append(taskRequest(nil, c.ids.Add(1), "tasks/cancel", k.id), '}', '}'))
	}
	return err
}

func noTask(t *Target) error {
	return problem.New(problem.UpstreamMalformed, "%s sent an invalid task", t.Endpoint.server()).
		Fix("look at the log of the server")
}

// followTask asks how far the task is until its result is there, or the server has a
// question, which comes with the result.
func (c *Client) followTask(x *Exchange, t *Target, l *link, call *Call, k *task) error {
	for n := 0; k.status == "working"; n++ {
		x.working(t, call, k, n)
		if err := pauseTask(t, k.interval); err != nil {
			return err
		}
		id := k.id
		if err := c.askTask(x, t, l, call, "tasks/get", id); err != nil || x.fault != nil {
			return err
		}
		if !k.read(x.result) || k.id != id {
			return noTask(t)
		}
	}
	return c.askTask(x, t, l, call, "tasks/result", k.id)
}

// working says that the task goes on: to the client, and to the limit of the call.
func (x *Exchange) working(t *Target, call *Call, k *task, n int) {
	if t.Idle > 0 && !t.Latest.IsZero() {
		if end := time.Now().Add(t.Idle); end.After(t.Deadline) {
			t.Deadline = end
		}
		if t.Deadline.After(t.Latest) {
			t.Deadline = t.Latest
		}
		x.deadline = t.Deadline
	}
	if !call.Progress || call.Notify == nil {
		return
	}
	// As a server would say it: who passes it on puts the client's token in place of ours.
	params := strconv.AppendUint([]byte(`{"progressToken":`), x.id, 10)
	params = strconv.AppendInt(append(params, `,"progress":`...), int64(n+1), 10)
	if k.said != "" {
		params = jsonscan.AppendStringOf(append(params, `,"message":`...), k.said)
	}
	call.Notify(notificationProgress, jsonscan.Trusted(t.redact(append(params, '}'))))
}

// pauseTask waits, unless the call ends before.
func pauseTask(t *Target, d time.Duration) error {
	left := time.Until(t.Deadline)
	timer := time.NewTimer(min(d, left))
	defer timer.Stop()
	gone := make(chan struct{}, 1)
	forget := t.Cancel.After(func() {
		select {
		case gone <- struct{}{}:
		default:
		}
	})
	defer forget()
	select {
	case <-timer.C:
	case <-gone:
		return problem.New(problem.Cancelled, "the call was cancelled: the client has gone")
	}
	if d >= left {
		return problem.New(problem.Timeout, "the task at %s did not end in time", t.Endpoint.Name()).Fix(upstream.WaitLonger)
	}
	return nil
}

func taskRequest(dst []byte, id uint64, method, task string) []byte {
	return jsonscan.AppendStringOf(append(appendRequest(dst, id, method), `"taskId":`...), task)
}

// askTask makes a request about a task in the session that it belongs to.
func (c *Client) askTask(x *Exchange, t *Target, l *link, call *Call, method, task string) error {
	id := c.ids.Add(1)
	x.body = append(c.appendMeta(taskRequest(x.body[:0], id, method, task), l, id, &Call{Meta: call.Meta, Progress: call.Progress}), '}', '}')
	m := &message{method: method, id: id, body: x.body, link: l, version: l.version, repeatable: true}
	var err error
	if l.stream != nil {
		err = c.ask(x, t, l, m)
	} else {
		x.link = l
		err = c.post(x, t, t.Endpoint.target, m)
	}
	if err != nil {
		return err
	}
	if err := x.refusedAuth(t); err != nil {
		return err
	}
	return x.answerError(t, l)
}
