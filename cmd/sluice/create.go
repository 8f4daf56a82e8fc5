package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/admin/catalog/source"
	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft/rollout"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/toolset/access"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/describe"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/specification"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/cmd/internal/upstreamauth"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/registry"
)

// createToolset is change.CreateToolset with a key that is written out: secrets
// print as [redacted] everywhere else.
type createToolset struct {
	change.CreateToolset
	Auth *upstreamauth.Request `json:"authentication,omitempty"`
}

// newToolset makes the request of the flags.
func (a *app) newToolset(ctx context.Context, spec specification.Document, f *addFlags) (createToolset, error) {
	var in createToolset
	in.Name, in.Slug, in.BaseURL, in.Tools, in.Profile = f.name, f.slug, f.baseURL, f.tools, f.profile
	in.Selection, in.UseCase = f.selection, f.useCase
	if in.Selection == "" && in.UseCase != "" {
		in.Selection = "use-case"
	}
	if f.public {
		in.Access = registry.AccessNone
	}
	if f.cacheSeconds > 0 {
		in.Cache = &view.CachePolicy{TTLSeconds: f.cacheSeconds}
	}
	if f.entry != nil {
		in.Source.Catalog, in.Profile = f.entry, "" // answers are optimized as the entry has it
		return in, a.addRest(ctx, &in, f)
	}
	if f.mcp {
		in.Source.MCP, in.Policy, in.Stateless = &change.MCPSource{URL: spec.URL, Command: f.command}, f.policy, f.stateless
		if !f.profileGiven() {
			in.Profile = "lossless" // what a server says beside the text is kept
		}
		return in, a.addRest(ctx, &in, f)
	}
	in.Source.OpenAPI = &source.OpenAPISource{URL: spec.URL, FileName: spec.Name}
	for _, o := range spec.Overlays {
		overlay := source.OverlaySource{URL: o.URL, FileName: o.Name}
		if o.URL == "" {
			var err error
			if overlay.Document, err = o.Text(); err != nil {
				return in, err
			}
		}
		in.Source.OpenAPI.Overlays = append(in.Source.OpenAPI.Overlays, overlay)
	}
	switch {
	case spec.URL == "" && spec.Files != nil:
		in.Source.OpenAPI.Main, in.Source.OpenAPI.Files = spec.Path, make(map[string]string, len(spec.Files))
		for path, data := range spec.Files {
			text, err := specification.Document{Name: path, Data: data}.Text()
			if err != nil {
				return in, err
			}
			in.Source.OpenAPI.Files[path] = text
		}
	case spec.URL == "":
		document, err := spec.Text()
		if err != nil {
			return in, err
		}
		in.Source.OpenAPI.Document = document
	default:
		in.Source.OpenAPI.FileName = ""
	}
	return in, a.addRest(ctx, &in, f)
}

// addRest puts the authentication and the test of the flags into a request.
func (a *app) addRest(ctx context.Context, in *createToolset, f *addFlags) error {
	if f.login != "" {
		in.Login = f.login
		in.Auth = &upstreamauth.Request{}
		in.Auth.AuthType, in.Auth.PerUser = "oauth2", f.auth.PerUser
	} else if f.auth.Given() {
		auth, err := f.auth.Request(ctx, &a.Session)
		if err != nil {
			return err
		}
		in.Auth = &auth
		if f.scheme != "" {
			in.Auth.Scheme = f.scheme
		}
	}
	if f.test != "" {
		tool, arguments, found := strings.Cut(f.test, "=")
		in.Test = &rollout.TestRequest{Tool: tool}
		if found {
			if err := json.Unmarshal([]byte(arguments), &in.Test.Arguments); err != nil {
				return exit.Usagef("--test %s: the arguments are not a JSON object: %w", tool, err)
			}
		}
	}
	return nil
}

// showMade prints what was made. It fails when that is not live although it was to be.
func (a *app) showMade(made *change.CreatedToolset, f *addFlags) error {
	if err := a.Object(made, func(w io.Writer) { a.printMade(w, made) }); err != nil {
		return err
	}
	if t := made.Test; t != nil && t.Possible && !t.Passed {
		return exit.SilentError(exit.Failed)
	}
	return leftDraft(&made.Toolset, f)
}

// leftDraft is the failure of a command that adds something when that stays in the draft,
// unless the draft was asked for. What is the matter was said before.
func leftDraft(t *view.Toolset, f *addFlags) error {
	if f.noDeploy || t.Status == "live" && !t.Changed {
		return nil
	}
	return exit.SilentError(exit.Failed)
}

