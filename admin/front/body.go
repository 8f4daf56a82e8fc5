package front

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/module"
)

// MaxBodyBytes is the largest request body: the largest known specification is
// 13 MB, 64 MB is the limit of the compiler.
const MaxBodyBytes = 64 << 20

// bodyTimeout is how long a client may take to send its body: 64 MB over a
// connection of 1 MB/s.
const bodyTimeout = 70 * time.Second

// WithBody reads the whole body, bounded in size and time, so that what follows
// can hash it, and turns a multipart creation into its JSON form.
func (f *Room) WithBody(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := ReadBody(w, r, MaxBodyBytes)
		if err == nil {
			body, err = multipartToJSON(r, body)
		}
		if err == nil {
			err = checkText(r, body)
		}
		if err != nil {
			f.WriteProblem(w, r, bodyError(r, err))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.ContentLength = int64(len(body))
		next(w, r)
	}
}

// ReadBody reads a body of at most limit bytes, within [bodyTimeout].
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	// Not every ResponseWriter has deadlines; the server's own hold then.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		return nil, bodyError(r, err)
	}
	return body, nil
}

func bodyError(r *http.Request, err error) error {
	var size *http.MaxBytesError
	var timeout net.Error
	if _, done := errors.AsType[*Problem](err); done {
		return err
	}
	switch {
	case problem.As(err) != nil:
		return err
	case errors.As(err, &size):
		p := problem.New(problem.TooLarge, "the request body is larger than %d bytes", size.Limit)
		switch {
		case size.Limit == MaxBodyBytes && r.URL.Path == PluginsPath:
			p = p.Fix("a module may have %d MiB: give fewer or smaller golden cases with it", module.MaxBytes>>20)
		case size.Limit == MaxBodyBytes:
			p = p.Fix("split the specification, or use its URL")
		}
		return p
	case errors.As(err, &timeout) && timeout.Timeout():
		return statusProblem(http.StatusRequestTimeout, fmt.Sprintf("the request body did not arrive within %v", bodyTimeout))
	}
	return problem.New(problem.InvalidArgument, "the request body ended early").Because(err)
}

// recorder keeps an answer instead of sending it.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header, Write and WriteHeader make a recorder an http.ResponseWriter.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader keeps the first status.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

// Write keeps the body.
func (r *recorder) Write(b []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(b)
}

func (r *recorder) send(w http.ResponseWriter) {
	maps.Copy(w.Header(), r.header)
	w.WriteHeader(max(r.status, http.StatusOK))
	_, _ = w.Write(r.body.Bytes()) // the client is gone when this fails
}
