package fleetcmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/fleet/usage"
	"github.com/sluicegate/sluice/admin/toolset/access"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

const (
	// followWait is how many seconds one request of --follow is held by the server.
	followWait = 25
	// maxLogLines that --limit may ask for: what a person or a pipe reads at once.
	maxLogLines = 100_000
	logPage     = 200
)

// logFlags are the flags of "sluice logs".
type logFlags struct {
	since, tool, caller, node, cause, request, trace string
	outcomes                                         []string
	failed, follow, stderr                           bool
	slower                                           time.Duration
	limit                                            int
}

// Logs is "sluice logs".
func Logs(s *command.Session) *cobra.Command {
	var f logFlags
	cmd := &cobra.Command{
		Use: "logs [TOOLSET | show CALL | capture TOOLSET [off|errors|all]]", Short: "Show the call log", Args: command.Between(0, 3, "a toolset, or what to do"),
		Long: `Show the call log: each call of a tool with its caller, how it ended and where its
time went. Edges report every ten seconds.

What calls said is not in the log. "sluice logs capture TOOLSET errors" (or all)
keeps the arguments and answers of calls from then on, redacted and cut at 4 KB;
"sluice logs show CALL" shows them.`,
		Example: `  sluice logs
  sluice logs petstore --failed --since 1h
  sluice logs petstore --follow
  sluice logs --outcome timeout,upstream_error -o jsonl
  sluice logs --slower 2s
  sluice logs notes --stderr
  sluice logs capture petstore errors
  sluice logs show call_1042`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			switch {
			case len(args) == 2 && args[0] == "show":
				return showLoggedCall(ctx, s, args[1])
			case len(args) >= 2 && args[0] == "capture":
				return logCapture(ctx, s, args[1:])
			case len(args) > 1:
				return command.UnknownAction(cmd, args)
			}
			if f.stderr {
				return commandOutput(ctx, s, args)
			}
			q, err := f.query(args)
			if err != nil {
				return err
			}
			c := s.Client()
			if f.follow {
				since, limit := "", 0
				if cmd.Flags().Changed("since") {
					since = f.since
				}
				if cmd.Flags().Changed("limit") {
					limit = f.limit
				}
				return followLogs(ctx, s, c, q, since, limit)
			}
			return listLogs(ctx, s, c, q, f.limit)
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&f.stderr, "stderr", false, "what the programs of the toolset wrote for people, instead of calls")
	fs.StringVar(&f.since, "since", "24h", "how far back: 10m, 24h, 7d")
	fs.StringVar(&f.tool, "tool", "", "only tools of this name")
	fs.StringSliceVar(&f.outcomes, "outcome", nil, "only ok, tool_error, upstream_error, timeout, denied, plugin_error, cancelled, protocol_error")
	fs.BoolVar(&f.failed, "failed", false, "only calls that failed")
	fs.StringVar(&f.cause, "cause", "", "only calls that failed of this, such as http_404")
	fs.StringVar(&f.caller, "caller", "", "only of this access token (its id) or subject")
	fs.StringVar(&f.node, "node", "", "only of this edge; local: the control plane's own gateway")
	fs.StringVar(&f.request, "request", "", "only with this JSON-RPC id, as the client wrote it")
	fs.StringVar(&f.trace, "trace", "", "only of this trace-id")
	fs.DurationVar(&f.slower, "slower", 0, "only calls that took at least so long, such as 500ms")
	fs.IntVar(&f.limit, "limit", 50, "most calls")
	fs.BoolVarP(&f.follow, "follow", "f", false, "show calls as they arrive, until interrupted or --limit; --since: and those before")
	command.MustComplete(cmd, "outcome", []string{"ok", "tool_error", "upstream_error", "timeout", "denied", "plugin_error", "cancelled", "protocol_error"})
	return cmd
}

