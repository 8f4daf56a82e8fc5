package extism

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// kernelModule is what the kernel imports its host from; plugins cannot.
const kernelModule = "sluice:kernel"

// instantiateEnv makes the host side of the kernel.
func instantiateEnv(ctx context.Context, r wazero.Runtime) error {
	b := r.NewHostModuleBuilder(kernelModule)
	add := func(name string, f func(i *Instance, stack []uint64)) {
		t := envTypes[name]
		if name == "log" {
			t = envType{i32 + i64, ""}
		}
		b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(ctx context.Context, stack []uint64) {
			i := running(ctx)
			i.look()
			f(i, stack)
		}), valueTypes(t.params), valueTypes(t.results)).Export(name)
	}
	add("config_get", (*Instance).configGet)
	add("var_get", (*Instance).varGet)
	add("var_set", (*Instance).varSet)
	add("http_request", (*Instance).httpRequest)
	add("http_status_code", func(i *Instance, stack []uint64) { stack[0] = uint64(i.status) })
	add("http_headers", (*Instance).httpHeaders)
	add("get_log_level", func(i *Instance, stack []uint64) { stack[0] = uint64(i.p.spec.LogLevel) })
	add("log", (*Instance).logLine)
	if _, err := b.Instantiate(ctx); err != nil {
		return fmt.Errorf("making the kernel's host: %w", err)
	}
	return nil
}

func valueTypes(s string) []api.ValueType {
	t := make([]api.ValueType, len(s))
	for i := range t {
		t[i] = s[i]
	}
	return t
}

// read returns the block that a plugin passed. The view is valid until the plugin
// runs again.
func (i *Instance) read(what string, at uint64) []byte {
	b, ok := i.block(at)
	if !ok && at != 0 {
		deny("%s is not a block of memory", what)
	}
	return b
}

// write hands bytes to the plugin as a new block; 0 for none.
func (i *Instance) write(b []byte) uint64 {
	if len(b) == 0 {
		return 0
	}
	if i.alloc == nil {
		i.alloc = i.kernel.ExportedFunction("alloc")
	}
	i.hostStack[0] = uint64(len(b))
	if err := i.alloc.CallWithStack(context.Background(), i.hostStack[:]); err != nil {
		panic(fmt.Errorf("allocating for the plugin: %w", err))
	}
	at := i.hostStack[0]
	if at == 0 || at >= 1<<32 || !i.heap.Write(uint32(at), b) {
		deny("%d bytes from the host do not fit its memory", len(b))
	}
	return at
}

func (i *Instance) release(at uint64) {
	if i.free == nil {
		i.free = i.kernel.ExportedFunction("free")
	}
	i.hostStack[0] = at
	if err := i.free.CallWithStack(context.Background(), i.hostStack[:]); err != nil {
		panic(fmt.Errorf("freeing for the plugin: %w", err))
	}
}

// name reads the name of a setting or a variable. The plugin is denied those that would take
// long to copy.
func (i *Instance) name(what string, at uint64) string {
	b := i.read(what, at)
	if len(b) > maxName {
		deny("%s has %d bytes, more than %d", what, len(b), maxName)
	}
	return string(b)
}

func (i *Instance) configGet(stack []uint64) {
	key := i.name("the name of a setting", stack[0])
	if i.config != nil {
		if v, ok := i.config(key); ok {
			stack[0] = i.write([]byte(v))
			return
		}
	}
	stack[0] = i.write([]byte(i.p.spec.Config[key]))
}

func (i *Instance) varGet(stack []uint64) {
	value := i.vars[i.name("the name of a variable", stack[0])]
	i.release(stack[0])
	stack[0] = i.write(value)
}

// varOverhead is what a variable costs beyond its name and value.
const varOverhead = 40

func (i *Instance) varSet(stack []uint64) {
	key := i.name("the name of a variable", stack[0])
	i.release(stack[0])
	bytes := i.varBytes
	if old, ok := i.vars[key]; ok {
		bytes -= len(key) + len(old) + varOverhead
	}
	if stack[1] == 0 {
		delete(i.vars, key)
		i.varBytes = bytes
		return
	}
	value := i.read("the value of a variable", stack[1])
	if bytes += len(key) + len(value) + varOverhead; bytes > i.p.limits.Variables {
		deny("its variables hold more than %d bytes", i.p.limits.Variables)
	}
	i.vars[key] = append([]byte(nil), value...)
	i.varBytes = bytes
	i.release(stack[1])
}

// logLine takes a level and a block. A call may write maxLogLines.
func (i *Instance) logLine(stack []uint64) {
	level := int(uint32(stack[0]))
	line := i.read("a log line", stack[1])
	i.lines++
	if level >= i.p.spec.LogLevel && i.lines <= maxLogLines {
		i.emit(level, clip(string(line[:min(len(line), maxLogLine)]), maxLogLine))
	}
	i.release(stack[1])
}

func (i *Instance) emit(level int, line string) {
	if i.p.spec.Log != nil {
		i.p.spec.Log(level, line)
		return
	}
	levels := [...]slog.Level{slog.LevelDebug - 4, slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}
	// A plugin's error is no fault of the node's: it is logged one lower.
	l := min(levels[min(max(level, 0), 4)], slog.LevelWarn)
	i.p.h.log.LogAttrs(context.Background(), l, "plugin says", slog.String("plugin", i.p.spec.Name), slog.String("text", line))
}

// Caller is what a host function sees of the call that it serves. It is valid
// until the function returns.
type Caller struct{ i *Instance }

// Context ends at the call's deadline or with its caller.
func (c *Caller) Context() (context.Context, context.CancelFunc) {
	return context.WithDeadline(c.i.ctx.Context, c.i.deadline)
}

// Await runs f, which waits for something outside of the plugin: its time is added to
// the plugin's deadline, so only ctx, which is the context of the call, bounds it.
func (c *Caller) Await(f func(ctx context.Context)) { c.i.await(f) }

// Data returns what the call was given.
func (c *Caller) Data() any { return c.i.data }

// Read returns the block at an offset that the plugin passed. The view is valid
// until the function writes or returns. An offset that is not a block stops the plugin.
func (c *Caller) Read(at uint64) []byte { return c.i.read("an argument", at) }

// Write hands bytes to the plugin and returns the offset to pass; 0 for none.
func (c *Caller) Write(b []byte) uint64 { return c.i.write(b) }

// Free frees a block that the plugin passed.
func (c *Caller) Free(at uint64) { c.i.release(at) }

// Send sends an HTTP request for the plugin, as its own are: to a host that it was granted,
// and counted with them. It stops the plugin when there is no answer.
func (c *Caller) Send(method, url string, header http.Header, body []byte) (answer []byte, status int) {
	answer, status, _ = c.i.send(method, url, header, body)
	return answer, status
}

// Stop ends the plugin's call with a reason for its author.
func (c *Caller) Stop(reason string) { deny("%s", reason) }
