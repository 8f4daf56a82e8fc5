package extism

import (
	"context"
	"errors"

	"github.com/sluicegate/sluice/plugins/module"
)

// compilation is the compilation of a plugin. It goes on when nobody waits for it any more.
type compilation struct {
	done chan struct{} // closed when it ended
	err  error         // set before
}

// Compile meters and compiles the plugin, once. It takes about 0.4 seconds a megabyte
// or 0.02 with a warm cache, and package module's bounds keep it below two minutes
// whatever the plugin is. When ctx ends first it fails with ErrDeadline, and compiling
// goes on for the next call.
func (p *Plugin) Compile(ctx context.Context) error {
	err := p.begin(ctx)
	if err == nil {
		p.calls.Done()
	}
	return err
}

// begin counts a call of a plugin that is compiled; it compiles one that is not. Who
// called it calls p.calls.Done at the end.
func (p *Plugin) begin(ctx context.Context) error {
	for {
		p.mu.Lock()
		switch {
		case p.closed:
			p.mu.Unlock()
			return ErrClosed
		case p.code != nil:
			p.calls.Add(1)
			p.mu.Unlock()
			return nil
		case p.build == nil:
			p.build = &compilation{done: make(chan struct{})}
			p.h.building(1)
			go p.compile(p.build) //nolint:gosec // G118: the compilation serves whoever asks next too, and ends with the plugin
		}
		b := p.build
		p.mu.Unlock()
		select {
		case <-b.done:
			if b.err != nil {
				return b.err
			}
		case <-p.gone:
			return ErrClosed
		case <-ctx.Done():
			return ErrDeadline
		}
	}
}

func (h *Host) building(n int) {
	h.mu.Lock()
	h.underway += n
	h.mu.Unlock()
}

// compile runs a compilation.
func (p *Plugin) compile(b *compilation) {
	defer p.h.building(-1)
	e, c, err := p.prepare()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.build = nil
	switch {
	case err == nil && p.closed:
		e.drop(context.Background(), p.digest)
	case err == nil:
		p.engine, p.code, p.spec.Code = e, c, nil
	}
	b.err = err
	close(b.done)
}

// prepare meters and compiles the plugin's module.
func (p *Plugin) prepare() (*engine, *code, error) {
	m := mode{interrupt: p.h.o.Interrupt}
	m.class, _ = p.limits.class()
	wasm, work, err := module.Prepare(nil, p.spec.Code)
	switch {
	case errors.Is(err, module.ErrUnmeterable):
		fault, remedy := module.Explain(err)
		return nil, nil, p.refuse(remedy, "%s", fault)
	case err != nil:
		return nil, nil, p.refuse("build the plugin again; what a function may have is in docs/plugins/reference.md", "%v", err)
	case m.interrupt:
		wasm = p.spec.Code
	}
	e, err := p.h.engine(context.Background(), m)
	if err != nil {
		return nil, nil, err
	}
	c, err := p.h.compile(e, p.digest, wasm, work)
	if err != nil {
		return nil, nil, p.refuse("build the plugin again", "%s", clip(err.Error(), maxError))
	}
	return e, c, nil
}
