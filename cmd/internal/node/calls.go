package node

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/sluicegate/sluice/gateway/call"
	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/mcpclient"
	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/gateway/tracing"
	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/plugins/enginepool"
	"github.com/sluicegate/sluice/plugins/script"
)

// calls is what the calls of tools go through.
type calls struct {
	programs *enginepool.Pool // of answers
	plugins  *nodePlugins
	scripts  *script.Engine
	upstream *upstream.Client
	servers  *mcpclient.Client
	commands *commands // nil: none are run
	files    files
}

// openCalls opens what calls of tools go through.
func (n *Node) openCalls(ctx context.Context) (err error) {
	if err := n.openTracer(ctx); err != nil {
		return err
	}
	if n.programs, err = enginepool.New(ctx, enginepool.Options{CacheDir: n.codeCache(), Logger: n.o.Logger}); err != nil {
		return fmt.Errorf("starting the plugin host: %w", err)
	}
	n.onClose(func() error { return n.programs.Close(context.WithoutCancel(ctx)) })
	if err := n.openPlugins(ctx); err != nil {
		return err
	}
	n.scripts = script.New(script.Options{CacheDir: n.codeCache(), Turns: n.plugins.turns, Logger: n.o.Logger})
	n.onClose(func() error { return n.scripts.Close(context.WithoutCancel(ctx)) })
	agent := "sluice/" + n.o.Version
	if n.upstream, err = upstream.New(upstream.Options{Dial: n.dialer.DialTimeout, UserAgent: agent}); err != nil {
		return err
	}
	if n.files, err = newFiles(agent); err != nil {
		return err
	}
	o := mcpclient.Options{HTTP: n.upstream, Version: n.o.Version, Pooled: !n.o.Gateway.State.IsZero(), Logger: n.o.Logger}
	if n.o.Admin.Commands && n.o.Role == RoleAll {
		if n.commands, err = newCommands(n); err != nil {
			return err
		}
		n.onClose(func() error { n.commands.running.Close(); return nil })
		if o.Commands, err = upstream.New(upstream.Options{Dial: n.commands.running.Dial, UserAgent: agent}); err != nil {
			return err
		}
	}
	if n.servers, err = mcpclient.New(o); err != nil {
		return err
	}
	n.onClose(func() error { n.servers.Close(); return nil })
	return nil
}

// openTracer starts to send spans where the variables of OpenTelemetry ask for it. It ends after
// everything that makes them.
func (n *Node) openTracer(ctx context.Context) (err error) {
	if n.tracer, err = tracing.New(os.Getenv, n.o.Version, n.o.Logger); err != nil || n.tracer == nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		n.tracer.Run(ctx)
	}()
	n.onClose(func() error {
		cancel()
		<-ended
		return nil
	})
	n.meter.Gauge("sluice_trace_spans_sent", func() float64 { sent, _ := n.tracer.Counts(); return float64(sent) })
	n.meter.Gauge("sluice_trace_spans_lost", func() float64 { _, lost := n.tracer.Counts(); return float64(lost) })
	n.o.Logger.LogAttrs(ctx, slog.LevelInfo, "traces are sent", slog.String("endpoint", n.tracer.Endpoint()))
	return nil
}

// newCaller makes what calls tools with the credentials of a source. Without a meter it
// is for tests of drafts: nothing is kept, nothing is counted.
func (n *Node) newCaller(from credentials.Source, meter *metering.Meter) (*call.Caller, error) {
	o := call.Options{Host: n.programs, Upstream: n.upstream, MCP: n.servers, Files: n.files, Plugins: n.plugins.runner, ShadowPlugins: n.plugins.shadow, Scripts: n.scripts, Credentials: from, Meter: meter, Logger: n.o.Logger}
	if n.control != nil {
		o.Scope = n.dialer.Scope
	}
	if meter == nil {
		o.CacheBytes = -1
	} else {
		o.Tracer = n.tracer
		if n.pool != nil {
			o.Pool, o.Answers = n.pool, n.pool
		}
	}
	c, err := call.New(o)
	if err == nil {
		n.onClose(func() error { c.Close(); return nil })
	}
	return c, err
}
