package cluster

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// stillTime is how long a client may send or take nothing while a request is passed on.
	stillTime = 30 * time.Second
	// bodyTime is how long a body may take, and uploadTime one of the registry, which has no
	// limit of its own there: 256 MiB at half a megabyte a second.
	bodyTime   = 75 * time.Second
	uploadTime = 10 * time.Minute
	// lingerTime is how long a client may go on sending a body after the answer to it.
	lingerTime = 500 * time.Millisecond
)

// upload is the body of a request that is passed on.
type upload struct {
	io.ReadCloser

	control *http.ResponseController
	still   time.Duration
	until   time.Time
	begun   atomic.Bool // something was asked of it
	over    atomic.Bool // it came to its end
	broken  atomic.Bool // it broke off, or the client was too slow

	mu       sync.Mutex // held while it is read
	finished bool       // guarded by mu; the request was answered
}

// errFinished: the request was answered before its body was sent.
var errFinished = errors.New("the request was answered")

// Read reads from the client, which has to go on sending.
func (u *upload) Read(b []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.finished {
		return 0, errFinished
	}
	u.begun.Store(true)
	at := time.Now().Add(u.still)
	if at.After(u.until) {
		at = u.until
	}
	_ = u.control.SetReadDeadline(at) // not every ResponseWriter has deadlines; the server's own hold then
	n, err := u.ReadCloser.Read(b)
	if err != nil {
		u.over.Store(true)
		if !errors.Is(err, io.EOF) {
			u.broken.Store(true)
			return n, err
		}
		_ = u.control.SetReadDeadline(time.Time{}) // what waits for the end of the connection must not end by it
	}
	return n, err
}

// unclosed is the body of a request that is sent once more when it could not be sent: nobody
// has read from it then. Whoever passes the request on closes the body.
type unclosed struct{ io.Reader }

// Close closes nothing.
func (unclosed) Close() error { return nil }

// finish ends a Read that still waits for the client, a moment after the answer: a client
// that goes on sending gets to read it.
func (u *upload) finish() {
	if u.begun.Load() && !u.over.Load() {
		_ = u.control.SetReadDeadline(time.Now().Add(lingerTime))
	}
	u.mu.Lock() // whoever reads must not do so when the server reads the next request
	u.finished = true
	u.mu.Unlock()
}

// slowly is the answer to a client, which has to go on taking it.
type slowly struct {
	http.ResponseWriter

	control *http.ResponseController
	still   time.Duration
}

// Write writes to the client.
func (w *slowly) Write(b []byte) (int, error) {
	_ = w.control.SetWriteDeadline(time.Now().Add(w.still)) // not every ResponseWriter has deadlines
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (w *slowly) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// lease is the body of an answer, and lets go of its request at its end.
type lease struct {
	io.ReadCloser

	done func()
}

// Close closes the body.
func (l *lease) Close() error {
	err := l.ReadCloser.Close()
	l.done()
	return err
}