// fromSource makes a toolset of what is added, or with --dry-run shows it and
// returns none.
func (a *app) fromSource(ctx context.Context, c *client.Client, spec specification.Document, f *addFlags) (*change.CreatedToolset, error) {
	in, err := a.newToolset(ctx, spec, f)
	if err != nil {
		return nil, err
	}
	if f.dryRun {
		return nil, a.preview(ctx, c, in)
	}
	if f.noDeploy {
		in.Deploy = &change.CreateDeploy{Skip: true}
	}
	return a.create(ctx, c, spec, in)
}

// create asks the node for the toolset and says what was done, phase by phase.
func (a *app) create(ctx context.Context, c *client.Client, spec specification.Document, in createToolset) (*change.CreatedToolset, error) {
	made := new(change.CreatedToolset)
	err := c.Post(ctx, "/v1/toolsets", in, made, client.Wait)
	if err != nil {
		if p := problem.As(err); p != nil && p.Kind == problem.InvalidSpec && p.Place.File == "" && !strings.Contains(p.Detail, spec.Name) {
			p.Place.File = spec.Name
		}
		return nil, err
	}
	a.sayGranted(made.Granted)
	if err := a.firstToken(ctx, c, made); err != nil {
		return nil, err
	}
	var detail view.ConnectorDetail
	if err := c.Get(ctx, "/v1/connectors/"+url.PathEscape(made.Connector.Name), &detail); err != nil {
		return nil, err
	}
	a.sayMade(spec, made, &detail)
	return made, nil
}

// firstToken makes the access token of a new toolset that took so long to make that the
// answer with it could not be waited for.
func (a *app) firstToken(ctx context.Context, c *client.Client, made *change.CreatedToolset) error {
	if !made.Created || made.Access.Mode != registry.AccessToken || made.Token != nil {
		return nil
	}
	made.Token = new(access.CreatedAccessToken)
	err := c.Post(ctx, client.ToolsetPath(&made.ToolsetDetail, "access-tokens"), access.NewAccessToken{Name: "made by sluice add"}, made.Token)
	return err
}

// sayMade says what was made of a specification or a server.
func (a *app) sayMade(spec specification.Document, made *change.CreatedToolset, detail *view.ConnectorDetail) {
	if made.Source.Kind == "mcp" {
		a.phase("connect", "%-18s %9s   MCP %s%s", made.Source.Title, terminal.ByteSize(made.Source.SizeBytes), made.Source.Spec, describe.Items(detail.Report.Items))
		a.sayGenerated(made, detail)
		return
	}
	a.phase(spec.Origin(), "%-18s %9s   OpenAPI %s", spec.Short(), terminal.ByteSize(made.Source.SizeBytes), made.Source.Spec)
	a.phase("check", "%s, %s", terminal.Plural(made.Operations, "operation"), describe.Methods(made.Methods))
	a.sayGenerated(made, detail)
}

func (a *app) sayGenerated(made *change.CreatedToolset, detail *view.ConnectorDetail) {
	size := ""
	if detail.Report.ModuleBytes > 0 {
		size = "   wasm " + terminal.ByteSize(detail.Report.ModuleBytes)
	}
	a.phase("generate", "connector %s@%s%s   %s   %d ms", made.Connector.Name, made.Connector.Version,
		size, terminal.ShortDigest(made.Connector.Digest), detail.Report.DurationMilli)
	if made.Test != nil {
		a.sayTest(made.Test)
	}
	for _, u := range made.Unsupported[:min(len(made.Unsupported), describe.MaxListed)] {
		a.Say("! %s %s is not a tool: %s", u.Method, u.Path, u.Reason)
	}
	if n := len(made.Unsupported) - describe.MaxListed; n > 0 {
		a.Say("! and %s more: sluice toolset get %s", terminal.Thousands(n), made.Slug)
	}
	spoken := slices.DeleteFunc(slices.Clone(made.Warnings), func(d toolset.Diagnostic) bool {
		return !slices.Contains([]string{connector.CodeHidden, connector.CodeInstruction, connector.CodeTextLong}, d.Code)
	})
	for _, d := range spoken[:min(len(spoken), describe.MaxListed)] {
		a.Say("! %s", describe.Diagnostic(d.Line, d.Column, d.Pointer, d.Detail))
	}
	if said := countFindings(made.Warnings); said != "" {
		a.Say("! %s: sluice toolset get %s", said, made.Slug)
	}
}

