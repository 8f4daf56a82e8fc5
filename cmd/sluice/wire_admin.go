package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/gateway/call"
	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/safehttp"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/registry"
)

// What the control plane and the data plane want of each other, when both are in
// this process.

// credentialSource gives the gateway the secrets that the admin API keeps.
type credentialSource struct {
	admin atomic.Pointer[admin.Server]
	// operator says that the operator's own login stands for that of any caller: in
	// tests of drafts.
	operator bool
}

var (
	_ credentials.Source    = (*credentialSource)(nil)
	_ credentials.Refresher = (*credentialSource)(nil)
	_ credentials.Users     = (*credentialSource)(nil)
)

// Credential implements [credentials.Source].
func (s *credentialSource) Credential(ctx context.Context, id string) (credentials.Credential, error) {
	a := s.admin.Load()
	if a == nil {
		return credentials.Credential{}, problem.New(problem.Unavailable, "the credentials are not open yet")
	}
	return heldCredential(a.Secret(ctx, id))
}

func heldCredential(v admin.HeldSecret, err error) (credentials.Credential, error) {
	if err != nil {
		return credentials.Credential{}, err
	}
	return credentials.Credential{Value: v.Value, Version: v.Version, Origins: v.Origins}, nil
}

// Refresh implements [credentials.Refresher].
func (s *credentialSource) Refresh(ctx context.Context, id string, rejected uint64) (credentials.Credential, error) {
	a := s.admin.Load()
	if a == nil {
		return credentials.Credential{}, problem.New(problem.Unavailable, "the credentials are not open yet")
	}
	return heldCredential(a.Refresh(ctx, id, rejected))
}

// UserCredential implements [credentials.Users].
func (s *credentialSource) UserCredential(ctx context.Context, id string, user registry.User, rejected uint64, scopes []string) (credentials.Credential, error) {
	a := s.admin.Load()
	switch {
	case a == nil:
		return credentials.Credential{}, problem.New(problem.Unavailable, "the credentials are not open yet")
	case s.operator && len(scopes) > 0:
		return credentials.Credential{}, problem.New(problem.Unauthenticated, "the operator's login does not have the scopes %s", strings.Join(scopes, " ")).
			Fix("log in with them: sluice toolset auth TOOLSET login --scope %s", strings.Join(scopes, ","))
	case s.operator && rejected == 0:
		return s.Credential(ctx, id)
	case s.operator:
		return s.Refresh(ctx, id, rejected)
	case user == (registry.User{}):
		return credentials.Credential{}, credentials.NoIdentity()
	}
	return heldCredential(a.UserSecret(ctx, id, user, rejected, scopes))
}

// draftTester calls a tool of a draft through the gateway's own pipeline.
type draftTester struct{ caller *call.Caller }

var _ admin.Tester = draftTester{}

// Test implements [admin.Tester].
func (t draftTester) Test(ctx context.Context, in admin.TestCall) (admin.TestedAnswer, error) {
	programs, err := in.Toolset.CompilePrograms()
	if err != nil {
		return admin.TestedAnswer{}, err
	}
	snap, err := snapshot.Compile(snapshot.Input{Toolsets: []snapshot.ToolsetInput{{
		ID: in.Toolset.ID, Slug: in.Toolset.Slug, Digest: in.Digest, Bundle: in.Toolset, Programs: programs, Connectors: in.Connectors, Plugins: in.Plugins,
	}}}, nil)
	if err != nil {
		return admin.TestedAnswer{}, err
	}
	tool, err := snap.Slug(in.Toolset.Slug).Tool([]byte(in.Tool))
	if err != nil {
		return admin.TestedAnswer{}, err
	}
	if tool == nil {
		return admin.TestedAnswer{}, problem.New(problem.NotFound, "the draft serves no tool %q", in.Tool)
	}
	args, err := jsonscan.Parse(in.Arguments, jsonscan.DefaultMaxDepth)
	if err != nil {
		return admin.TestedAnswer{}, problem.New(problem.InvalidArgument, "the arguments are not JSON").Because(err)
	}
	members, outcome, err := t.caller.Call(ctx, tool, args, call.CallOptions{Trace: true}, nil)
	if err != nil {
		return admin.TestedAnswer{}, err
	}
	var result toolResult
	if err := json.Unmarshal(append(append([]byte{'{'}, members...), '}'), &result); err != nil {
		return admin.TestedAnswer{}, fmt.Errorf("reading the result of %s: %w", in.Tool, err)
	}
	answer := admin.TestedAnswer{IsError: outcome.IsError, UpstreamStatus: outcome.Status, BytesReceived: outcome.Bytes}
	for _, c := range result.Content {
		answer.Text = append(answer.Text, c.Text...)
		answer.Text = append(answer.Text, c.Data...)
	}
	if tr := outcome.Trace; tr != nil {
		answer.Duration, answer.Upstream = tr.Total, tr.Upstream
		answer.Tokens = admin.TestTokens{Received: tr.TokensReceived, Minified: tr.TokensMinified, Result: tr.TokensResult}
	}
	return answer, nil
}

