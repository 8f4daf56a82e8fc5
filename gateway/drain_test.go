package gateway_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/internal/upstreamtest"
)

// TestDrain: a call that runs when the gateway is told to stop still gets its
// answer, and readiness ends first.
func TestDrain(t *testing.T) {
	up := upstreamtest.New(t)
	arrived, release := make(chan struct{}), make(chan struct{})
	up.Handle("GET /items/{id}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-release
		upstreamtest.JSON(200, item).ServeHTTP(w, r)
	}))
	s, err := gatewaytest.New(gatewaytest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	serve(t, s, up, nil, getItem())
	answer := make(chan string, 1)
	go func() {
		_, body := post(t, s.URL("acme"), callBody("get_item", `{"id":1}`))
		answer <- body
	}()
	<-arrived
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop() }()
	for s.Gateway.Ready() == nil {
		runtime.Gosched()
	}
	close(release)
	if body := <-answer; !strings.Contains(body, "9007199254740993") {
		t.Fatalf("answer %s", body)
	}
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
}

// TestDrainOfKeptConnections: what a client or a proxy sends on a connection that it kept, while the
// gateway stops, is answered, and the answer says that the connection ends. New connections are
// refused, so that a proxy asks another gateway.
func TestDrainOfKeptConnections(t *testing.T) {
	up := upstreamtest.New(t)
	arrived, release := make(chan struct{}), make(chan struct{})
	up.Handle("GET /items/{id}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("id") == "1" {
			close(arrived)
			<-release
		}
		upstreamtest.JSON(200, item).ServeHTTP(w, r)
	}))
	s, err := gatewaytest.New(gatewaytest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	serve(t, s, up, nil, getItem())
	letGo := sync.OnceFunc(func() { close(release) })
	defer letGo()
	kept := &http.Client{Transport: &http.Transport{}}
	send := func(id string) *http.Response {
		t.Helper()
		res, err := kept.Post(s.URL("acme"), "application/json", strings.NewReader(callBody("get_item", `{"id":`+id+`}`)))
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(body), "9007199254740993") {
			t.Fatalf("answer %s, %v", body, err)
		}
		_ = res.Body.Close()
		return res
	}
	if res := send("2"); res.Close {
		t.Error("the connection is not kept")
	}
	running := make(chan *http.Response, 1)
	go func() {
		res, err := http.Post(s.URL("acme"), "application/json", strings.NewReader(callBody("get_item", `{"id":1}`)))
		if err != nil {
			t.Error(err)
		}
		running <- res
	}()
	<-arrived
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop() }()
	for s.Gateway.Ready() == nil {
		runtime.Gosched()
	}
	if res := send("2"); !res.Close {
		t.Error("the answer does not say that the connection ends")
	}
	if c, err := net.Dial("tcp", s.Gateway.Addr().String()); err == nil {
		_ = c.Close()
		t.Error("a new connection is accepted")
	}
	letGo()
	if res := <-running; res != nil {
		if !res.Close {
			t.Error("the answer to a call that ran does not say that the connection ends")
		}
		_ = res.Body.Close()
	}
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
}

// TestRequestsBeforeTheRelease: who comes while a gateway loads what it serves waits for a moment.
func TestRequestsBeforeTheRelease(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle("GET /items/{id}", upstreamtest.JSON(200, item))
	s := start(t, gatewaytest.Options{})
	c, err := net.Dial("tcp", s.Gateway.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	body := callBody("get_item", `{"id":1}`)
	if _, err := fmt.Fprintf(c, "POST /t/acme HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", s.Gateway.Addr(), len(body), body); err != nil {
		t.Fatal(err)
	}
	answer := bufio.NewReader(c)
	if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if got, err := answer.Peek(12); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("before there is a release it is answered %s, %v", got, err)
	}
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	serve(t, s, up, nil, getItem())
	res, err := http.ReadResponse(answer, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(got), "9007199254740993") {
		t.Errorf("answer %s %s, %v", res.Status, got, err)
	}
}
