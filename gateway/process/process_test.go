//go:build linux

package process

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

// host is a node's servers and one client of them.
type host struct {
	t *testing.T
	*Servers
	http  *http.Client
	specs map[string]*Spec
}

func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{t: t, specs: map[string]*Spec{}}
	var err error
	h.Servers, err = New(Options{Environ: os.Environ(), Keeper: append(program(t), keeperArg), Lookup: func(_ context.Context, id string) (*Spec, error) {
		if s := h.specs[id]; s != nil {
			return s, nil
		}
		return nil, problem.New(problem.NotFound, "there is no command %s", id)
	}})
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return h.Dial("", 0) }}
	h.http = &http.Client{Transport: transport}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		h.Close()
		left, _ := (&tree{}).all()
		if len(left) > 0 {
			t.Errorf("processes are left: %v", left)
		}
	})
	return h
}

// add makes a command of a fake server.
func (h *host) add(kind string, change func(*Spec)) string {
	h.t.Helper()
	s := &Spec{Argv: append(program(h.t), "serve", kind)}
	if change != nil {
		change(s)
	}
	if err := s.Check(); err != nil {
		h.t.Fatal(err)
	}
	h.specs[s.ID()] = s
	return s.ID()
}

// program is this test.
func program(t *testing.T) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if raceEnabled { // whose processes end a second late
		return []string{"/usr/bin/env", "GORACE=atexit_sleep_ms=0", self}
	}
	return []string{self}
}

// answer is one of the front.
type answer struct {
	status        int
	session, body string
	header        http.Header
}

func (h *host) post(command, session, message string, header ...string) answer {
	h.t.Helper()
	return h.do(h.t.Context(), http.MethodPost, command, session, message, header...)
}

func (h *host) do(ctx context.Context, method, command, session, message string, header ...string) answer {
	h.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+command+"/", strings.NewReader(message))
	if err != nil {
		h.t.Fatal(err)
	}
	if session != "" {
		req.Header.Set(sessionHeader, session)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := h.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return answer{}
		}
		h.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header.Get(sessionHeader), string(b), res.Header}
}

// open begins a session.
func (h *host) open(command string, header ...string) string {
	h.t.Helper()
	a := h.post(command, "", strings.Replace(greeting, `"id":1`, `"id":900`, 1), header...)
	if a.status != http.StatusOK || a.session == "" {
		h.t.Fatalf("initialize: %d %s", a.status, a.body)
	}
	return a.session
}

// call calls the one tool and returns its text.
func (h *host) call(command, session string, id int) (string, answer) {
	h.t.Helper()
	a := h.post(command, session, callMessage(id))
	return textOf(a.body), a
}

func callMessage(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":%[1]d}}}`, id)
}

func textOf(body string) string {
	for it := jsonscan.Trusted([]byte(body)).Get("result").Get("content").Elements(); it.Next(); {
		return string(it.Value().Get("text").AppendText(nil))
	}
	return ""
}

func (h *host) journal(command string) string {
	lines, dropped := h.Journal(command)
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.Text + "\n")
	}
	return b.String() + "dropped " + strconv.FormatUint(dropped, 10)
}

// eventually waits for what another process does.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal(what)
		}
	}
}