func (f *logFlags) query(args []string) (url.Values, error) {
	if f.limit < 1 || f.limit > maxLogLines {
		return nil, exit.Usagef("--limit is 1 to %d", maxLogLines)
	}
	q := url.Values{}
	if !f.follow {
		q.Set("range", f.since)
	}
	if len(args) == 1 {
		q.Set("toolset", args[0])
	}
	for name, value := range map[string]string{
		"tool": f.tool, "cause": f.cause, "caller": f.caller, "node": f.node, "request": f.request, "trace": f.trace,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	for i, o := range f.outcomes {
		if i == 0 {
			q.Set("outcome", o)
			continue
		}
		q.Set("outcome", q.Get("outcome")+","+o)
	}
	if f.failed {
		q.Set("failed", "true")
	}
	if f.slower > 0 {
		q.Set("minMs", strconv.FormatInt(f.slower.Milliseconds(), 10))
	}
	return q, nil
}

// listLogs shows the newest calls, as many pages as they take.
func listLogs(ctx context.Context, s *command.Session, c *client.Client, q url.Values, limit int) error {
	var items []usage.LoggedCall
	omitted, cursor := uint64(0), ""
	for len(items) < limit {
		q.Set("limit", strconv.Itoa(min(limit-len(items), logPage)))
		if cursor != "" {
			q.Set("cursor", cursor)
		}
		var page admin.Calls
		if err := c.Get(ctx, "/v1/calls?"+q.Encode(), &page); err != nil {
			return err
		}
		items, omitted = append(items, page.Items...), omitted+page.Omitted
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if len(items) == 0 {
		s.Say("There is no such call in the log.")
	}
	if omitted > 0 {
		s.Say("%d more calls are counted (sluice usage) and not in the log: a node logs 4,096 in ten seconds.", omitted)
	}
	return terminal.List(&s.Terminal, items, nil, logColumns(), func(l usage.LoggedCall) string { return l.ID })
}

// followLogs shows calls as they arrive, until it is interrupted or has shown limit
// (0: without end). With a range it begins with the calls of that range.
func followLogs(ctx context.Context, s *command.Session, c *client.Client, q url.Values, since string, limit int) error {
	s.Streams()
	shown := 0
	show := func(items []usage.LoggedCall) (done bool, err error) {
		for i := range items {
			if err := logLine(s, &items[i]); err != nil {
				return true, err
			}
			if shown++; shown == limit {
				return true, nil
			}
		}
		return false, nil
	}
	q.Set("wait", "0")
	q.Set("limit", strconv.Itoa(logPage))
	for {
		var page usage.FollowedCalls
		if err := c.Get(ctx, "/v1/calls/follow?"+q.Encode(), &page); err != nil {
			return err
		}
		if since != "" {
			before, err := callsBefore(ctx, c, q, since, page.Next)
			if err != nil {
				return err
			}
			if done, err := show(before); done {
				return err
			}
			since = ""
		}
		if done, err := show(page.Items); done {
			return err
		}
		q.Set("after", page.Next)
		q.Set("wait", strconv.Itoa(min(followWait, int(c.Timeout/(2*time.Second)))))
	}
}

// callsBefore is the newest page of calls of a range that arrived up to a place in the
// log, oldest first.
func callsBefore(ctx context.Context, c *client.Client, follow url.Values, since, place string) ([]usage.LoggedCall, error) {
	q := maps.Clone(follow)
	q.Del("wait")
	q.Set("range", since)
	var page admin.Calls
	if err := c.Get(ctx, "/v1/calls?"+q.Encode(), &page); err != nil {
		return nil, err
	}
	last, err := strconv.ParseUint(place, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("reading the call log: %w", err)
	}
	items := slices.DeleteFunc(page.Items, func(l usage.LoggedCall) bool {
		n, err := strconv.ParseUint(strings.TrimPrefix(l.ID, "call_"), 10, 64)
		return err != nil || n > last // it comes again
	})
	slices.Reverse(items)
	return items, nil
}

// logLine shows one call of --follow: lists are aligned when they are whole, and this
// one never is.
func logLine(s *command.Session, l *usage.LoggedCall) error {
	switch s.Format {
	case "json":
		b, err := terminal.EncodeJSON(l)
		if err != nil {
			return err
		}
		return s.WriteDocument(terminal.SelectMembers(b, s.Fields))
	case "name":
		return s.WriteResult([]byte(l.ID + "\n"))
	}
	return s.Object(l, func(w io.Writer) {
		fmt.Fprintf(w, "%s  %-16s %-24s %-32s %8s ms  %6d tokens  %s\n", l.At.Local().Format("15:04:05.000"), terminal.Printable(outcomeText(l)),
			terminal.Printable(cmp.Or(l.Toolset, l.ToolsetID)), terminal.Printable(l.Tool), milliseconds(l.Duration.TotalMs), l.Tokens.After, terminal.Printable(callerText(l)))
	})
}

func outcomeText(l *usage.LoggedCall) string {
	if l.Cause != "" && l.Cause != l.Outcome {
		return l.Cause
	}
	return l.Outcome
}

// callerText is what people call who called.
func callerText(l *usage.LoggedCall) string { return cmp.Or(l.Caller.Name, l.Caller.ID, l.Caller.Kind) }

func logColumns() []terminal.Column[usage.LoggedCall] {
	return []terminal.Column[usage.LoggedCall]{
		{Header: "call", Wide: true, Value: func(l usage.LoggedCall) string { return l.ID }},
		{Header: "when", Value: func(l usage.LoggedCall) string { return terminal.Since(l.At) }},
		{Header: "toolset", Value: func(l usage.LoggedCall) string { return cmp.Or(l.Toolset, l.ToolsetID) }},
		{Header: "tool", Value: func(l usage.LoggedCall) string { return l.Tool }},
		{Header: "outcome", Value: func(l usage.LoggedCall) string { return outcomeText(&l) }},
		{Header: "ms", Value: func(l usage.LoggedCall) string { return milliseconds(l.Duration.TotalMs) }},
		{Header: "upstream ms", Value: func(l usage.LoggedCall) string { return milliseconds(l.Duration.UpstreamMs) }},
		{Header: "shape ms", Wide: true, Value: func(l usage.LoggedCall) string { return milliseconds(l.Duration.ShapeMs) }},
		{Header: "tokens", Value: func(l usage.LoggedCall) string { return strconv.FormatUint(l.Tokens.After, 10) }},
		{Header: "revision", Wide: true, Value: func(l usage.LoggedCall) string { return strconv.FormatUint(l.Revision, 10) }},
		{Header: "caller", Value: func(l usage.LoggedCall) string { return callerText(&l) }},
		{Header: "caller id", Wide: true, Value: func(l usage.LoggedCall) string { return l.Caller.ID }},
		{Header: "node", Wide: true, Value: func(l usage.LoggedCall) string { return l.Node }},
		{Header: "request", Wide: true, Value: func(l usage.LoggedCall) string { return l.Request }},
	}
}

// showLoggedCall shows one call, with what was captured.
func showLoggedCall(ctx context.Context, s *command.Session, id string) error {
	c := s.Client()
	var out usage.CallDetail
	if err := c.Get(ctx, "/v1/calls/"+url.PathEscape(id), &out); err != nil {
		return err
	}
	return s.Object(out, func(w io.Writer) {
		d := &out.Duration
		fmt.Fprintf(w, "%s  %s\n%s %s, revision %d: %s", out.ID, out.At.Local().Format("2006-01-02 15:04:05.000"), terminal.Printable(cmp.Or(out.Toolset, out.ToolsetID)),
			terminal.Printable(out.Tool), out.Revision, terminal.Printable(out.Outcome))
		if out.Cause != "" {
			fmt.Fprintf(w, " (%s)", terminal.Printable(out.Cause))
		}
		caller := callerText(&out.LoggedCall)
		if out.Caller.Name != "" {
			caller += " (" + out.Caller.ID + ")"
		}
		fmt.Fprintf(w, "\ncaller %s, node %s, credential %s", terminal.Printable(caller), terminal.Printable(out.Node), terminal.Printable(out.Credential))
		if out.Status != 0 {
			fmt.Fprintf(w, ", HTTP %d", out.Status)
		}
		fmt.Fprintf(w, "\n%s ms: prepare %s, upstream %s, shape %s, encode %s\n", milliseconds(d.TotalMs), milliseconds(d.PrepareMs), milliseconds(d.UpstreamMs),
			milliseconds(d.ShapeMs), milliseconds(d.EncodeMs))
		fmt.Fprintf(w, "%d → %d bytes, about %d → %d tokens\n", out.Bytes.Before, out.Bytes.After, out.Tokens.Before, out.Tokens.After)
		if !out.Captured {
			fmt.Fprintf(w, "what it said was not captured\n")
			return
		}
		fmt.Fprintf(w, "\narguments\n%s\n\nanswer\n%s\n", terminal.SafeText(out.Arguments), terminal.SafeText(out.Answer))
	})
}

// logCapture shows or sets what the log keeps of a toolset's calls.
func logCapture(ctx context.Context, s *command.Session, args []string) error {
	c, t, _, err := s.Toolset(ctx, args[0])
	if err != nil {
		return err
	}
	call := client.Call{Method: http.MethodGet, Path: client.ToolsetPath(t, "capture")}
	var out access.CaptureSettings
	call.Out = &out
	if len(args) == 2 {
		call.Method, call.In = http.MethodPut, access.CaptureSettings{Capture: args[1]}
	}
	if _, err := c.Do(ctx, call); err != nil {
		return err
	}
	return s.Object(out, func(w io.Writer) {
		what := map[string]string{"errors": "calls that failed", "all": "every call"}[out.Capture]
		if what == "" {
			fmt.Fprintf(w, "%s: arguments and answers are not kept\n", t.Slug)
			return
		}
		fmt.Fprintf(w, "%s: arguments and answers of %s are kept, redacted and cut at 4 KB\n", t.Slug, what)
	})
}
