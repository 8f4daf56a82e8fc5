package process

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

const (
	// maxLine is the longest message of a server, in bytes: that of the largest answer
	// that any toolset may ask for.
	maxLine = 64 << 20
	// maxStray is how many lines that are not messages a server may write to its output
	// from one message to the next, and maxStrayLine how long each may be: some greet or
	// log there, which the protocol forbids and other clients overlook.
	maxStray     = 1000
	maxStrayLine = 256 << 10
	// writeTimeout is how long a server may leave its input unread.
	writeTimeout = 10 * time.Second
	// closedWait is how long a command may go on that closed its input or output, which one that
	// ends does too.
	closedWait = 2 * time.Second
)

// child is a running command. Its messages go to receive, one at a time.
type child struct {
	in      *os.File // its input
	control *os.File // its end ends the command
	log     *journal
	receive func(line []byte) // line is the receiver's
	done    chan struct{}     // closed when all of its processes have ended

	writing sync.Mutex // held while a message is written
	deaf    sync.Once  // it closed its input

	mu      sync.Mutex
	faulted string // guarded by mu; why the node ended it; "": it did not
	reason  string // written before done is closed
	refused bool   // it never ran
}

// launch starts a command. receive gets its messages, from one goroutine. It fails
// with [problem.Unsupported] where commands are not run.
func launch(keeper []string, o *order, log *journal, receive func([]byte)) (*child, error) {
	c := &child{log: log, receive: receive, done: make(chan struct{})}
	k, err := startKeeper(keeper)
	if err != nil {
		return nil, err
	}
	c.in, c.control = k.in, k.control
	b, err := json.Marshal(o)
	if err == nil {
		_, err = k.control.Write(append(b, '\n'))
	}
	if err != nil {
		_ = k.control.Close() // which ends it
	}
	var outputs sync.WaitGroup
	outputs.Go(func() { c.readMessages(k.out) })
	outputs.Go(func() { c.readErrors(k.err) })
	go func() {
		var r report
		_ = json.NewDecoder(io.LimitReader(k.report, 8<<10)).Decode(&r) // a keeper that was killed says nothing
		_ = k.wait()
		outputs.Wait()
		for _, f := range []*os.File{k.in, k.out, k.err, k.control, k.report} {
			_ = f.Close() // everything was read
		}
		c.finish(&r)
	}()
	return c, err
}

// finish notes why the command has ended.
func (c *child) finish(r *report) {
	c.mu.Lock()
	switch {
	case c.faulted != "":
		c.reason = c.faulted
	case r.Refused != "":
		c.reason, c.refused = r.Refused, true
	case r.Killed != "":
		c.reason = r.Killed
	case r.Exit != "":
		c.reason = r.Exit
	default:
		c.reason = "it was killed"
	}
	c.mu.Unlock()
	close(c.done)
}

// end lets the command end: its input closes, then it is told to, then it is killed.
// done is closed when it has ended.
func (c *child) end() {
	_ = c.in.Close()      // it is closed already
	_ = c.control.Close() // likewise
}

// fault ends the command because of what it did.
func (c *child) fault(why string) {
	c.mu.Lock()
	if c.faulted == "" {
		c.faulted = why
	}
	c.mu.Unlock()
	c.end()
}

// ended reports whether the command has ended.
func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// send writes one message, which must be one line.
func (c *child) send(message []byte) error {
	line := append(bytes.Clone(message), '\n')
	c.writing.Lock()
	defer c.writing.Unlock()
	err := c.in.SetWriteDeadline(time.Now().Add(writeTimeout))
	if err == nil {
		_, err = c.in.Write(line)
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.fault("it did not read its input")
	case errors.Is(err, syscall.EPIPE):
		c.deaf.Do(func() { go c.closed("it closed its input") })
	}
	return err
}

// closed ends a command that closed its input or output: nothing comes from it any more. One
// that is ending closes them too.
func (c *child) closed(why string) {
	timer := time.NewTimer(closedWait)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-timer.C:
		c.fault(why)
	}
}

// readMessages reads the command's output.
func (c *child) readMessages(from io.Reader) {
	r := bufio.NewReaderSize(from, 64<<10)
	stray := 0
	for {
		line, err := readLine(r, maxLine)
		if errors.Is(err, errLineTooLong) {
			c.fault("it wrote a message of more than 64 MiB")
		}
		if err != nil {
			_, _ = io.Copy(io.Discard, from) // until it has ended
			go c.closed("it closed its output")
			return
		}
		line = bytes.TrimSpace(bytes.TrimPrefix(line, byteOrderMark))
		if len(line) == 0 {
			continue
		}
		if line[0] == '{' || line[0] == '[' {
			if v, err := jsonscan.Parse(line, jsonscan.DefaultMaxDepth); err == nil && isMessage(v) {
				stray = 0
				c.receive(line)
				continue
			}
		}
		if stray++; stray > maxStray || len(line) > maxStrayLine {
			c.fault("it wrote to its output what is not a JSON-RPC message")
			continue
		}
		c.log.add("stdout: ", line)
	}
}

// byteOrderMark is what programs of some systems begin their output with.
var byteOrderMark = []byte("\ufeff")

// isMessage reports whether JSON is a message, or an array of them, and no line of a log.
func isMessage(v jsonscan.Value) bool {
	return v.Kind() == jsonscan.Array || v.Get("jsonrpc").Exists() || v.Get("method").Exists() || v.Get("result").Exists() || v.Get("error").Exists()
}

// readErrors reads what the command writes for people.
func (c *child) readErrors(from io.Reader) {
	r := bufio.NewReaderSize(from, 4<<10)
	for {
		line, err := r.ReadSlice('\n')
		if len(line) > 0 {
			c.log.add("", bytes.TrimRight(line, "\r\n"))
		}
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a line that is too long
			_, err = r.ReadSlice('\n')
		}
		if err != nil {
			return
		}
	}
}

var errLineTooLong = errors.New("line too long")

// readLine reads a line of at most limit bytes into memory of its own.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > limit {
			return nil, errLineTooLong
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}