func TestSessionsAreProcesses(t *testing.T) {
	h := newHost(t)
	dir := t.TempDir()
	cmd := h.add("plain", func(s *Spec) { s.Dir = dir })
	one, two := h.open(cmd), h.open(cmd)
	first, _ := h.call(cmd, one, 1)
	again, _ := h.call(cmd, one, 2)
	other, _ := h.call(cmd, two, 1)
	var n, p, m, q int
	_, _ = fmt.Sscanf(first, "call %d of process %d", &n, &p)
	if at, _ := filepath.EvalSymlinks(dir); n != 1 || !strings.HasSuffix(first, " in "+at) {
		t.Errorf("first call %q, want the first, in %s", first, at)
	}
	if _, _ = fmt.Sscanf(again, "call %d of process %d", &m, &q); m != 2 || q != p {
		t.Errorf("second call %q, want the second of process %d", again, p)
	}
	if _, _ = fmt.Sscanf(other, "call %d of process %d", &m, &q); m != 1 || q == p {
		t.Errorf("call of another session %q, want the first of another process than %d", other, p)
	}
	// A session is of its command alone.
	if a := h.post(h.add("modern", nil), one, callMessage(1)); a.status != http.StatusNotFound {
		t.Errorf("the session of another command: %d %s", a.status, a.body)
	}
	if a := h.do(t.Context(), http.MethodDelete, cmd, one, ""); a.status != http.StatusNoContent {
		t.Errorf("DELETE: %d", a.status)
	}
	eventually(t, "the process did not end with its session", func() bool { return syscall.Kill(p, 0) != nil })
	if _, a := h.call(cmd, one, 3); a.status != http.StatusNotFound {
		t.Errorf("after its end: %d %s", a.status, a.body)
	}
	if got, _ := h.call(cmd, two, 2); got == "" {
		t.Error("the other session has ended too")
	}
}

func TestModern(t *testing.T) {
	h := newHost(t)
	cmd := h.add("modern", nil)
	a := h.post(cmd, "", `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}`)
	if a.status != http.StatusOK || a.session == "" {
		t.Fatalf("server/discover: %d %s", a.status, a.body)
	}
	// One that does not know the method begins anew.
	if a := h.post(h.add("plain", nil), "", `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}`); a.session != "" || !strings.Contains(a.body, "-32601") {
		t.Errorf("server/discover of an older server: session %q %s", a.session, a.body)
	}
}

// TestProbed: servers of older revisions that end at server/discover, or say nothing to it, are
// servers that do not know it, and the handshake is made with another process at once.
func TestProbed(t *testing.T) {
	h := newHost(t)
	h.patience = time.Millisecond
	for kind, why := range map[string]string{"quits": "status 3", "mum": "says nothing"} {
		cmd := h.add(kind, nil)
		for range 2 {
			a := h.post(cmd, "", `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}`)
			if a.status != http.StatusOK || a.session != "" || !strings.Contains(a.body, `"id":1,"error":{"code":-32601`) || kind == "mum" && !strings.Contains(a.body, why) {
				t.Errorf("%s: %d, session %q: %s", kind, a.status, a.session, a.body)
			}
		}
		a := h.post(cmd, "", `{"jsonrpc":"2.0","id":2,"method":"initialize","params":{}}`)
		if a.status != http.StatusOK || a.session == "" {
			t.Errorf("%s: the handshake: %d %s", kind, a.status, a.body)
		}
	}
	h.patience = time.Hour
	if a := h.post(h.add("quits", nil), "", `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}`); !strings.Contains(a.body, "status 3") {
		t.Errorf("it does not say how the process ended: %s", a.body)
	}
}

// In 2026-07-28 a client that closes its stream no longer waits, and over stdio a server
// is told with a message.
func TestDisconnectCancelsModern(t *testing.T) {
	h := newHost(t)
	cmd := h.add("modern", func(s *Spec) { s.Argv = append(s.Argv, "never") })
	a := h.post(cmd, "", `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}`)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	h.do(ctx, http.MethodPost, cmd, a.session, callMessage(7))
	eventually(t, "the server was not told", func() bool { return strings.Contains(h.journal(cmd), "cancelled 7") })
}

