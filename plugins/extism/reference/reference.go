package reference

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/guest"
)

// Version of extism/go-sdk that plugins run on.
const Version = "v1.7.1"

//go:embed program
var program embed.FS

// Build returns the program around the reference host, compiled below cache, a
// directory, when it is not there yet. It fails with a [problem.Unsupported] where
// there is no Go toolchain, or none that can get the library.
func Build(ctx context.Context, cache string) (string, error) {
	files := map[string][]byte{}
	sum := sha256.New()
	err := fs.WalkDir(program, "program", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := program.ReadFile(path)
		files[strings.TrimSuffix(filepath.Base(path), ".tmpl")] = b
		_, _ = sum.Write(append([]byte(path), b...))
		return err
	})
	if err != nil {
		return "", fmt.Errorf("reading the program of the reference host: %w", err)
	}
	out := filepath.Join(cache, "extism-go-sdk-"+Version+"-"+hex.EncodeToString(sum.Sum(nil)[:8]))
	if info, err := os.Stat(out); err == nil && info.Mode().IsRegular() {
		return out, nil
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return "", fmt.Errorf("making the cache of the reference host: %w", err)
	}
	dir, err := os.MkdirTemp(cache, "build-")
	if err != nil {
		return "", fmt.Errorf("making the cache of the reference host: %w", err)
	}
	defer os.RemoveAll(dir)
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			return "", fmt.Errorf("writing the program of the reference host: %w", err)
		}
	}
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", "reference", ".")
	c.Dir, c.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "CGO_ENABLED=0", "GOOS=", "GOARCH=")
	if c.Err != nil {
		return "", problem.New(problem.Unsupported, "Go is not installed, which the reference host extism/go-sdk is built with").
			Fix("install Go 1.26 or newer: https://go.dev/dl, or leave --reference out")
	}
	if said, err := c.CombinedOutput(); err != nil {
		return "", problem.New(problem.Unsupported, "the reference host extism/go-sdk %s cannot be built: %s", Version, bytes.TrimSpace(said)).
			Fix("it is fetched as a Go module once: let this machine reach a module proxy").Because(err)
	}
	// The name tells what is in it, so another process can only have built the same.
	if err := os.Rename(filepath.Join(dir, "reference"), out); err != nil {
		return "", fmt.Errorf("keeping the reference host: %w", err)
	}
	return out, nil
}

// Host is one plugin on the reference host. Close it when done.
type Host struct {
	p      *guest.Package
	config json.RawMessage
	cmd    *exec.Cmd
	in     io.WriteCloser
	to     *json.Encoder
	from   *json.Decoder
	said   bytes.Buffer
}

// timeout of one call: the reference has no metering, and the limits of the manifest
// are not its.
const timeout = 10 * time.Second

// Start loads a plugin with a configuration. program is what [Build] returned.
func Start(ctx context.Context, program string, p *guest.Package, config json.RawMessage) (*Host, error) {
	h := &Host{p: p, config: config, cmd: exec.CommandContext(ctx, program)}
	h.cmd.Stderr = &h.said
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the reference host: %w", err)
	}
	if h.in, err = h.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("starting the reference host: %w", err)
	}
	if err := h.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the reference host: %w", err)
	}
	h.to, h.from = json.NewEncoder(h.in), json.NewDecoder(out)
	setup := struct {
		Module    []byte
		TimeoutMS int64
		Functions []guest.Signature
	}{p.Code, timeout.Milliseconds(), guest.Signatures()}
	if err := h.to.Encode(&setup); err != nil {
		h.Close()
		return nil, h.broken(err)
	}
	return h, nil
}

// Configure changes the configuration of later calls.
func (h *Host) Configure(config json.RawMessage) { h.config = config }

// Close ends the program.
func (h *Host) Close() {
	_ = h.in.Close()
	_ = h.cmd.Wait()
}

// broken is what is wrong when the program does not answer any more.
func (h *Host) broken(err error) error {
	h.Close()
	text := strings.TrimSpace(h.said.String())
	if text == "" {
		text = err.Error()
	}
	return fmt.Errorf("the reference host ended: %.1000s", text)
}

type message struct {
	Function string
	Numbers  []uint64
	Blocks   [][]byte
	Output   []byte
	Code     uint32
	Error    string
}

// Transform runs the entry point of the plugin on in and appends its output to dst. What
// the plugin says went wrong is an [extism.PluginError], what broke a
// [extism.TrapError].
func (h *Host) Transform(ctx context.Context, dst, in []byte, c *guest.Context) ([]byte, error) {
	settings, err := h.p.Settings(h.config, c)
	if err != nil {
		return dst, err
	}
	call := struct {
		Export string
		Input  []byte
		Config map[string]string
	}{h.p.Entry(), in, settings}
	if err := h.to.Encode(&call); err != nil {
		return dst, h.broken(err)
	}
	for {
		var m message
		if err := h.from.Decode(&m); err != nil {
			return dst, h.broken(err)
		}
		switch {
		case m.Function != "":
			number, block, err := c.Serve(ctx, m.Function, m.Numbers, m.Blocks)
			answer := struct {
				Number uint64
				Block  []byte
				Stop   string
			}{Number: number, Block: block}
			if err != nil {
				answer.Stop = err.Error()
			}
			if err := h.to.Encode(&answer); err != nil {
				return dst, h.broken(err)
			}
		case m.Error != "" && (strings.Contains(m.Error, "wasm error") || strings.Contains(m.Error, "recovered by wazero") || strings.Contains(m.Error, "module closed")):
			first, _, _ := strings.Cut(m.Error, "\n")
			return dst, &extism.TrapError{Reason: first}
		case m.Error != "":
			return dst, &extism.PluginError{Code: m.Code, Message: m.Error}
		case m.Code != 0:
			return dst, &extism.PluginError{Code: m.Code}
		default:
			return append(dst, m.Output...), nil
		}
	}
}
