package edge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/retry"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// fileCertificates holds the certificates of domains, sealed to the node.
const fileCertificates = "certificates.json"

// Certificates follows the certificates of the domains this node serves, which the control
// plane obtains and renews: sealed to the node on the way and on disk. What it has is shown
// until something newer comes, also over a restart without the control plane. Run is one
// goroutine; the other methods may be called by many.
type Certificates struct {
	// Remote is the control plane. Required
	Remote *Remote
	// Serves reports whether a host is one of the live release: its certificate is kept also
	// when the control plane has it no more. Required
	Serves func(host string) bool
	// Apply shows certificates, those of the installation's own hosts among them. Required
	Apply func(own []string, list []registry.EdgeCertificate) error

	mu    sync.Mutex
	have  registry.EdgeCertificates // guarded by mu
	fault error                     // guarded by mu
}

// Load shows what is on disk. What cannot be read is asked for again.
func (c *Certificates) Load() {
	b, err := readFile(filepath.Join(c.Remote.opts.Dir, fileCertificates), registry.MaxSealedBytes*2)
	if err == nil {
		var in *registry.EdgeCertificates
		if in, err = c.unseal(b); err == nil {
			err = c.apply(in)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.Remote.log.LogAttrs(context.Background(), slog.LevelWarn, "stored certificates are not usable, asking for them again", slog.Any("error", err))
	}
}

func (c *Certificates) unseal(b []byte) (*registry.EdgeCertificates, error) {
	id := c.Remote.current()
	if id == nil {
		return nil, errors.New("the node is not enrolled")
	}
	var doc registry.SealedCredentials
	if err := json.Unmarshal(b, &doc); err != nil {
		return nil, fmt.Errorf("read sealed certificates: %w", err)
	}
	key, err := id.sealKey()
	if err != nil {
		return nil, err
	}
	plain, err := key.Open(registry.CertificateSealInfo(id.Edge), doc.Sealed)
	if err != nil {
		return nil, err
	}
	defer clear(plain)
	out := new(registry.EdgeCertificates)
	if json.Unmarshal(plain, out) != nil {
		return nil, errors.New("the certificates are not in a form this version reads") // never the text
	}
	if out.Edge != id.Edge {
		return nil, problem.New(problem.Conflict, "the certificates are for another edge")
	}
	return out, nil
}

// apply shows certificates, and those of before that are not among them although their
// hosts are still served.
func (c *Certificates) apply(in *registry.EdgeCertificates) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.have.Release; old != nil && in.Release != nil && in.Release.Before(*old) {
		return problem.New(problem.Conflict, "the control plane sends the certificates of release %s, this edge has seen %s", in.Release, old).
			Fix("look whether the control plane was set back to an older state")
	}
	sent := make(map[string]bool, len(in.Certificates))
	for i := range in.Certificates {
		sent[in.Certificates[i].Host] = true
	}
	next := *in
	for _, old := range c.have.Certificates {
		if !sent[old.Host] && (c.Serves(old.Host) || slices.Contains(in.Own, old.Host)) {
			next.Certificates = append(next.Certificates, old)
		}
	}
	c.have = next
	return c.Apply(next.Own, next.Certificates)
}

// follow gets newer certificates once.
func (c *Certificates) follow(ctx context.Context) error {
	c.mu.Lock()
	known := c.have.ETag
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, DefaultPollTimeout)
	defer cancel()
	b, err := c.Remote.get(ctx, registry.EdgeCertificatesPath, known, true, registry.MaxSealedBytes*2)
	if err != nil {
		return err
	}
	in, err := c.unseal(b)
	if err != nil {
		return fmt.Errorf("open the certificates: %w", err)
	}
	return errors.Join(c.apply(in), c.save())
}

// save writes what the node has, sealed to itself.
func (c *Certificates) save() error {
	id := c.Remote.current()
	key, err := id.sealKey()
	if err != nil {
		return err
	}
	c.mu.Lock()
	plain, err := json.Marshal(&c.have)
	etag := c.have.ETag
	c.mu.Unlock()
	if err != nil {
		return errors.New("the certificates cannot be encoded") // never the text
	}
	defer clear(plain)
	sealed, err := secrets.SealTo(key.Public(), registry.CertificateSealInfo(id.Edge), plain)
	if err != nil {
		return err
	}
	b, err := json.Marshal(registry.SealedCredentials{ETag: etag, Sealed: sealed})
	if err == nil {
		err = atomicfile.WriteOn(c.Remote.opts.System, filepath.Join(c.Remote.opts.Dir, fileCertificates), b, 0o600)
	}
	if err != nil {
		return fmt.Errorf("the certificates are shown and cannot be kept: %w", err)
	}
	return nil
}

// Fault is what keeps the node from its newest certificates; nil: nothing.
func (c *Certificates) Fault() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fault
}

// Run follows the certificates until ctx ends; it returns ctx's error.
func (c *Certificates) Run(ctx context.Context) error {
	pause := retry.Backoff{First: DefaultMinRetry, Longest: DefaultMaxRetry, Jitter: c.Remote.opts.Jitter}
	for ctx.Err() == nil {
		asked := time.Now()
		err := c.follow(ctx)
		if ctx.Err() != nil {
			break
		}
		unchanged := errors.Is(err, registry.ErrUnchanged)
		if unchanged {
			err = nil
		}
		c.mu.Lock()
		news := (err == nil) != (c.fault == nil)
		c.fault = err
		c.mu.Unlock()
		if news {
			c.Remote.log.LogAttrs(ctx, slog.LevelInfo, "certificates of domains followed", slog.Any("error", err))
		}
		if err == nil {
			pause.Reset()
			if !unchanged || time.Since(asked) >= quickAnswer {
				continue
			}
		}
		if err := pause.Wait(ctx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Challenge asks the control plane what a certificate authority wants to see at a host;
// nil: nothing.
func (r *Remote) Challenge(ctx context.Context, host string) (*registry.EdgeChallenge, error) {
	if !r.Enrolled() {
		return nil, nil //nolint:nilnil // nothing is known
	}
	out := new(registry.EdgeChallenge)
	err := r.post(ctx, registry.EdgeChallengePath, true, registry.EdgeChallengeRequest{Host: host}, out)
	if problem.Is(err, problem.NotFound) {
		return nil, nil //nolint:nilnil // nothing is asked
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}