func TestMessagesBeforeTheAnswer(t *testing.T) {
	h := newHost(t)
	cmd := h.add("progress", nil)
	s := h.open(cmd)
	// What belongs to no request comes on the stream of the session.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+cmd+"/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(sessionHeader, s)
	stream, err := h.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	if a := h.do(t.Context(), http.MethodGet, cmd, s, ""); a.status != http.StatusConflict {
		t.Errorf("a second stream: %d", a.status)
	}
	call, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+cmd+"/", strings.NewReader(callMessage(5)))
	if err != nil {
		t.Fatal(err)
	}
	call.Header.Set(sessionHeader, s)
	res, err := h.http.Do(call)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var got []string
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		got = append(got, data)
		if strings.Contains(data, "elicitation/create") {
			if a := h.post(cmd, s, `{"jsonrpc":"2.0","id":"e1","result":{"action":"decline"}}`); a.status != http.StatusAccepted {
				t.Fatalf("the answer of the client: %d %s", a.status, a.body)
			}
		}
	}
	if len(got) != 3 || !strings.Contains(got[0], `"progressToken":5`) || textOf(got[2]) != `{"jsonrpc":"2.0","id":"e1","result":{"action":"decline"}}` {
		t.Errorf("events %q, want the progress, the question, and the answer that the client gave", got)
	}
	line, err := bufio.NewReader(stream.Body).ReadString('\n')
	if err != nil || !strings.Contains(line, "list_changed") {
		t.Errorf("stream of the session: %q, %v", line, err)
	}
}

// What misbehaves ends with a reason, and the next session works.
func TestMisbehaviour(t *testing.T) {
	for _, c := range []struct{ kind, want string }{
		{"garbage", "it wrote to its output what is not a JSON-RPC message"},
		{"long", "it wrote a message of more than 64 MiB"},
		{"dies", "it ended with status 4"},
		{"mute", "it closed its output"},
		{"memory", "more than its limit of 128 MiB"},
		{"burst", "it ended"}, // the kernel refuses what it asks for
		{"many", "processes, more than its limit of 20"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			memory := c.kind == "memory" || c.kind == "burst"
			if memory && raceEnabled {
				t.Skip("the race detector reserves more memory than the limit lets it")
			}
			h := newHost(t)
			cmd := h.add(c.kind, func(s *Spec) {
				s.Processes = 20
				if memory {
					s.Memory = 128 << 20
				}
			})
			s := h.open(cmd)
			_, a := h.call(cmd, s, 1)
			if a.status != http.StatusBadGateway || !strings.Contains(a.body, c.want) {
				t.Fatalf("got %d %s, want 502 and %q", a.status, a.body, c.want)
			}
			if _, a := h.call(cmd, s, 2); a.status != http.StatusNotFound {
				t.Errorf("the next call: %d %s, want 404", a.status, a.body)
			}
			eventually(t, "the journal does not say why", func() bool { return strings.Contains(h.journal(cmd), c.want) })
			h.open(cmd)
		})
	}
}

// TestDeaf: a command that closed its input and goes on is ended when it is told something.
func TestDeaf(t *testing.T) {
	h := newHost(t)
	cmd := h.add("deaf", nil)
	s := h.open(cmd)
	if got, a := h.call(cmd, s, 1); got != "the last" {
		t.Fatalf("the first call: %d %s", a.status, a.body)
	}
	began := time.Now()
	if _, a := h.call(cmd, s, 2); a.status != http.StatusBadGateway || !strings.Contains(a.body, "it closed its input") || time.Since(began) > writeTimeout {
		t.Errorf("the second call: %d %s after %v", a.status, a.body, time.Since(began))
	}
}

// TestChattyOutput: lines of a log between messages are overlooked, also those in JSON that have
// the id of a request, and so is a byte order mark.
func TestChattyOutput(t *testing.T) {
	h := newHost(t)
	cmd := h.add("chats", nil)
	s := h.open(cmd)
	for i := 1; i <= 3; i++ {
		if got, a := h.call(cmd, s, i); got != "well" {
			t.Fatalf("call %d: %d %s", i, a.status, a.body)
		}
	}
}

