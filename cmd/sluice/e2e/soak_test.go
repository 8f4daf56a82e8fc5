package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// soakTime is 10 m with make soak. What leaks shows in seconds too, only less.
var soakTime = flag.Duration("soak", 6*time.Second, "how long calls are made to an upstream that misbehaves")

const (
	// soakClients are connections, each with one call at a time.
	soakClients = 96
	// soakPatience is how long a client waits before it goes away: longer than the
	// upstream stalls, far shorter than it hangs.
	soakPatience = 2 * time.Second
)

// TestSoak calls tools of an API and of an MCP server that stall, reset, truncate and
// lie about their length, at half the rate that the node can do. Each call gets exactly
// one answer, its own, or a closed connection where its client went away; and what the
// node holds afterwards is what it held before.
func TestSoak(t *testing.T) {
	up := soakUpstream(t)
	n := startSluice(t)
	spec := filepath.Join(t.TempDir(), "rest.json")
	if err := os.WriteFile(spec, soakSpec(up.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	n.cli(t, "add", spec, "--base-url", up.URL, "--slug", "soak", "--profile", "lossless", "--test", `ok={"id":"1"}`)
	n.cli(t, "add", up.URL+"/mcp", "--to", "soak", "--name", "server")
	k := &soak{addr: n.gateway}

	if k.run(t, 1, *soakTime/30+time.Second, 0, false); t.Failed() { // what pools and caches keep is there then
		return
	}
	most := k.run(t, 2, *soakTime/30+time.Second, 0, true)
	k.run(t, 3, time.Second+soakPatience, most/2, false)
	before := settled(t, n)
	began := time.Now()
	rate := k.run(t, 4, *soakTime, most/2, false)
	took := time.Since(began)
	after := settled(t, n)
	t.Logf("%.0f calls/s at most, %.0f for %s: %s", most, rate, took.Round(time.Second), k.counts())
	t.Logf("goroutines %.0f → %.0f, descriptors %.0f → %.0f, resident memory %.0f → %.0f MB",
		before["go_goroutines"], after["go_goroutines"], before["process_open_fds"], after["process_open_fds"],
		before["process_resident_memory_bytes"]/(1<<20), after["process_resident_memory_bytes"]/(1<<20))
	for name, slack := range map[string]float64{"go_goroutines": 30, "process_open_fds": 30, "process_resident_memory_bytes": 64 << 20} {
		if after[name] > before[name]+slack {
			t.Errorf("%s was %.0f before and is %.0f", name, before[name], after[name])
		}
	}
	if n, all := k.unlucky.Load(), k.next.Load(); n*100 > all {
		t.Errorf("%d of %d calls found none but connections that were closed", n, all)
	}
	// The node is as well as ever.
	if k.run(t, 5, time.Second, 0, true); t.Failed() {
		t.Log(last(n.out.String(), 4000))
	}
}

// soak makes calls and counts how they ended.
type soak struct {
	addr    string
	next    atomic.Uint64 // ids, and so the calls
	unlucky atomic.Uint64 // calls that ended for the fault of one before

	mu    sync.Mutex
	ended map[string]int // guarded by mu; by fault and outcome
}

func (k *soak) counts() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	b, _ := json.Marshal(k.ended) // a map of numbers can be marshalled
	k.ended = nil
	return string(b)
}

func (k *soak) count(what string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended == nil {
		k.ended = map[string]int{}
	}
	k.ended[what]++
}

// run makes calls for a while, at a rate or, with 0, as many as can be, and returns how
// many there were in a second. well leaves the faults out.
func (k *soak) run(t *testing.T, seed uint64, d time.Duration, rate float64, well bool) float64 {
	t.Helper()
	var turns chan struct{}
	stop := make(chan struct{})
	if rate > 0 {
		turns = make(chan struct{}, soakClients)
		go func() {
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			due, at := 0.0, time.Now()
			for {
				select {
				case <-stop:
					return
				case now := <-tick.C:
					due += rate * now.Sub(at).Seconds()
					at = now
					for ; due >= 1; due-- {
						select {
						case turns <- struct{}{}:
						default: // all connections are busy
						}
					}
				}
			}
		}()
	}
	var calls atomic.Int64
	var clients sync.WaitGroup
	began := time.Now()
	for i := range soakClients {
		clients.Go(func() {
			c := &soakClient{k: k, random: rand.New(rand.NewPCG(seed, uint64(i)))}
			defer c.close()
			for time.Since(began) < d && !t.Failed() {
				if turns != nil {
					select {
					case <-turns:
					case <-time.After(100 * time.Millisecond):
						continue
					}
				}
				if err := c.call(well); err != nil {
					t.Error(err)
				}
				calls.Add(1)
			}
		})
	}
	clients.Wait()
	close(stop)
	return float64(calls.Load()) / time.Since(began).Seconds()
}

// soakClient is one connection, so that a second answer is seen.
type soakClient struct {
	k      *soak
	random *rand.Rand
	conn   net.Conn
	r      *bufio.Reader
}

func (c *soakClient) close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

// call makes one call. An error is a promise that was broken.
func (c *soakClient) call(well bool) error {
	fault, pick := soakFaults[0], 0
	if !well {
		pick = c.random.IntN(1000)
	}
	for _, f := range soakFaults {
		if fault = f; pick < f.share {
			break
		}
		pick -= f.share
	}
	// An id of its own shows whose answer it is; its length chooses how the MCP
	// server answers.
	id := strconv.FormatUint(c.k.next.Add(1), 36) + strings.Repeat("-", c.random.IntN(2))
	tool := fault.name
	if c.random.IntN(2) == 0 {
		tool = "mcp_" + tool
	}
	if c.conn == nil {
		conn, err := net.Dial("tcp", c.k.addr)
		if err != nil {
			return fmt.Errorf("the gateway does not accept connections: %w", err)
		}
		c.conn, c.r = conn, bufio.NewReader(conn)
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":%q,"arguments":{"id":%q},`+
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, id, tool, id)
	_ = c.conn.SetDeadline(time.Now().Add(soakPatience)) // a connection that is open takes one
	_, err := fmt.Fprintf(c.conn, "POST /t/soak HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
		"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: %s\r\nContent-Length: %d\r\n\r\n%s", c.k.addr, tool, len(body), body)
	var got []byte
	if err == nil {
		got, err = c.read()
	}
	var late net.Error
	switch {
	case errors.As(err, &late) && late.Timeout():
		c.close()
		c.k.count(fault.name + ":gave up")
		if fault.name != "hang" && fault.name != "stall" {
			c.k.count("late")
		}
		return nil
	case err != nil:
		c.close()
		return fmt.Errorf("%s: the connection ended with %w", tool, err)
	}
	return c.judge(tool, fault.name, fault.whole, id, got)
}

// read reads one HTTP answer and requires that nothing follows.
func (c *soakClient) read() ([]byte, error) {
	res, err := http.ReadResponse(c.r, nil)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if c.r.Buffered() > 0 {
		return nil, errors.New("more than one answer")
	}
	if res.Close {
		c.close()
	}
	return b, nil
}

func (c *soakClient) judge(tool, fault string, whole bool, id string, got []byte) error {
	var m struct {
		ID     string `json:"id"`
		Result *struct {
			IsError bool `json:"isError"`
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"result"`
	}
	if err := json.Unmarshal(got, &m); err != nil || m.ID != id || m.Result == nil || len(m.Result.Content) == 0 {
		return fmt.Errorf("%s %s: %v: %s", tool, id, err, last(string(got), 500))
	}
	text := m.Result.Content[0].Text
	switch {
	case m.Result.IsError:
		c.k.count(fault + ":error")
		if whole && strings.Contains(text, "closed the connection without an answer") {
			// A kept connection that a fault before it had ended, each time it was tried.
			c.k.unlucky.Add(1)
			return nil
		}
		if whole {
			return fmt.Errorf("%s %s: %s", tool, id, text)
		}
	case !bytes.Contains([]byte(text), []byte(id)):
		return fmt.Errorf("%s %s has the answer of another: %s", tool, id, text)
	case !whole && fault != "short" && tool != "mcp_truncate": // its event is whole, only the stream is not
		return fmt.Errorf("%s %s: an answer that was cut off is given as whole: %s", tool, id, text)
	default:
		c.k.count(fault + ":answer")
	}
	return nil
}

// settled is what the node holds when nothing is asked of it: the least of some looks.
func settled(t *testing.T, n *node) map[string]float64 {
	t.Helper()
	return settledTo(t, n, nil)
}

// settledTo is settled that does not wait longer than until each of most is not exceeded;
// nil: it always waits.
func settledTo(t *testing.T, n *node, most map[string]float64) map[string]float64 {
	t.Helper()
	least := map[string]float64{}
	for i := 0; i < 12 && (most == nil || exceeds(least, most)); i++ {
		time.Sleep(250 * time.Millisecond) // what was cut off has to end by itself
		res, err := http.Get("http://" + n.admin + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			if v, err := strconv.ParseFloat(value, 64); err == nil {
				if old, ok := least[name]; !ok || v < old {
					least[name] = v
				}
			}
		}
	}
	for _, name := range []string{"go_goroutines", "process_open_fds", "process_resident_memory_bytes"} {
		if _, ok := least[name]; !ok {
			t.Fatalf("the metrics have no %s", name)
		}
	}
	return least
}

// exceeds reports whether any of most is exceeded or not known.
func exceeds(has, most map[string]float64) bool {
	for name, v := range most {
		if got, ok := has[name]; !ok || got > v {
			return true
		}
	}
	return false
}

// settledWithin is settledTo that goes on for that time where more ends late.
func settledWithin(t *testing.T, n *node, most map[string]float64, d time.Duration) map[string]float64 {
	t.Helper()
	until := time.Now().Add(d)
	for {
		if has := settledTo(t, n, most); !exceeds(has, most) || time.Now().After(until) {
			return has
		}
	}
}