var _ admin.Lister = draftTester{}

// List implements [admin.Lister].
func (t draftTester) List(ts *registry.Toolset, connectors map[string]*connector.Connector, index []byte) ([]byte, error) {
	snap, err := snapshot.Compile(snapshot.Input{Toolsets: []snapshot.ToolsetInput{{
		ID: ts.ID, Slug: ts.Slug, Bundle: ts, Connectors: connectors, Index: index,
	}}}, nil)
	if err != nil {
		return nil, err
	}
	list, err := snap.Slug(ts.Slug).List()
	if err != nil {
		return nil, err
	}
	var out []byte
	var cursor []byte
	for {
		page, next, _ := list.Page(cursor)
		if out = append(out, page...); next == "" {
			return out, nil
		}
		cursor = []byte(next)
	}
}

// specFetcher fetches specifications for the admin API, through the same guarded
// dialer as calls.
type specFetcher struct{ http *http.Client }

var _ admin.Fetcher = specFetcher{}

func newSpecFetcher(d *safedial.Dialer) specFetcher { return specFetcher{safehttp.NewClient(d)} }

// Fetch implements [admin.Fetcher].
func (f specFetcher) Fetch(ctx context.Context, in admin.FetchRequest) (admin.Document, error) {
	name, limit := safehttp.Redact(in.URL), in.Limit
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, in.URL, http.NoBody)
	if err != nil {
		return admin.Document{}, problem.New(problem.InvalidArgument, "%q is not a URL", name).Because(err)
	}
	req.Header.Set("Accept", "application/json, application/yaml;q=0.9, */*;q=0.5")
	req.Header.Set("User-Agent", "sluice/"+versionOrDevel())
	conditional := in.Since != (admin.Validators{})
	if in.Since.ETag != "" {
		req.Header.Set("If-None-Match", in.Since.ETag)
	} else if conditional {
		req.Header.Set("If-Modified-Since", in.Since.LastModified)
	}
	resp, err := f.http.Do(req)
	if err != nil {
		return admin.Document{}, fetchError(name, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotModified && conditional {
		return admin.Document{URL: resp.Request.URL.String(), Validators: in.Since, NotModified: true}, nil
	}
	if resp.StatusCode != http.StatusOK {
		return admin.Document{}, problem.New(problem.UpstreamStatus, "%s answered %d %s", name, resp.StatusCode, http.StatusText(resp.StatusCode)).
			Fix("check the URL; a page that needs a login must be downloaded and added as a file")
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return admin.Document{}, fetchError(name, err)
	}
	if int64(len(b)) > limit {
		return admin.Document{}, problem.New(problem.UpstreamTooLarge, "%s has more than %s", name, terminal.ByteSize(limit)).Fix("split the specification")
	}
	v := admin.Validators{ETag: validator(resp.Header.Get("ETag")), LastModified: validator(resp.Header.Get("Last-Modified"))}
	return admin.Document{Data: b, URL: resp.Request.URL.String(), Validators: v}, nil
}

// validator keeps a header value that is sent back later short.
func validator(s string) string {
	const longest = 256 // more than any server writes
	if len(s) > longest {
		return ""
	}
	return s
}

func fetchError(name string, err error) error {
	if p := problem.As(err); p != nil {
		return problem.New(p.Kind, "%s cannot be fetched: %s", name, p.Detail).Fix("%s", p.Remedy).Because(err)
	}
	var uerr *url.Error
	if errors.As(err, &uerr) && uerr.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return problem.New(problem.Timeout, "%s did not answer in time", name).Fix("try again, or download it and add the file").Because(err)
	}
	return problem.New(problem.Unreachable, "%s cannot be fetched", name).Fix("check the URL and the network, or download it and add the file").Because(err)
}

func hostOf(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