// TestAnswersToNothing: an answer whose id no request has is left out, as clients do.
func TestAnswersToNothing(t *testing.T) {
	h := newHost(t)
	cmd := h.add("strays", nil)
	if got, a := h.call(cmd, h.open(cmd), 1); got != "right" {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestLinesThatAreNoMessages(t *testing.T) {
	h := newHost(t)
	cmd := h.add("greets", nil)
	if got, _ := h.call(cmd, h.open(cmd), 1); got == "" || !strings.Contains(h.journal(cmd), "stdout: Server started on stdio") {
		t.Errorf("call %q, journal %s", got, h.journal(cmd))
	}
}

func TestStartsAreHeldBack(t *testing.T) {
	h := newHost(t)
	cmd := h.add("exits", nil)
	a := h.post(cmd, "", greeting)
	if a.status != http.StatusBadGateway || !strings.Contains(a.body, "it ended with status 3") {
		t.Fatalf("first start: %d %s", a.status, a.body)
	}
	var held answer
	eventually(t, "starts are not held back", func() bool {
		held = h.post(cmd, "", greeting)
		return held.status == http.StatusServiceUnavailable
	})
	if !strings.Contains(held.body, "ended once") && !strings.Contains(held.body, "2 times") || !strings.Contains(held.body, "is not started now") || !strings.Contains(held.body, "it ended with status 3") || held.header.Get(ProblemHeader) == "" {
		t.Errorf("held: %s, %q", held.body, held.header.Get(ProblemHeader))
	}
	eventually(t, "the journal does not say why", func() bool { return strings.Contains(h.journal(cmd), "no configuration") })
	c := h.command(cmd)
	for range 12 {
		h.mu.Lock()
		c.until = time.Time{}
		h.mu.Unlock()
		before := c.failedNow(h)
		h.post(cmd, "", greeting)
		eventually(t, "the end was not noticed", func() bool { return c.failedNow(h) > before })
	}
	if h.mu.Lock(); c.pause != maxPause {
		t.Errorf("after %d failures the pause is %s, want %s", c.failed, c.pause, maxPause)
	}
	h.mu.Unlock()
	if a := h.post("cnone", "", greeting); a.status != http.StatusGone {
		t.Errorf("a command that is none: %d %s", a.status, a.body)
	}
	if a := h.post(h.add("x", func(s *Spec) { s.Argv[0] = "no-such-program" }), "", greeting); a.status != http.StatusBadGateway || !strings.Contains(a.body, `the program "no-such-program" is not in the PATH`) {
		t.Errorf("a program that is none: %d %s", a.status, a.body)
	}
}

func (c *command) failedNow(h *host) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return c.failed
}

// A child of the command that left its group and its session ends with it.
func TestAllProcessesEnd(t *testing.T) {
	for _, end := range []string{"session", "node"} {
		t.Run(end, func(t *testing.T) {
			h := newHost(t)
			cmd := h.add("forks", nil)
			s := h.open(cmd)
			text, _ := h.call(cmd, s, 1)
			pid, err := strconv.Atoi(text)
			if err != nil || syscall.Kill(pid, 0) != nil {
				t.Fatalf("no child: %q", text)
			}
			if end == "session" {
				h.do(t.Context(), http.MethodDelete, cmd, s, "")
			} else {
				h.Close()
			}
			eventually(t, "a child outlived its command", func() bool { return stateOf(pid) == 'Z' })
		})
	}
}

func TestStubbornProcessIsKilled(t *testing.T) {
	h := newHost(t)
	cmd := h.add("stays", nil)
	s := h.open(cmd)
	one := h.find(s, cmd)
	h.do(t.Context(), http.MethodDelete, cmd, s, "")
	<-one.child.done
}

func TestNeverAnswers(t *testing.T) {
	h := newHost(t)
	cmd := h.add("never", nil)
	s := h.open(cmd)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if a := h.do(ctx, http.MethodPost, cmd, s, callMessage(1)); a.status != 0 {
		t.Fatalf("got %d %s", a.status, a.body)
	}
	one := h.find(s, cmd)
	eventually(t, "what nobody waits for is still pending", func() bool { _, idle := one.idle(); return idle })
	// The client of an older revision tells by itself.
	h.post(cmd, s, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	eventually(t, "the server was not told", func() bool { return strings.Contains(h.journal(cmd), "cancelled 1") })
	// One that never answers the handshake ends with it.
	ctx, cancel2 := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel2()
	silent := h.add("silent", nil)
	h.do(ctx, http.MethodPost, silent, "", greeting)
	eventually(t, "a process that did not answer the handshake is still there", func() bool { return strings.Contains(h.journal(silent), "ended") })
}

func TestEnvironment(t *testing.T) {
	t.Setenv("SLUICE_TEST_NAMED", "named-value")
	t.Setenv("SLUICE_TEST_OTHER", "other-value")
	h := newHost(t)
	cmd := h.add("environ", func(s *Spec) { s.Env = []string{"SLUICE_TEST_NAMED", "NOT_SET"} })
	got, _ := h.call(cmd, h.open(cmd, EnvHeader+"API_TOKEN", "s3cret-of-one"), 1)
	env := map[string]string{}
	for line := range strings.Lines(got) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		env[name] = value
	}
	if env["SLUICE_TEST_NAMED"] != "named-value" || env["API_TOKEN"] != "s3cret-of-one" || env["PATH"] != os.Getenv("PATH") {
		t.Errorf("environment %q", got)
	}
	for name := range env {
		switch name {
		case "SLUICE_TEST_NAMED", "API_TOKEN", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER":
		case "GORACE":
			if !raceEnabled {
				t.Error("the command got GORACE of the node's environment")
			}
		default:
			t.Errorf("the command got %s of the node's environment", name)
		}
	}
	if other, _ := h.call(cmd, h.open(cmd), 1); strings.Contains(other, "s3cret") {
		t.Error("another session has the credential of the first")
	}
}

func TestJournal(t *testing.T) {
	t.Setenv("SLUICE_TEST_NAMED", "value-of-the-node")
	h := newHost(t)
	cmd := h.add("says", func(s *Spec) {
		s.Argv = append(s.Argv, "the token is", "value-of-the-node")
		s.Env = []string{"SLUICE_TEST_NAMED"}
	})
	h.call(cmd, h.open(cmd, EnvHeader+"TOKEN", "s3cret-of-one"), 1)
	eventually(t, "the line did not come", func() bool { return strings.Contains(h.journal(cmd), "the token is [redacted] [redacted]") })
	if j := h.journal(cmd); strings.Contains(j, "s3cret") || strings.Contains(j, "value-of-the-node") {
		t.Errorf("journal %s", j)
	}
	flood := h.add("floods", nil)
	if got, _ := h.call(flood, h.open(flood), 1); got != "done" {
		t.Fatalf("call %q", got)
	}
	eventually(t, "the last line did not come", func() bool { return strings.Contains(h.journal(flood), "line 19999") })
	lines, dropped := h.Journal(flood)
	if len(lines) != maxJournal || dropped < 19_000 {
		t.Errorf("%d lines, %d dropped", len(lines), dropped)
	}
	for _, l := range lines {
		if len(l.Text) > maxJournalLine+32 {
			t.Fatalf("a line of %d bytes", len(l.Text))
		}
	}
}

func TestNetworkOff(t *testing.T) {
	h := newHost(t)
	cmd := h.add("network", func(s *Spec) { s.NetworkOff = true })
	if err := h.Install(t.Context(), h.specs[cmd]); err != nil {
		if strings.Contains(err.Error(), "user namespaces are not permitted here") {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	got, _ := h.call(cmd, h.open(cmd), 1)
	if !strings.Contains(got, "lo:") || strings.Count(got, ":") != 1 {
		t.Errorf("network devices:\n%s", got)
	}
}

func TestInstall(t *testing.T) {
	t.Setenv("SLUICE_TEST_NAMED", "named-value")
	h := newHost(t)
	for _, kind := range []string{"plain", "exits"} {
		cmd := h.add(kind, nil)
		if err := h.Install(t.Context(), h.specs[cmd]); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	none := &Spec{Argv: []string{"no-such-program"}}
	if err := h.Install(t.Context(), none); !problem.Is(err, problem.Unavailable) || !strings.Contains(err.Error(), "not in the PATH") {
		t.Errorf("a program that is none: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := h.Install(ctx, h.specs[h.add("silent", nil)]); !problem.Is(err, problem.Timeout) {
		t.Errorf("one that never answers: %v", err)
	}
}
