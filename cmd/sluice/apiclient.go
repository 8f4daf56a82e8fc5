package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/cmd/internal/datadir"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/safehttp"
	"github.com/sluicegate/sluice/internal/secrets"
)

// maxAnswer of the admin API that is read: the tools of the largest toolset with
// their schemas are a third of it.
const maxAnswer = 128 << 20

// apiClient speaks to the admin API over HTTP, as any other program would.
type apiClient struct {
	base    string // without a slash at the end
	token   secrets.Secret
	http    *http.Client
	timeout time.Duration
	trace   io.Writer // nil: silent
	say     func(format string, args ...any)
}

// client finds the server and its token: flag, environment, context of the
// configuration, the node of the data directory.
func (a *app) client() (*apiClient, error) {
	server, pinned, token, local, err := a.endpoint()
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return nil, problem.New(problem.InvalidArgument, "the server %q is not an http or https URL", safehttp.Redact(server)).
			Fix("write it as http://127.0.0.1:7301")
	}
	if local && !safedial.Loopback(u.Hostname()) {
		return nil, problem.New(problem.Forbidden, "the token of the local data directory is not sent to %s", u.Hostname()).
			Fix("give the server's own token with --token-file or SLUICE_TOKEN")
	}
	hc, err := a.httpClient()
	if err != nil {
		return nil, err
	}
	if pinned != "" {
		pin(hc, pinned)
	}
	c := &apiClient{base: strings.TrimSuffix(server, "/"), token: token, http: hc, timeout: a.flags.timeout, say: a.say}
	if a.flags.verbose {
		c.trace = a.stderr
	}
	return c, nil
}

// endpoint returns URL and token of the admin API; local says that the token is
// that of the data directory. pinned is the certificate of a node that was found there.
func (a *app) endpoint() (server, pinned string, token secrets.Secret, local bool, err error) {
	chosen, err := a.chosenContext()
	if err != nil {
		return "", "", token, false, err
	}
	server = first(a.flags.server, a.env.server, chosen.Server)
	switch {
	case a.flags.tokenFile != "":
		token, err = a.readSecretFile(a.flags.tokenFile)
	case !a.env.token.IsZero():
		token = a.env.token
	case chosen.TokenFile != "":
		token, err = a.readSecretFile(chosen.TokenFile)
	default:
		local = true
		token, err = a.localFile(datadir.Token)
	}
	if err != nil {
		return "", "", token, false, err
	}
	if server == "" {
		if _, err := a.localFile(datadir.Endpoint); err != nil {
			return "", "", token, false, err
		}
		if server, pinned, err = a.readEndpoint(filepath.Join(a.dataDir(), datadir.Endpoint)); err != nil {
			return "", "", token, false, err
		}
	}
	return server, pinned, token, local, nil
}

func (a *app) chosenContext() (contextConfig, error) {
	name := first(a.flags.context, a.env.context, a.config.Context)
	if name == "" {
		return contextConfig{}, nil
	}
	c, ok := a.config.Contexts[name]
	if !ok {
		return c, problem.New(problem.NotFound, "the configuration has no context %q", name)
	}
	return c, nil
}

// localFile reads a file that the node of the data directory wrote.
func (a *app) localFile(name string) (secrets.Secret, error) {
	path := filepath.Join(a.dataDir(), name)
	s, err := a.readSecretFile(path)
	if _, statErr := os.Stat(path); errors.Is(statErr, fs.ErrNotExist) {
		return s, problem.New(problem.Unreachable, "no node has run in %s", a.dataDir()).
			Fix("start one with: sluice run   or name one with --server, --data or SLUICE_SERVER").Because(err)
	}
	return s, err
}

