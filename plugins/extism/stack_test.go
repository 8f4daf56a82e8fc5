package extism

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/plugins/module"
)

// deepest are functions "f" that call themselves for ever, with frames of several sizes.
func deepest() map[string][]byte {
	call := "\x10\x00\x0b"
	of := func(locals, body string) []byte {
		n := len(locals) + len(body)
		size := string([]byte{byte(n&0x7f | 0x80), byte(n>>7&0x7f | 0x80), byte(n >> 14)})
		code := "\x01" + size + locals + body
		return wasm(sec(1, "\x01\x60\x00\x00"), sec(3, "\x01\x00"), sec(5, "\x01\x00\x01"), sec(7, "\x01\x01f\x00\x00"), secLong(10, code))
	}
	load := "\x41\x00\x28\x00\x00"
	const live = 5000 // values that have their places in a frame while the function is called
	return map[string][]byte{
		"small frames": of("\x00", call),
		"large frames": of("\x00", "\x41\x00"+strings.Repeat(load, live)+"\x10\x00"+strings.Repeat("\x6a", live-1)+"\x36\x00\x00\x0b"),
		"values over a loop": of("\x01\xc8\x01\x7f", func() string {
			var b strings.Builder
			for i := range 100 {
				b.WriteString(load + "\x21" + string(rune(i)))
			}
			b.WriteString("\x03\x40\x10\x00\x41\x01\x0d\x00\x0b")
			for i := range 100 {
				b.WriteString("\x41\x00\x20" + string(rune(i)) + "\x36\x00\x00")
			}
			return b.String() + "\x0b"
		}()),
	}
}

func secLong(id byte, payload string) string {
	n := len(payload)
	return string([]byte{id, byte(n&0x7f | 0x80), byte(n>>7&0x7f | 0x80), byte(n >> 14)}) + payload
}

// TestStackCounts: the stack of a plugin that calls itself for ever stays within its
// memory class, whatever a frame takes, and the plugin is stopped for it.
func TestStackCounts(t *testing.T) {
	h := newHost(t, Options{Grace: 10 * time.Second})
	for name, code := range deepest() {
		for _, class := range classes {
			p := load(t, h, Spec{Name: name, Code: code, Limits: Limits{Memory: class}})
			i, err := p.Instance(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = i.Call(t.Context(), nil, Call{Export: "f"})
			if trap, ok := errors.AsType[*TrapError](err); !ok || !strings.Contains(trap.Reason, "its stack has") {
				t.Errorf("%s, class of %d MB: %v", name, class>>20, err)
			}
			if stack := i.running.stackBytes(); stack > class || stack < class/16 && class < 1<<26 {
				t.Errorf("%s, class of %d MB: a stack of %d KB", name, class>>20, stack>>10)
			}
			i.Close(t.Context())
		}
	}
}

// TestStackIsFound: the stack is where this version of wazero has it.
func TestStackIsFound(t *testing.T) {
	p := load(t, newHost(t, Options{}), Spec{Name: "small", Code: deepest()["small frames"]})
	i, err := p.Instance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close(t.Context())
	f := newFunction(i.guest.ExportedFunction("f"))
	if n := f.stackBytes(); n < 1000 || n > freeStack {
		t.Errorf("a stack of %d bytes: look where this wazero keeps it", n)
	}
}

// TestUnmeterable: what cannot be metered, and so not be stopped, is not run.
func TestUnmeterable(t *testing.T) {
	code := wasm(sec(1, "\x01\x60\x00\x00"), sec(3, "\x01\x00"), sec(7, "\x01\x01f\x00\x00"), sec(10, "\x01\x04\x00\x12\x00\x0b")) // return_call
	if _, err := module.Meter(nil, code); !errors.Is(err, module.ErrUnmeterable) {
		t.Fatal(err)
	}
	p := load(t, newHost(t, Options{}), Spec{Name: "tail", Code: code})
	if err := p.Compile(t.Context()); err == nil || !strings.Contains(err.Error(), "WebAssembly 2.0") {
		t.Errorf("%v", err)
	}
}
