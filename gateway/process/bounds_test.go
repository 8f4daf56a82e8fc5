//go:build linux

package process

import (
	"bufio"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestSessionsAreBounded(t *testing.T) {
	h := newHost(t)
	cmd := h.add("plain", nil)
	c := h.command(cmd)
	used := func(n int) {
		h.mu.Lock()
		c.sessions += n
		h.mu.Unlock()
	}
	refused := func() {
		t.Helper()
		if a := h.post(cmd, "", greeting); a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, "too many processes") {
			t.Fatalf("past the bound: %d %s", a.status, a.body)
		}
	}
	used(maxCommandSessions)
	refused()
	used(-1)
	one := h.find(h.open(cmd), cmd)
	h.open(cmd) // the idle one makes room
	<-one.child.done
	used(1 - maxCommandSessions)
	// All commands together.
	busy := func(n int) {
		h.mu.Lock()
		for i := range n {
			other := newSession("other")
			other.pending["1"], other.command = newQueue("1"), &command{}
			h.sessions[strconv.Itoa(i)] = other
		}
		h.mu.Unlock()
	}
	busy(maxSessions - 2)
	h.drop(h.onlyOf(cmd))
	last := h.find(h.open(cmd), cmd)
	busy(maxSessions - 1)
	last.ask("1") // in use
	refused()
	h.mu.Lock()
	for i := range maxSessions {
		delete(h.sessions, strconv.Itoa(i))
	}
	h.mu.Unlock()
}

// onlyOf is the session of a command.
func (h *host) onlyOf(command string) *session {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, one := range h.sessions {
		if one.commandID == command {
			return one
		}
	}
	h.t.Fatal("there is no session")
	return nil
}

func TestRequestsAreBounded(t *testing.T) {
	h := newHost(t)
	cmd := h.add("plain", nil)
	s := h.open(cmd)
	fit := callMessage(1)
	for size, want := range map[int]int{maxRequest: http.StatusOK, maxRequest + 1: http.StatusRequestEntityTooLarge} {
		if a := h.post(cmd, s, strings.Repeat(" ", size-len(fit))+fit); a.status != want {
			t.Errorf("a message of %d bytes: %d, want %d", size, a.status, want)
		}
	}
	// net/http reads 4 KiB more than it was told.
	if a := h.post(cmd, "", greeting, EnvHeader+"TOKEN", strings.Repeat("x", maxHeader/16)); a.status != http.StatusOK {
		t.Errorf("a long credential: %d", a.status)
	}
	if a := h.post(cmd, "", greeting, EnvHeader+"TOKEN", strings.Repeat("x", maxHeader+8<<10)); a.status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("headers past the bound: %d", a.status)
	}
}

func TestStrayLinesAreBounded(t *testing.T) {
	for size, want := range map[int]string{maxStrayLine: "", maxStrayLine + 1: "it wrote to its output what is not a JSON-RPC message"} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		c := &child{log: newJournal(&record{}, "", nil), in: r, control: w, done: make(chan struct{})}
		c.readMessages(strings.NewReader(strings.Repeat("x", size) + "\n"))
		if c.faulted != want {
			t.Errorf("a line of %d bytes: %q, want %q", size, c.faulted, want)
		}
		c.end()
	}
}

func TestOrdersAreBounded(t *testing.T) {
	for size, fits := range map[int]bool{maxOrder: true, maxOrder + 1: false} {
		const text = `{"Argv":["x"]}`
		in := text + strings.Repeat(" ", size-len(text)-1) + "\n"
		if _, err := readOrder(bufio.NewReader(strings.NewReader(in))); (err == nil) != fits {
			t.Errorf("an order of %d bytes: %v", size, err)
		}
	}
}

func TestIdleSessionsEnd(t *testing.T) {
	h := newHost(t)
	cmd := h.add("plain", nil)
	s := h.open(cmd)
	one := h.find(s, cmd)
	h.sweep(time.Now().Add(sessionIdle - time.Minute))
	if h.find(s, cmd) == nil {
		t.Fatal("it ended too early")
	}
	h.sweep(time.Now().Add(sessionIdle + time.Second))
	<-one.child.done
}

func TestPendingIsBounded(t *testing.T) {
	s := newSession("c")
	for i := range maxPending {
		if s.ask(strconv.Itoa(i)) == nil {
			t.Fatalf("request %d is refused", i)
		}
	}
	if s.ask("one more") != nil {
		t.Error("one more is taken")
	}
	q := newQueue("1")
	for range 3 {
		q.put(make([]byte, maxQueued/2), false)
	}
	q.put(make([]byte, 10), true)
	if items, answer, ended := q.take(); len(items) != 3 || !answer || !ended {
		t.Errorf("%d items, answer %v, ended %v; want two notifications and the answer", len(items), answer, ended)
	}
}

func TestSpec(t *testing.T) {
	many := make([]string, maxArgs+1)
	for i := range many {
		many[i] = "x"
	}
	names := make([]string, maxNames+1)
	for i := range names {
		names[i] = "A" + strconv.Itoa(i)
	}
	for _, c := range []struct {
		s    Spec
		want string
	}{
		{Spec{Argv: many[:maxArgs]}, ""},
		{Spec{Argv: many}, "more than 256 arguments"},
		{Spec{Argv: []string{"x", strings.Repeat("y", maxArgBytes)}}, "more than 256 arguments or 32 KiB"},
		{Spec{}, "empty"},
		{Spec{Argv: []string{"./x"}}, "absolute"},
		{Spec{Argv: []string{"x\x00"}}, "NUL"},
		{Spec{Argv: []string{"x"}, Dir: "relative"}, "working directory"},
		{Spec{Argv: []string{"x"}, Env: names[:maxNames]}, ""},
		{Spec{Argv: []string{"x"}, Env: names}, "more than 64"},
		{Spec{Argv: []string{"x"}, Env: []string{"A=b"}}, "not the name"},
		{Spec{Argv: []string{"x"}, Memory: minMemory - 1}, "memory"},
		{Spec{Argv: []string{"x"}, Memory: minMemory, Processes: maxProcesses}, ""},
		{Spec{Argv: []string{"x"}, Processes: maxProcesses + 1}, "processes"},
	} {
		err := c.s.Check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("Check(%.60v) = %v, want %q", c.s, err, c.want)
		}
	}
	a, b := Spec{Argv: []string{"x"}, Env: []string{"B", "A"}}, Spec{Argv: []string{"x"}, Env: []string{"A", "B", "B"}}
	if a.ID() != b.ID() || a.ID() == (&Spec{Argv: []string{"x", ""}}).ID() {
		t.Error("an ID is that of the content")
	}
}
