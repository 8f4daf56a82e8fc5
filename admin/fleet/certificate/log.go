package certificate

import (
	"context"
	"log/slog"
	"slices"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// bridge makes the logger that certmagic wants of one of this program. What it reports
// its life is for debugging: what a person must know is said by those who call it.
func bridge(l *slog.Logger) *zap.Logger { return zap.New(&core{log: l}) }

type core struct {
	log    *slog.Logger
	fields []zapcore.Field
}

var _ zapcore.Core = (*core)(nil)

// level of what certmagic logs: errors of single attempts, which are made again, warn
// nobody, because the domain says what is wrong with it.
func level(l zapcore.Level) slog.Level {
	if l >= zapcore.DPanicLevel {
		return slog.LevelError
	}
	return slog.LevelDebug
}

// Enabled implements [zapcore.LevelEnabler].
func (c *core) Enabled(l zapcore.Level) bool { return c.log.Enabled(context.Background(), level(l)) }

// With implements [zapcore.Core].
func (c *core) With(fields []zapcore.Field) zapcore.Core {
	return &core{c.log, append(slices.Clip(c.fields), fields...)}
}

// Check implements [zapcore.Core].
func (c *core) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return ce.AddCore(e, c)
	}
	return ce
}

// Write implements [zapcore.Core].
func (c *core) Write(e zapcore.Entry, fields []zapcore.Field) error {
	enc := zapcore.NewMapObjectEncoder()
	for _, list := range [][]zapcore.Field{c.fields, fields} {
		for i := range list {
			list[i].AddTo(enc)
		}
	}
	c.log.LogAttrs(context.Background(), level(e.Level), "the client of the certificate authority", slog.String("did", e.Message), slog.Any("fields", enc.Fields))
	return nil
}

// Sync implements [zapcore.Core].
func (c *core) Sync() error { return nil }
