package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/front/job"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/secrets"
)

// maxAnswer of the admin API that is read: the tools of the largest toolset with
// their schemas are a third of it.
const maxAnswer = 128 << 20

// Options say where the admin API is and how it is called.
type Options struct {
	Base    string // URL without a slash at the end
	Token   secrets.Secret
	HTTP    *http.Client
	Timeout time.Duration // of one request
	Trace   io.Writer     // requests are written to it; nil: none
	Say     func(format string, args ...any)
	Agent   string // User-Agent
	// Progress is called when long work has no answer after [patience], with what people
	// can be told; nil: never.
	Progress func(text string)
}

// patience is how long a person looks at a screen on which nothing happens without asking
// whether something does.
const patience = 100 * time.Millisecond

// Client speaks to the admin API over HTTP, as any other program would.
type Client struct {
	Options
	find func() (Options, error) // nil: clientOptions are set
}

// New makes a client of the server that o names.
func New(o Options) *Client { return &Client{Options: o} }

// Lazy makes a client that finds the server with find when it sends its first request.
func Lazy(find func() (Options, error)) *Client { return &Client{find: find} }

// Connect finds the server, unless that is known already. Requests do so by themselves.
func (c *Client) Connect() (err error) {
	if c.find == nil {
		return nil
	}
	longer := c.Timeout
	if c.Options, err = c.find(); err != nil {
		return err
	}
	c.find, c.Timeout = nil, max(c.Timeout, longer)
	return nil
}

