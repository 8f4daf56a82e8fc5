package pool

import (
	"context"
	"strings"

	"github.com/valkey-io/valkey-go"
)

// watched is the client of one operation. It notes a key that was asked for and did not come: the
// server of a cluster that has it may be away while the others answer.
type watched struct {
	valkey.Client

	failed string // "": nothing of a key failed
}

func (w *watched) Do(ctx context.Context, c valkey.Completed) valkey.ValkeyResult {
	key := keyOf(c)
	said := w.Client.Do(ctx, c)
	w.note(key, said)
	return said
}

func (w *watched) DoMulti(ctx context.Context, all ...valkey.Completed) []valkey.ValkeyResult {
	keys := make([]string, len(all))
	for i := range all {
		keys[i] = keyOf(all[i])
	}
	said := w.Client.DoMulti(ctx, all...)
	for i := range said {
		w.note(keys[i], said[i])
	}
	return said
}

func (w *watched) note(key string, said valkey.ValkeyResult) {
	if err := said.Error(); err != nil && !valkey.IsValkeyNil(err) && key != "" {
		w.failed = key
	}
}

// keyOf is the first key of a command, which is recycled when it is sent; "": it has none.
func keyOf(c valkey.Completed) string {
	for _, word := range c.Commands() {
		if strings.HasPrefix(word, namePrefix) {
			return word
		}
	}
	return ""
}