// httpClient is how this program itself talks HTTP. What the operator names on
// the command line may be private.
func (a *app) httpClient() (*http.Client, error) {
	d, err := safedial.New(safedial.Options{AllowPrivate: true})
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		DialContext: d.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute,
	}
	file, err := a.caFile()
	if err != nil {
		return nil, err
	}
	if file != "" {
		roots, err := rootsWith(file)
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

// apiCall is one request to the API.
type apiCall struct {
	method, path string
	in           any    // marshalled as JSON; nil: no body
	out          any    // unmarshalled from the answer; nil: not read
	ifMatch      string // ETag that the resource must still have
	wait         bool   // long work: wait for its job
}

// do sends one request. It returns the ETag of the answer. An error answer comes
// back as a *problem.Error.
func (c *apiClient) do(ctx context.Context, in apiCall) (etag string, err error) {
	var body []byte
	if in.in != nil {
		if body, err = json.Marshal(in.in); err != nil {
			return "", fmt.Errorf("writing the request: %w", err)
		}
	}
	return c.exchange(ctx, in, body, "application/json")
}

// exchange sends one request within the time limit. Where it began a job, and the call
// waits for it, it follows that to its end.
func (c *apiClient) exchange(caller context.Context, in apiCall, body []byte, contentType string) (string, error) {
	ctx, cancel := context.WithTimeout(caller, c.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, in.method, c.base+in.path, bytes.NewReader(body))
	if err != nil {
		return "", fmt.Errorf("writing the request: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token.Reveal())
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "sluice/"+version)
	if len(body) > 0 {
		req.Header.Set("Content-Type", contentType)
	}
	if in.method == http.MethodPost {
		// One key for one command: a retry of the transport cannot do it twice.
		req.Header.Set("Idempotency-Key", rand.Text())
	}
	if in.ifMatch != "" {
		req.Header.Set("If-Match", in.ifMatch)
	}
	if in.wait {
		req.Header.Set("Prefer", "wait="+strconv.Itoa(int(max(c.timeout*2/3/time.Second, 1)))) // the rest is for the way
	}
	start := time.Now()
	resp, err := c.http.Do(req)
	if err != nil {
		return "", c.unreachable(ctx, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return "", c.unreachable(ctx, err)
	}
	if c.trace != nil {
		fmt.Fprintf(c.trace, "> %s %s  Authorization: Bearer ••••\n< %d  %d bytes  %s\n", in.method, in.path, resp.StatusCode, len(answer), time.Since(start).Round(time.Millisecond))
	}
	if len(answer) > maxAnswer {
		return "", problem.New(problem.TooLarge, "the answer of the admin API has more than %d bytes", maxAnswer)
	}
	switch {
	case resp.StatusCode >= 400:
		return "", apiError(resp.StatusCode, resp.Header.Get("Content-Type"), answer)
	case resp.StatusCode == http.StatusAccepted && in.wait:
		return "", c.waitForJob(caller, answer, in.out)
	case resp.StatusCode >= 300:
		return "", problem.New(problem.Unavailable, "the admin API answered %d", resp.StatusCode).Fix("check --server: is it the admin address?")
	}
	if in.out != nil && len(answer) > 0 {
		if err := json.Unmarshal(answer, in.out); err != nil {
			return "", problem.New(problem.Unavailable, "the answer of %s is not what the admin API gives", c.base).
				Fix("check --server: is it the admin address?").Because(err)
		}
	}
	return resp.Header.Get("ETag"), nil
}

func (c *apiClient) unreachable(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errInterrupted) {
		return errInterrupted
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return problem.New(problem.Timeout, "%s did not answer within %s", c.base, c.timeout).Fix("raise --timeout").Because(err)
	}
	if p := tlsUnreachable(err); p != nil {
		return p
	}
	return problem.New(problem.Unreachable, "%s does not answer", c.base).
		Fix("start a node with: sluice run   or check --server").Because(err)
}

// apiError makes an error of an error answer.
func apiError(status int, contentType string, body []byte) error {
	var p problemDocument
	if strings.HasPrefix(contentType, "application/problem+json") && json.Unmarshal(body, &p) == nil && p.Code != "" {
		return p.error()
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
func (c *apiClient) waitForJob(ctx context.Context, answer []byte, out any) error {
	ctx, cancel := context.WithTimeout(ctx, max(jobWait, c.timeout))
	defer cancel()
	var job admin.Job
	if err := json.Unmarshal(answer, &job); err != nil {
		return fmt.Errorf("reading the job: %w", err)
	}
	phase := ""
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for job.State == "running" {
		if job.Phase != phase {
			phase = job.Phase
			c.say("  %s …", phase)
		}
		select {
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errInterrupted) {
				return errInterrupted
			}
			return problem.New(problem.Timeout, "job %s still runs", job.ID).Fix("raise --timeout, or look whether the server is busy").Because(ctx.Err())
		case <-tick.C:
		}
		if _, err := c.exchange(ctx, apiCall{method: http.MethodGet, path: "/v1/jobs/" + url.PathEscape(job.ID), out: &job}, nil, ""); err != nil {
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
	if err := json.Unmarshal(job.Result, out); err != nil {
		return fmt.Errorf("reading the result of job %s: %w", job.ID, err)
	}
	return nil
}

// all reads every page of a list.
func all[T any](ctx context.Context, c *apiClient, path string) (items []T, raw []json.RawMessage, err error) {
	return some[T](ctx, c, path, math.MaxInt)
}

// maxPage is how many items one page of a list has at most.
const maxPage = 200

// some reads the first items of a list, at most limit.
func some[T any](ctx context.Context, c *apiClient, path string, limit int) (items []T, raw []json.RawMessage, err error) {
	cursor := ""
	for {
		q := "?"
		if strings.Contains(path, "?") {
			q = "&"
		}
		q += "limit=" + strconv.Itoa(min(limit-len(items), maxPage))
		if cursor != "" {
			q += "&cursor=" + url.QueryEscape(cursor)
		}
		var page admin.List[json.RawMessage]
		if _, err := c.do(ctx, apiCall{method: http.MethodGet, path: path + q, out: &page}); err != nil {
			return nil, nil, err
		}
		for _, r := range page.Items {
			var item T
			if err := json.Unmarshal(r, &item); err != nil {
				return nil, nil, fmt.Errorf("reading the answer of %s: %w", path, err)
			}
			items, raw = append(items, item), append(raw, r)
		}
		if page.NextCursor == "" || page.NextCursor == cursor || len(items) >= limit {
			return items, raw, nil
		}
		cursor = page.NextCursor
	}
}
