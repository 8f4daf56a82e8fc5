package notify

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/retry"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/secrets"
)

// DefaultBackoff is how long after each failed attempt the next one comes: 75 hours in
// all (Standard Webhooks, "Deliverability and reliability").
var DefaultBackoff = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

const (
	// idle is how often the outbox is looked at when nothing rings.
	idle = 15 * time.Second
	// shortest pause between two looks.
	shortest = 50 * time.Millisecond
	// parallel messages of one channel that are under way.
	parallel = 4
)

// Options of a room. Store, Keyring and Dialer are required.
type Options struct {
	Store   *store.Store
	Keyring *secrets.Keyring
	Dialer  *safedial.Dialer // which addresses may be called
	// Backoff is how long after each failed attempt of a message the next one comes;
	// after the last it is dead. Default: [DefaultBackoff].
	Backoff []time.Duration
	// PublicURL is where browsers reach the admin listener. Links to unsubscribe are below it
	// when it is https (RFC 8058). Default: mail has no such links.
	PublicURL string
	Log       *slog.Logger // default: discard
	// Attempted counts an attempt by the kind of the channel and how it ended: delivered,
	// failed or dead. May be nil.
	Attempted func(channel, outcome string)
}

// Room delivers notices.
type Room struct {
	store   *store.Store
	keyring *secrets.Keyring
	dialer  *safedial.Dialer
	backoff []time.Duration
	public  string // [Options.PublicURL]
	log     *slog.Logger
	client  *http.Client
	counted func(channel, outcome string)
	wake    chan struct{} // capacity 1
	// roots are whom mail servers are trusted by. nil: the roots of this machine.
	roots *x509.CertPool

	mu      sync.Mutex
	running map[string]bool // guarded by mu; channels that are being delivered to, by id
	wg      sync.WaitGroup
}

// New makes a room.
func New(o Options) *Room {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if len(o.Backoff) == 0 {
		o.Backoff = DefaultBackoff
	}
	if o.Attempted == nil {
		o.Attempted = func(string, string) {}
	}
	return &Room{
		counted: o.Attempted,
		store:   o.Store, keyring: o.Keyring, dialer: o.Dialer, backoff: o.Backoff, public: strings.TrimSuffix(o.PublicURL, "/"), log: o.Log, wake: make(chan struct{}, 1), running: map[string]bool{},
		client: &http.Client{
			Timeout: sendTimeout,
			Transport: &http.Transport{
				DialContext: o.Dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: sendTimeout,
				MaxIdleConns: maxChannels, IdleConnTimeout: 30 * time.Second,
			},
			// A receiver that moved is changed by its operator.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Wake has the outbox looked at at once. It does not block.
func (r *Room) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Run delivers until ctx ends, while this process holds the claim on the database, and
// waits for the attempts that are under way.
func (r *Room) Run(ctx context.Context) {
	defer r.wg.Wait()
	for ctx.Err() == nil {
		pause := idle
		if err := r.look(ctx); err != nil && ctx.Err() == nil {
			r.log.LogAttrs(ctx, slog.LevelWarn, "notices were not delivered: it is tried again", slog.Any("error", err))
			pause = time.Second
		} else if next, err := r.store.NextDelivery(ctx); err == nil && !next.IsZero() {
			pause = min(max(next.Sub(r.store.Now()), shortest), idle)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-r.wake:
			_ = retry.Sleep(ctx, shortest) // what else happened with it; the loop looks at ctx
		}
		timer.Stop()
	}
}

// look gives what is in the outbox to the channels, and starts those that have something
// to deliver.
func (r *Room) look(ctx context.Context) error {
	if err := r.store.Claimed(ctx); err != nil {
		return err
	}
	ids, err := r.store.Workspaces(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range ids {
		ws := r.store.Workspace(id)
		err := r.route(ctx, ws)
		var channels []store.Channel
		if err == nil {
			channels, _, err = ws.Channels(ctx, store.Page{Limit: store.MaxLimit})
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for i := range channels {
			if channels[i].Disabled == "" {
				errs = append(errs, r.start(ctx, ws, channels[i].ID))
			}
		}
	}
	return errors.Join(errs...)
}

// route empties the outbox of a workspace. The channels are read behind the events: one that
// was there when something happened is notified of it.
func (r *Room) route(ctx context.Context, ws *store.Workspace) error {
	for {
		events, err := ws.Outbox(ctx, store.MaxLimit)
		if err != nil || len(events) == 0 {
			return err
		}
		channels, _, err := ws.Channels(ctx, store.Page{Limit: store.MaxLimit})
		if err != nil {
			return err
		}
		err = ws.Update(ctx, func(tx *store.Tx) error {
			for i := range events {
				var to []store.Delivery
				for j := range channels {
					s, err := settingsOf(&channels[j])
					if err != nil {
						return err
					}
					if s.takes(&channels[j], &events[i]) {
						until, digest := s.held(&events[i], tx.Now())
						to = append(to, store.Delivery{ChannelID: channels[j].ID, NextAt: store.Time{Time: until}, Digest: digest})
					}
				}
				if _, err := tx.RouteEvent(ctx, &events[i], to); err != nil {
					return err
				}
				if events[i].Severity == Critical && events[i].AlertID != "" { // what waits of it would keep it waiting
					if err := tx.HastenDeliveries(ctx, events[i].AlertID); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}

// start delivers to a channel in a goroutine of its own, unless one does or nothing is
// due.
func (r *Room) start(ctx context.Context, ws *store.Workspace, channel string) error {
	now := store.Time{Time: r.store.Now()}
	due, err := ws.DueDeliveries(ctx, channel, now, 1)
	if err == nil && len(due) == 0 {
		due, err = ws.DueDigest(ctx, channel, now, 1)
	}
	if err != nil || len(due) == 0 {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running[channel] {
		return nil
	}
	r.running[channel] = true
	r.wg.Go(func() {
		r.drain(ctx, ws, channel)
		r.mu.Lock()
		delete(r.running, channel)
		r.mu.Unlock()
		r.Wake() // something may have become due since drain looked
	})
	return nil
}
