//go:build chaos && linux

package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	sendersAll       = 20_000
	sendersAtOnce    = 8_000
	sendersAddresses = 100
	sendersBody      = 4 << 20
	// sendersMemory is what the node may take, in megabytes.
	sendersMemory = 300
	// sendersDelay is what the senders may add to the p99 of a caller beside them, beyond
	// what they add at a plain server.
	sendersDelay = 50 * time.Millisecond
	// plainServer names the address that the test's own binary serves on instead.
	plainServer = "SLUICE_TEST_PLAIN_SERVER"
)

// TestChaosSenders: 20,000 senders of 4 MiB without a token, 8,000 at once, from 100
// addresses. The node stays small, and a caller from another address sees nothing of
// it, compared with a server that does nothing but answer.
func TestChaosSenders(t *testing.T) {
	if addr := os.Getenv(plainServer); addr != "" {
		servePlain(t, addr)
		return
	}
	plain := startPlain(t)
	calm := besideSenders(t, plain.addr, "/", "", 0)
	worst := besideSenders(t, plain.addr, "/", "", sendersAll)
	t.Logf("a plain server: alone %s; beside senders %s", calm, worst)

	n := startSluice(t, "--demo")
	token := strings.TrimSpace(n.cli(t, "toolset", "access", "demo", "token", "create", "ci"))
	n.cli(t, "toolset", "access", "demo", "set", "token")

	alone := besideSenders(t, n.gateway, "/t/demo", token, 0)
	before := memory(t, n.cmd.Process.Pid, "VmRSS")
	beside := besideSenders(t, n.gateway, "/t/demo", token, sendersAll)
	most := memory(t, n.cmd.Process.Pid, "VmHWM")
	t.Logf("sluice: alone %s; beside senders %s; resident memory %d MB, at most %d MB", alone, beside, before, most)
	t.Log(besideMetrics(t, n))
	if most >= sendersMemory {
		t.Errorf("%d MB at most, want less than %d", most, sendersMemory)
	}
	if beside.failed > 0 || alone.failed > 0 {
		t.Errorf("%d of %d calls failed beside the senders, %d alone", beside.failed, beside.calls, alone.failed)
	}
	if beside.p99 > worst.p99+sendersDelay {
		t.Errorf("p99 %s beside the senders, want at most %s of a plain server and %s", beside.p99, worst.p99, sendersDelay)
	}
}

func besideMetrics(t *testing.T, n *node) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+n.admin+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var out []string
	for s := bufio.NewScanner(res.Body); s.Scan(); {
		if strings.HasPrefix(s.Text(), "sluice_http_") || strings.HasPrefix(s.Text(), "sluice_access_denied") {
			out = append(out, s.Text())
		}
	}
	return strings.Join(out, ", ")
}

type plain struct {
	*process
	addr string
}

// startPlain runs servePlain in a process of its own, as the node is.
func startPlain(t *testing.T) *plain {
	t.Helper()
	p := &plain{process: &process{out: &output{}, done: make(chan struct{})}, addr: freePort(t)}
	p.cmd = exec.Command(os.Args[0], "-test.run", "^TestChaosSenders$", "-test.timeout", "20m")
	p.cmd.Env = append(os.Environ(), plainServer+"="+p.addr)
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
	})
	for !answers("http://" + p.addr + "/") {
		select {
		case <-p.done:
			t.Fatalf("the plain server ended: %s", p.out)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return p
}

// servePlain is fasthttp with a handler that answers without reading the body and
// ends the connection of who sends a large one.
func servePlain(t *testing.T, addr string) {
	s := &fasthttp.Server{
		StreamRequestBody: true, MaxRequestBodySize: 4096, Handler: func(rc *fasthttp.RequestCtx) {
			if rc.Request.Header.ContentLength() > 4096 {
				rc.SetStatusCode(http.StatusUnauthorized)
				rc.SetConnectionClose()
				return
			}
			_ = rc.PostBody()
			rc.SetBodyString("{}")
		},
	}
	if err := s.ListenAndServe(addr); err != nil {
		t.Fatal(err)
	}
}

// latencies of one caller.
type latencies struct {
	calls, failed  int
	p50, p99, most time.Duration
	senders        string
}

func (l latencies) String() string {
	return fmt.Sprintf("%d calls, %d failed, p50 %s, p99 %s, at most %s%s", l.calls, l.failed,
		l.p50.Round(time.Microsecond), l.p99.Round(time.Microsecond), l.most.Round(time.Microsecond), l.senders)
}

// besideSenders calls path, every tenth time on a new connection, while senders send,
// and for two seconds when there are none.
func besideSenders(t *testing.T, addr, path, token string, senders int) latencies {
	t.Helper()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var took []time.Duration
	failed := 0
	wg.Go(func() {
		c := &http.Client{Timeout: 30 * time.Second}
		defer c.CloseIdleConnections()
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
			if i%10 == 0 {
				c.CloseIdleConnections()
			}
			began := time.Now()
			err := pingOnce(c, "http://"+addr+path, token)
			took = append(took, time.Since(began))
			if err != nil {
				failed++
				t.Logf("call %d: %v", i, err)
			}
		}
	})
	said := ""
	if senders == 0 {
		time.Sleep(2 * time.Second)
	} else {
		said = sendAll(addr, path, senders)
	}
	close(stop)
	wg.Wait()
	slices.Sort(took)
	return latencies{len(took), failed, took[len(took)/2], took[len(took)*99/100], took[len(took)-1], said}
}

func pingOnce(c *http.Client, url, token string) error {
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := c.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", res.Status, b)
	}
	return err
}

// sendAll sends bodies without a token and says how that went.
func sendAll(addr, path string, n int) string {
	body := bytes.Repeat([]byte(" "), 64<<10)
	head := []byte("POST " + path + " HTTP/1.1\r\nHost: " + addr + "\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(sendersBody) + "\r\n\r\n")
	var refused, busy, cut, unconnected atomic.Int64
	turns := make(chan struct{}, sendersAtOnce)
	var wg sync.WaitGroup
	began := time.Now()
	for i := range n {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 7, byte(1+i%sendersAddresses))}, Timeout: time.Minute}
			c, err := d.Dial("tcp", addr)
			if err != nil {
				unconnected.Add(1)
				return
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(time.Minute))
			sent := make(chan struct{})
			go func() {
				defer close(sent)
				if _, err := c.Write(head); err != nil {
					return
				}
				for left := sendersBody; left > 0; left -= len(body) {
					if _, err := c.Write(body); err != nil {
						return
					}
				}
			}()
			res, err := http.ReadResponse(bufio.NewReaderSize(c, 1024), nil)
			<-sent // it sends all it can, whatever the answer
			switch {
			case err != nil:
				cut.Add(1)
			case res.StatusCode == http.StatusUnauthorized:
				refused.Add(1)
			case res.StatusCode == http.StatusServiceUnavailable:
				busy.Add(1)
			}
		})
	}
	wg.Wait()
	return fmt.Sprintf(" (%d senders in %s: %d answered 401, %d 503, %d cut off unanswered, %d not connected)",
		n, time.Since(began).Round(time.Millisecond), refused.Load(), busy.Load(), cut.Load(), unconnected.Load())
}

// memory is a line of a process's status, in megabytes.
func memory(t *testing.T, pid int, name string) int {
	t.Helper()
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			kb, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			if err != nil {
				t.Fatal(err)
			}
			return kb >> 10
		}
	}
	t.Fatal(errors.New(name + " is not in the status"))
	return 0
}