// NewHTTPClient makes a client that may call private addresses, which the operator names
// on the command line. caFile has a certificate authority to trust besides those of the
// machine; "" none.
func NewHTTPClient(caFile string) (*http.Client, error) {
	d, err := safedial.New(safedial.Options{AllowPrivate: true})
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		DialContext: d.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute,
	}
	if caFile != "" {
		roots, err := rootsWith(caFile)
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return &http.Client{
		Transport: transport,
		// A redirect would carry the token to wherever it points.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// Call is one request to the API.
type Call struct {
	Method, Path string
	In           any    // marshalled as JSON; nil: Body
	Out          any    // unmarshalled from the answer; nil: not read
	Body         []byte // of contentType
	ContentType  string
	IfMatch      string // ETag that the resource must still have
	Wait         bool   // long work: wait for its job
}

// callOption changes a request.
type callOption func(*Call)

// IfMatch makes a request fail unless the resource still has the ETag.
func IfMatch(etag string) callOption { return func(c *Call) { c.IfMatch = etag } }

// Wait makes a request wait for the job that it begins.
func Wait(c *Call) { c.Wait = true }

// Get reads a resource into out.
func (c *Client) Get(ctx context.Context, path string, out any) error {
	_, err := c.GetTag(ctx, path, out)
	return err
}

// GetTag reads a resource and its ETag.
func (c *Client) GetTag(ctx context.Context, path string, out any) (etag string, err error) {
	return c.Do(ctx, Call{Method: http.MethodGet, Path: path, Out: out})
}

// Post sends in, nil for none, and reads the answer into out, nil to drop it. So do Put
// and Patch.
func (c *Client) Post(ctx context.Context, path string, in, out any, options ...callOption) error {
	return c.send(ctx, Call{Method: http.MethodPost, Path: path, In: in, Out: out}, options)
}

// Put replaces a resource.
func (c *Client) Put(ctx context.Context, path string, in, out any, options ...callOption) error {
	return c.send(ctx, Call{Method: http.MethodPut, Path: path, In: in, Out: out}, options)
}

// Patch changes a resource.
func (c *Client) Patch(ctx context.Context, path string, in, out any, options ...callOption) error {
	return c.send(ctx, Call{Method: http.MethodPatch, Path: path, In: in, Out: out}, options)
}

// decode reads an answer into the value that out points to, of which nothing stays: a member
// that the answer leaves out is empty now.
func decode(answer []byte, out any) error {
	reflect.ValueOf(out).Elem().SetZero()
	return json.Unmarshal(answer, out)
}

// Delete removes a resource.
func (c *Client) Delete(ctx context.Context, path string, out any, options ...callOption) error {
	return c.send(ctx, Call{Method: http.MethodDelete, Path: path, Out: out}, options)
}

func (c *Client) send(ctx context.Context, in Call, options []callOption) error {
	for _, o := range options {
		o(&in)
	}
	_, err := c.Do(ctx, in)
	return err
}

// Do sends one request within the time limit, and returns the ETag of the answer. An
// error answer comes back as a *problem.Error. Where the request began a job, and waits
// for it, do follows that to its end.
func (c *Client) Do(caller context.Context, in Call) (string, error) {
	if err := c.Connect(); err != nil {
		return "", err
	}
	body := in.Body
	if in.In != nil {
		var err error
		if body, err = json.Marshal(in.In); err != nil {
			return "", fmt.Errorf("writing the request: %w", err)
		}
		in.ContentType = "application/json"
	}
	ctx, cancel := context.WithTimeout(caller, c.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, in.Method, c.Base+in.Path, bytes.NewReader(body))
	if err != nil {
		return "", fmt.Errorf("writing the request: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+c.Token.Reveal())
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", c.Agent)
	if len(body) > 0 {
		req.Header.Set("Content-Type", in.ContentType)
	}
	if in.Method == http.MethodPost {
		// One key for one command: a retry of the transport cannot do it twice.
		req.Header.Set("Idempotency-Key", rand.Text())
	}
	if in.IfMatch != "" {
		req.Header.Set("If-Match", in.IfMatch)
	}
	if in.Wait {
		req.Header.Set("Prefer", "wait="+strconv.Itoa(int(max(c.Timeout*2/3/time.Second, 1)))) // the rest is for the way
	}
	start := time.Now()
	if in.Wait && c.Progress != nil {
		wait := time.AfterFunc(patience, func() { c.Progress("working …") })
		defer wait.Stop()
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return "", c.unreachable(ctx, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return "", c.unreachable(ctx, err)
	}
	if c.Trace != nil {
		fmt.Fprintf(c.Trace, "> %s %s  Authorization: Bearer ••••\n< %d  %d bytes  %s\n", in.Method, in.Path, resp.StatusCode, len(answer), time.Since(start).Round(time.Millisecond))
	}
	if len(answer) > maxAnswer {
		return "", problem.New(problem.TooLarge, "the answer of the admin API has more than %d bytes", maxAnswer)
	}
	switch {
	case resp.StatusCode >= 400:
		return "", apiError(resp.StatusCode, resp.Header.Get("Content-Type"), answer)
	case resp.StatusCode == http.StatusAccepted && in.Wait:
		return "", c.waitForJob(caller, answer, in.Out)
	case resp.StatusCode >= 300:
		return "", problem.New(problem.Unavailable, "the admin API answered %d", resp.StatusCode).Fix("check --server: is it the admin address?")
	}
	if in.Out != nil && len(answer) > 0 {
		if err := decode(answer, in.Out); err != nil {
			return "", problem.New(problem.Unavailable, "the answer of %s is not an answer of the admin API", c.Base).
				Fix("check --server: is it the admin address?").Because(err)
		}
	}
	return resp.Header.Get("ETag"), nil
}

func (c *Client) unreachable(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), exit.ErrInterrupted) {
		return exit.ErrInterrupted
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return problem.New(problem.Timeout, "%s did not answer within %s", c.Base, c.Timeout).Fix("raise --timeout").Because(err)
	}
	if p := exit.TLSUnreachable(err); p != nil {
		return p
	}
	return problem.New(problem.Unreachable, "%s does not answer", c.Base).
		Fix("start a node with: sluice run   or check --server").Because(err)
}

// apiError makes an error of an error answer.
func apiError(status int, contentType string, body []byte) error {
	var p exit.Document
	if strings.HasPrefix(contentType, "application/problem+json") && json.Unmarshal(body, &p) == nil && p.Code != "" {
		return p.Problem()
	}
	kind := problem.Unavailable
	switch status {
	case http.StatusUnauthorized:
		kind = problem.Unauthenticated
	case http.StatusForbidden:
		kind = problem.Forbidden
	case http.StatusNotFound:
		kind = problem.NotFound
	}
	if status == http.StatusBadRequest && bytes.Contains(body, []byte("HTTP request to an HTTPS server")) { // net/http says so
		return problem.New(problem.Unreachable, "the server speaks TLS only").Fix("write https:// in --server")
	}
	return problem.New(kind, "the server answered %d %s", status, http.StatusText(status)).Fix("check --server: is it the admin address?")
}

// jobWait is how long a job is followed, where the time limit of one request is not
// longer: making a connector of a very large specification, or compiling a plugin of
// several megabytes, takes minutes on a small machine.
const jobWait = 10 * time.Minute

// waitForJob follows a job to its end and reads its result into out.
func (c *Client) waitForJob(ctx context.Context, answer []byte, out any) error {
	ctx, cancel := context.WithTimeout(ctx, max(jobWait, c.Timeout))
	defer cancel()
	var job job.Job
	if err := json.Unmarshal(answer, &job); err != nil {
		return fmt.Errorf("reading the job: %w", err)
	}
	phase := ""
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for job.State == "running" {
		if job.Phase != phase {
			phase = job.Phase
			c.Say("  %s …", phase)
		}
		select {
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), exit.ErrInterrupted) {
				return exit.ErrInterrupted
			}
			return problem.New(problem.Timeout, "job %s still runs", job.ID).Fix("raise --timeout, or look whether the server is busy").Because(ctx.Err())
		case <-tick.C:
		}
		if err := c.Get(ctx, "/v1/jobs/"+url.PathEscape(job.ID), &job); err != nil {
			return err
		}
	}
	if job.Error != nil {
		b, err := json.Marshal(job.Error)
		if err != nil {
			return fmt.Errorf("reading the job: %w", err)
		}
		return apiError(job.Error.Status, "application/problem+json", b)
	}
	if out == nil {
		return nil
	}
	if err := decode(job.Result, out); err != nil {
		return fmt.Errorf("reading the result of job %s: %w", job.ID, err)
	}
	return nil
}
