package pool

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/valkey-io/valkey-go"
)

const (
	// maxMessage is the longest message of a node to others, in bytes: what a client answers
	// to the question of a server has a request's size.
	maxMessage = 4 << 20
	// hearAgain is after how long a node that does not hear the others tries again, and keyAgain
	// how often it looks whether the others speak under another key.
	hearAgain = time.Second
	keyAgain  = time.Second / 4
)

// everyNode is the name by which a message is for all nodes.
const everyNode = "*"

// Tell sends a message to a node that hears under this name; "": to all that hear, this one
// too. Nobody is told later: a node that does not hear now misses it. It fails with [ErrFull] for what is too large, and [ErrAway].
func (s *Store) Tell(ctx context.Context, node string, message []byte) error {
	if len(message) > maxMessage {
		return ErrFull
	}
	if node == "" {
		node = everyNode
	}
	return s.do(ctx, "tell", func(ctx context.Context, c valkey.Client, k *derivedKeys) error {
		channel := k.name("nodes", node)
		return c.Do(ctx, c.B().Publish().Channel(channel).Message(valkey.BinaryString(k.seal(channel, message))).Build()).Error()
	})
}

// Hear calls heard with each message for a node, or for all, one after the other, until ctx ends.
// Each time that messages begin to come, so that some may have been missed, it calls
// began. heard must not keep the message.
func (s *Store) Hear(ctx context.Context, node string, began func(), heard func(message []byte)) {
	for ctx.Err() == nil {
		if k := s.keys.now(); k != nil && s.away.Load() == 0 {
			if c, err := s.connect(ctx); err == nil {
				s.hearWith(ctx, c, k, node, began, heard)
			}
			if s.keys.now() != k && s.away.Load() == 0 {
				continue // under the next key at once
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(hearAgain):
		}
	}
}

// hearWith hears until the connection or the keys of the pool are others.
func (s *Store) hearWith(ctx context.Context, c valkey.Client, k *derivedKeys, node string, began func(), heard func([]byte)) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := s.afterKey(k, cancel)
	defer stop()
	channels := k.channels(node)
	by := map[string]*derived{channels[0]: k.derived, channels[1]: k.derived}
	if k.other != nil {
		others := k.other.channels(node)
		by[others[0]], by[others[1]] = k.other, k.other
		channels = append(others, channels...)
	}
	last := channels[len(channels)-1]
	hooked := valkey.WithOnSubscriptionHook(ctx, func(p valkey.PubSubSubscription) {
		if p.Kind == "subscribe" && p.Channel == last {
			go began() // it asks the server, on the connection that this is called by
		}
	})
	err := c.Receive(hooked, c.B().Subscribe().Channel(channels...).Build(), func(m valkey.PubSubMessage) {
		d := by[m.Channel]
		if d == nil || len(m.Message) > maxMessage+d.aead.Overhead() {
			return
		}
		if message, err := d.open(m.Channel, []byte(m.Message)); err == nil {
			heard(message)
		}
	})
	if err != nil && ctx.Err() == nil && !errors.Is(err, valkey.ErrClosing) && !strings.Contains(err.Error(), "EOF") {
		s.log.LogAttrs(ctx, slog.LevelDebug, "this node does not hear the others of its pool", slog.String("error", reason(err)))
	}
}

// channels are where a node is told of something, by itself and with all.
func (d *derived) channels(node string) []string {
	return []string{d.name("nodes", node), d.name("nodes", everyNode)}
}

// afterKey calls f when the keys of the pool are others than k, until stop is called.
func (s *Store) afterKey(k *derivedKeys, f func()) (stop func()) {
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(keyAgain)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-s.done:
				f()
				return
			case <-tick.C:
				if s.keys.now() != k {
					f()
					return
				}
			}
		}
	}()
	return func() { close(done) }
}
