//go:build linux

package process

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// brief has a session of one call, and returns which process that was of.
func (h *host) brief(cmd string, header ...string) (session, said string) {
	h.t.Helper()
	id := h.open(cmd, header...)
	said, _ = h.call(cmd, id, 1)
	if a := h.do(h.t.Context(), http.MethodDelete, cmd, id, "", header...); a.status != http.StatusNoContent {
		h.t.Fatalf("DELETE: %d %s", a.status, a.body)
	}
	return id, said
}

// ready is the id of the session that waits for its caller; "": none does.
func (h *host) ready(cmd string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if one := h.commands[cmd].spare; one != nil {
		return one.id
	}
	return ""
}

// TestSpare: behind a session of one call a process waits for the next, which is of the next
// alone, and of nobody with another credential.
func TestSpare(t *testing.T) {
	h := newHost(t)
	cmd := h.add("plain", nil)
	_, first := h.brief(cmd)
	waiting := h.ready(cmd)
	if waiting == "" {
		t.Fatal("no process waits behind a session of one call")
	}
	second, said := h.brief(cmd)
	if second != waiting || said == first || !strings.HasPrefix(said, "call 1 of ") {
		t.Errorf("session %s of the process that waited as %s said %q, behind %q", second, waiting, said, first)
	}
	waiting = h.ready(cmd)
	other, _ := h.brief(cmd, EnvHeader+"KEY", "two")
	if waiting == "" || other == waiting {
		t.Errorf("a caller with another credential got session %s, %q waited", other, waiting)
	}
	if _, a := h.call(cmd, waiting, 1); a.status != http.StatusNotFound {
		t.Errorf("the process of the credential before: %d %s", a.status, a.body)
	}
	if now := h.ready(cmd); now == "" || now == waiting {
		t.Errorf("%q waits behind it", now)
	}
	h.sweep(time.Now().Add(spareIdle - time.Second))
	if h.ready(cmd) == "" {
		t.Error("it did not wait as long as it is to")
	}
	h.sweep(time.Now().Add(spareIdle + time.Second))
	eventually(t, "it waits for ever", func() bool { return h.ready(cmd) == "" })
}

// TestNoSpare: a session that is used for longer, a command that does not wait and one
// without room have none.
func TestNoSpare(t *testing.T) {
	h := newHost(t)
	cmd := h.add("plain", nil)
	id := h.open(cmd)
	h.find(id, cmd).began = time.Now().Add(-spareBrief - time.Second)
	h.do(t.Context(), http.MethodDelete, cmd, id, "")
	if h.ready(cmd) != "" {
		t.Error("a process waits behind a session that was used for longer")
	}
	h.mu.Lock()
	h.commands[cmd].sessions += maxCommandSessions - 1
	h.mu.Unlock()
	h.brief(cmd)
	h.mu.Lock()
	h.commands[cmd].sessions -= maxCommandSessions - 1
	h.mu.Unlock()
	if got := h.ready(cmd); got == "" {
		t.Error("no process waits where there is room for one")
	}
	h.mu.Lock()
	spare := h.commands[cmd].spare
	h.mu.Unlock()
	spare.child.end() // as if it had ended by itself
	eventually(t, "it waits still", func() bool { return h.ready(cmd) == "" })
	eventually(t, "its end is not noted", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.commands[cmd].noSpare
	})
	h.brief(cmd) // which is not held back either
	if h.ready(cmd) != "" {
		t.Error("a command that does not wait is started again and again")
	}
}
