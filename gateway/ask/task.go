package ask

import (
	"bytes"

	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/internal/jsonscan"
)

// What servers ask of the tasks that a client of 2025-11-25 runs for them.
const (
	tasksGet    = "tasks/get"
	tasksResult = "tasks/result"
	tasksList   = "tasks/list"
	tasksCancel = "tasks/cancel"
)

// mayAsk reports whether what is asked for is the server's own: a client runs tasks for all
// servers of a toolset under names of its own, and none may read those of another.
func (k Question) mayAsk(method string, params jsonscan.Value) bool {
	switch method {
	case tasksGet, tasksResult, tasksCancel:
		return k.Session.RunsTask(k.Server, taskID(params))
	}
	return true
}

// answered is what the server gets of the client's answer. It keeps the name of a task that the
// client made of what was asked.
func (k Question) answered(method string, params jsonscan.Value, member []byte) []byte {
	const result = `"result":`
	body, ok := bytes.CutPrefix(member, []byte(result))
	if !ok || method == tasksResult { // which names its task as the server does
		return member
	}
	answer := mcp.OfNoTask(jsonscan.Trusted(body))
	switch {
	case method == tasksList:
		answer = k.own(answer)
	case params.Get("task").Exists() && answer.Get("task").Exists():
		if !k.Session.KeepTask(k.Server, taskID(answer.Get("task"))) {
			return []byte(memberBadTask)
		}
	}
	return append([]byte(result), answer.Raw()...)
}

// own is a page of the client's tasks without those of other servers.
func (k Question) own(page jsonscan.Value) jsonscan.Value {
	out := []byte{'{'}
	for it := page.Members(); it.Next(); {
		if !it.KeyEqual("tasks") {
			out = jsonscan.AppendMember(out, 1, it.Key(), it.Value().Raw())
			continue
		}
		out = append(jsonscan.AppendKey(out, 1, it.Key()), '[')
		mark := len(out)
		for list := it.Value().Elements(); list.Next(); {
			if !k.Session.RunsTask(k.Server, taskID(list.Value())) {
				continue
			}
			if len(out) > mark {
				out = append(out, ',')
			}
			out = append(out, list.Value().Raw()...)
		}
		out = append(out, ']')
	}
	return jsonscan.Trusted(append(out, '}'))
}

func taskID(v jsonscan.Value) string { return string(v.Get("taskId").AppendText(nil)) }
