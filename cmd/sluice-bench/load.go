package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"
)

// load sends one request again and again over several connections. It does as
// little as HTTP allows, because it shares the processors with what it measures.
type load struct {
	addr        string
	request     []byte // head and body
	connections int
	duration    time.Duration
	tls         *tls.Config // is spoken when it is not nil
	want        []byte      // must be in every body, near its end: it is looked for from there

	pause time.Duration   // between an answer and the next request of a connection
	rate  float64         // requests a second of all connections together; 0 for as many as possible
	timed bool            // fill times
	times []time.Duration // of each request, in no order
}

// loadMaxBody bounds an answer, so that a wrong server cannot fill memory.
const loadMaxBody = 4 << 20

// run returns how many answers arrived and how long that took. The first answer
// that is not a 200 or lacks want ends it with an error.
func (l *load) run(ctx context.Context) (answers int, took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.duration+10*time.Second)
	defer cancel()
	begin := time.Now()
	end := begin.Add(l.duration)
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		first error
	)
	for i := range l.connections {
		wg.Go(func() {
			n, times, err := l.connection(ctx, i, end)
			mu.Lock()
			defer mu.Unlock()
			answers += n
			l.times = append(l.times, times...)
			if err != nil && first == nil {
				first = err
			}
		})
	}
	wg.Wait()
	if first == nil && answers == 0 {
		first = errors.New("no answer arrived")
	}
	return answers, time.Since(begin), first
}

// connection sends the requests of connection number i until end.
func (l *load) connection(ctx context.Context, i int, end time.Time) (n int, times []time.Duration, err error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", l.addr)
	if err != nil {
		return 0, nil, err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return 0, nil, err
		}
	}
	if l.tls != nil {
		conn = tls.Client(conn, l.tls)
	}
	r := bufio.NewReaderSize(conn, 64<<10)
	var body []byte
	now := time.Now()
	due, every := now, time.Duration(0)
	if l.rate > 0 {
		every = time.Duration(float64(time.Second) * float64(l.connections) / l.rate)
		due = now.Add(every * time.Duration(i) / time.Duration(l.connections))
	}
	for now.Before(end) {
		if l.rate > 0 {
			// A request that had to wait for the answer before it counts from when it was
			// due; one whose connection was free counts from when it was sent.
			if wait := due.Sub(now); wait > 0 {
				time.Sleep(wait)
				now = time.Now()
			} else {
				now = due
			}
			due = due.Add(every)
		}
		if _, err := conn.Write(l.request); err != nil {
			return n, times, err
		}
		if body, err = readAnswer(r, body[:0]); err != nil {
			return n, times, err
		}
		if bytes.LastIndex(body, l.want) < 0 {
			return n, times, fmt.Errorf("answer %.300q lacks %q", body, l.want)
		}
		n++
		before := now
		if now = time.Now(); l.timed {
			times = append(times, now.Sub(before))
		}
		if l.pause > 0 {
			time.Sleep(l.pause)
			now = time.Now()
		}
	}
	return n, times, nil
}

// readAnswer reads a 200 with a Content-Length.
func readAnswer(r *bufio.Reader, body []byte) ([]byte, error) {
	length, status := -1, []byte(nil)
	for first := true; ; first = false {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if first {
			status = append(status, line...)
			continue
		}
		if len(line) == 0 {
			break
		}
		if name, value, ok := bytes.Cut(line, []byte(":")); ok && bytes.EqualFold(name, []byte("Content-Length")) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return nil, err
			}
		}
	}
	if length < 0 || length > loadMaxBody {
		return nil, fmt.Errorf("answer %q with a Content-Length of %d", status, length)
	}
	if cap(body) < length {
		body = make([]byte, length)
	}
	body = body[:length]
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(status, []byte("HTTP/1.1 200")) {
		return nil, fmt.Errorf("answer %q: %.300q", status, body)
	}
	return body, nil
}

// cpuEach starts a role and returns the processor time that it takes for one of the
// requests that request makes for its address.
func (b *bench) cpuEach(ctx context.Context, role string, l *load, request func(addr string) []byte) (time.Duration, error) {
	c, err := b.role(ctx, role)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	l.addr, l.request, l.duration = c.addr, request(c.addr), mcpDuration/3
	if _, _, err := l.run(ctx); err != nil { // warms up
		return 0, err
	}
	before, err := c.cpu()
	if err != nil {
		return 0, err
	}
	l.duration = mcpDuration
	n, _, err := l.run(ctx)
	if err != nil {
		return 0, err
	}
	after, err := c.cpu()
	return (after - before) / time.Duration(n), err
}
