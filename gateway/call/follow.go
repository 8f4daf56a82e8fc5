package call

import (
	"context"
	"errors"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/ask"
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/mcpclient"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

// FollowOptions say for whom a server is listened to.
type FollowOptions struct {
	Principal access.Principal
	// Request has the session of the client, in whose session at the server the stream is;
	// nil: it has none.
	Request *mcp.CallParams
	// Cancel ends the stream.
	Cancel *upstream.Cancel
	// Hears says that what the server says outside of calls reaches the client, on the
	// stream of the session of Request: its requests, log messages, and that an elicitation
	// by URL is complete. What is passed on so is not told Feed.Notify.
	Hears bool
	Feed  mcpclient.Feed
}

// Follow keeps a stream of an MCP server open, as [mcpclient.Client.Follow] does, with the
// credential and in the session that calls of tool have, which is an item of the server.
func (c *Caller) Follow(ctx context.Context, tool *snapshot.Tool, opt FollowOptions) error {
	if c.mcp == nil {
		return problem.New(problem.Unavailable, "this node does not call MCP servers")
	}
	x := c.pool.Get().(*exchange)
	defer c.release(x)
	x.input = input{c: c, ctx: ctx, tool: tool, ts: tool.Toolset, principal: opt.Principal, principalKey: opt.Principal.Key(), cancel: opt.Cancel, request: opt.Request, start: time.Now()}
	x.limit, x.maxBody = tool.Limits()
	x.deadline = x.start.Add(x.limit)
	if opt.Hears {
		h, notify := &ask.Hearing{Session: opt.Request.Session, Server: tool.Binding.Name, Tasks: c.tasks.Names(x.taskOwner(), tool.Binding.Name)}, opt.Feed.Notify
		opt.Feed.Ask = h.Ask
		opt.Feed.Notify = func(method string, params jsonscan.Value) {
			if !h.Tell(method, params) {
				notify(method, params)
			}
		}
	}
	var err error
	if x.ready, err = tool.Load(); err != nil {
		return err
	}
	if x.bound, err = x.authenticate(nil, x.ready.MCP.Origin()); err != nil {
		return err
	}
	for again := false; ; again = true {
		t := x.targetMCP()
		t.Deadline, t.Idle = time.Time{}, 0 // it lasts
		err = c.mcp.Follow(&x.mcp, &t, &opt.Feed)
		refused, ok := errors.AsType[*mcpclient.AuthError](err)
		if again || !ok || refused.Status != fasthttp.StatusUnauthorized || !x.renewTokens() {
			return err
		}
	}
}