// countFindings says how many findings are warnings, and how many only tell what was done.
func countFindings(list []toolset.Diagnostic) string {
	notes := 0
	for _, d := range list {
		if d.Severity == "info" {
			notes++
		}
	}
	switch warnings := len(list) - notes; {
	case notes == 0 && warnings == 0:
		return ""
	case notes == 0:
		return terminal.Plural(warnings, "warning")
	case warnings == 0:
		return terminal.Plural(notes, "note")
	default:
		return terminal.Plural(warnings, "warning") + " and " + terminal.Plural(notes, "note")
	}
}

// phase prints one line of what was done.
func (a *app) phase(name, format string, args ...any) {
	a.Say("  %-10s %s", name, fmt.Sprintf(format, args...))
}

func (a *app) sayTest(t *rollout.TestRun) {
	switch {
	case t.Passed:
		a.phase("test", "%s  %d  %s   %s", t.Tool, t.UpstreamStatus, terminal.Seconds(t.DurationSeconds), terminal.TokenLine(t.Tokens.Received, t.Tokens.Result))
	case t.Possible:
		a.phase("test", "✗ %s  %s", t.Tool, t.Reason)
	default:
		a.phase("test", "not possible: %s", t.Reason)
	}
}

// refused says that an upstream answered as it does to a call without its credential.
func refused(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// printMade tells what the toolset is now and what to do next.
func (a *app) printMade(w io.Writer, t *change.CreatedToolset) {
	what := "created"
	if !t.Created {
		what = "refreshed"
	}
	if t.Status == "live" && !t.Changed {
		state, next := "✓ %s is live: %s\n", ""
		switch {
		case t.Test == nil || t.Test.Passed:
		case t.Test.Possible: // added again: a key that is given is used at once
			state, next = "✗ %s is live, and its test failed: %s\n", "fix what the test found, then: sluice toolset test %s\n"
		default:
			state, next = "! %s is serving, untested: %s\n", "sluice toolset test %s TOOL k=v   with arguments that you know\n"
		}
		fmt.Fprintf(w, state, t.Slug, size(t))
		if next != "" {
			fmt.Fprintf(w, "    %s\n", terminal.Printable(t.Test.Reason))
			fmt.Fprintf(w, "  next   "+next, t.Slug)
		}
		fmt.Fprintf(w, "  Toolset URL   %s\n", t.URL)
	} else {
		fmt.Fprintf(w, "✓ %s is %s as a draft: %s\n", t.Slug, what, size(t))
		switch {
		case t.Test != nil && t.Test.Possible && !t.Test.Passed && t.Test.UpstreamStatus == 0:
			fmt.Fprintf(w, "  next   fix what the test found, then: sluice toolset test %[1]s\n         the API is elsewhere: sluice toolset set %[1]s --base-url URL\n", t.Slug)
		case t.Test != nil && t.Authentication == nil && len(t.Methods) > 0 && (!t.Test.Possible || refused(t.Test.UpstreamStatus)):
			fmt.Fprintf(w, "  next   set its authentication, as proposed below, then: sluice toolset test %s\n", t.Slug)
		case t.Test != nil && t.Test.Possible && !t.Test.Passed:
			fmt.Fprintf(w, "  next   fix what the test found, then: sluice toolset test %s\n", t.Slug)
		default:
			fmt.Fprintf(w, "  next   sluice toolset test %s TOOL   or: sluice toolset deploy %s --reason TEXT\n", t.Slug, t.Slug)
		}
	}
	if t.Token != nil {
		fmt.Fprintf(w, "  Access token  %s\n", t.Token.Token)
		fmt.Fprintln(w, "    shown this once; clients send it as Authorization: Bearer …, sluice call takes it from SLUICE_ACCESS_TOKEN")
	} else if t.Access.Public {
		fmt.Fprintf(w, "! %s is public: everybody who reaches the gateway may call its tools\n    close it: sluice toolset access %s set token\n", t.Slug, t.Slug)
	}
	adviseServer(w, &t.Toolset)
	upstreamauth.Advise(w, &t.Toolset)
	a.adviseCount(w, &t.Toolset)
	if t.Advice != nil && t.Selection == "all" {
		describe.Advice(w, t.Advice)
		fmt.Fprintf(w, "  next   sluice toolset optimize %s --selection %s\n", t.Slug, t.Advice.Recommended)
	}
	if t.Status == "live" {
		fmt.Fprintf(w, "  next   sluice client %s   for the configuration of AI applications\n", t.Slug)
	}
}

// size says how much clients are given.
func size(t *change.CreatedToolset) string {
	if t.ToolCount == 0 {
		return "prompts or resources only"
	}
	return terminal.Plural(t.EnabledTools, "tool") + ", definitions " + terminal.Thousands(t.Tokens) + " tokens"
}

// adviseServer says that calls are sent to an address that the specification leaves open in parts.
func adviseServer(w io.Writer, t *view.Toolset) {
	i := slices.IndexFunc(t.Servers, func(s toolset.APIServer) bool { return s.URL == t.BaseURL && len(s.Variables) > 0 })
	if i < 0 {
		return
	}
	parts := make([]string, len(t.Servers[i].Variables))
	for j, v := range t.Servers[i].Variables {
		parts[j] = v.Name + "=" + v.Default
		switch {
		case len(v.Enum) > 1:
			parts[j] += " (of " + strings.Join(v.Enum, ", ") + ")"
		case v.Description != "":
			parts[j] += " (" + strings.TrimSuffix(terminal.FirstSentence(v.Description), ".") + ")"
		}
	}
	fmt.Fprintf(w, "! calls are sent to %s, with %s\n    with other values: sluice toolset set %s --base-url '%s'\n", terminal.Printable(t.BaseURL), terminal.Printable(strings.Join(parts, ", ")), t.Slug, terminal.Printable(t.Servers[i].Template))
}

// adviseCount warns when clients will not show all tools.
func (a *app) adviseCount(w io.Writer, t *view.Toolset) {
	const cursorShows, requestTakes = 40, 128
	switch {
	case t.ToolCount == 0:
		fmt.Fprintf(w, "! the server has no tools: only applications that show prompts or resources can use %s; see: sluice toolset items %s\n", t.Slug, t.Slug)
	case t.Selection == "search":
	case t.EnabledTools > requestTakes:
		fmt.Fprintf(w, "! %s: VS Code and the OpenAI API take 128 at most; leave some out: sluice toolset tools %s disable GLOB…\n", terminal.Plural(t.EnabledTools, "tool"), t.Slug)
	case t.EnabledTools > cursorShows:
		fmt.Fprintf(w, "! %s: Cursor shows about 40; leave some out: sluice toolset tools %s disable GLOB…\n", terminal.Plural(t.EnabledTools, "tool"), t.Slug)
	}
}

// preview shows what would be made.
func (a *app) preview(ctx context.Context, c *client.Client, in createToolset) error {
	var p change.Preview
	request := struct {
		Source change.CreateSource   `json:"source"`
		Auth   *upstreamauth.Request `json:"authentication,omitempty"`
	}{in.Source, nil}
	if in.Source.MCP != nil || in.Source.Catalog != nil {
		request.Auth = in.Auth
	}
	if err := c.Post(ctx, "/v1/connectors/preview", request, &p, client.Wait); err != nil {
		return err
	}
	return a.Object(p, func(w io.Writer) {
		r := p.Report
		fmt.Fprintf(w, "%s %s: %s, %s, %s\n", p.Name, r.Version, terminal.Plural(r.Operations, "operation"), terminal.Plural(r.ToolCount, "tool"), describe.Methods(r.Methods))
		if to := cmp.Or(in.BaseURL, r.BaseURL); to != "" {
			fmt.Fprintf(w, "Base URL  %s\n", to)
		}
		for _, t := range p.Tools {
			if !t.Enabled {
				continue
			}
			fmt.Fprintf(w, "  %-40s %s %s\n", t.Name, t.Operation.Method, terminal.Printable(t.Operation.Path))
		}
		for _, u := range r.Unsupported {
			fmt.Fprintf(w, "! %s %s is not a tool: %s\n", u.Method, terminal.Printable(u.Path), terminal.Printable(u.Reason))
		}
		for _, d := range r.Warnings {
			fmt.Fprintf(w, "! %s\n", describe.Diagnostic(d.Line, d.Column, d.Pointer, d.Detail))
		}
		fmt.Fprintln(w, "Nothing was changed.")
	})
}

// sayGranted tells what was granted because the operator named it.
func (a *app) sayGranted(granted []string) {
	for _, g := range granted {
		a.Say("! this toolset may now call the private address %s, because you named it here", g)
	}
}
