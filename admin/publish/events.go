package publish

import (
	"context"
	"log/slog"
	"time"
)

// Event is one transition in the life of a toolset's revision, or a plugin that was
// taken out of calls.
type Event struct {
	Type      string    `json:"type"`
	Time      time.Time `json:"time"`
	Workspace string    `json:"workspace"`
	Toolset   string    `json:"toolset,omitempty"`
	Revision  uint64    `json:"revision,omitempty"`
	Digest    string    `json:"digest,omitempty"`
	From      string    `json:"from,omitempty"`
	To        string    `json:"to,omitempty"`
	Plugin    string    `json:"plugin,omitempty"` // NAME@VERSION of a plugin that failed
	Reason    string    `json:"reason,omitempty"`
}

// Events logs events and sends them on. Its fields do not change after the first Emit.
type Events struct {
	Now  func() time.Time
	Log  *slog.Logger
	Send func(Event) // must not block. nil: events are only logged
}

// Emit logs an event and sends it on. The transition must be durable before.
func (e *Events) Emit(ev Event) {
	ev.Time = e.Now()
	ctx := context.Background()
	if ev.Plugin != "" {
		e.Log.LogAttrs(ctx, slog.LevelWarn, "lifecycle", slog.String("event", ev.Type), slog.String("plugin", ev.Plugin), slog.String("reason", ev.Reason))
	} else {
		e.Log.LogAttrs(ctx, slog.LevelInfo, "lifecycle", slog.String("event", ev.Type), slog.String("toolset", ev.Toolset),
			slog.Uint64("revision", ev.Revision), slog.String("from", ev.From), slog.String("to", ev.To))
	}
	if e.Send != nil {
		e.Send(ev)
	}
}
