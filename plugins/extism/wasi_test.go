package extism

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"
)

// wasiModuleOf builds a module with memory pages that calls a function of WASI: before, which
// may be "", then the function with its arguments, again and again when loop is set, and
// returns what the function did.
func wasiModuleOf(name, params, before string, loop bool, arguments ...int64) []byte {
	call := before
	for n, a := range arguments {
		op := byte(0x41) // i32.const
		if params[n] == i64[0] {
			op = 0x42
		}
		call += string(op) + signedLEB(a)
	}
	call += "\x10\x00" // call 0
	body := "\x00" + call + "\x0b"
	if loop {
		body = "\x00\x03\x40" + call + "\x1a\x0c\x00\x0b\x41\x00\x0b"
	}
	return wasm(
		sec(1, "\x02\x60\x00\x01\x7f\x60"+string(rune(len(params)))+params+"\x01\x7f"),
		sec(2, "\x01"+string(rune(len(wasiModule)))+wasiModule+string(rune(len(name)))+name+"\x00\x01"),
		sec(3, "\x01\x00"), sec(5, "\x01\x00\x64"), sec(7, "\x01\x01f\x00\x01"),
		sec(10, "\x01"+string(binary.AppendUvarint(nil, uint64(len(body))))+body),
	)
}

func signedLEB(n int64) string {
	var b []byte
	for {
		c := byte(n & 0x7f)
		if n >>= 7; n == 0 && c&0x40 == 0 || n == -1 && c&0x40 != 0 {
			return string(append(b, c))
		}
		b = append(b, c|0x80)
	}
}

// TestWASIIsMetered: a loop of calls that each name as much as they can is stopped at its
// processor time, by its own fault, as any other loop.
func TestWASIIsMetered(t *testing.T) {
	const all = 100 << 16 // of its memory
	for _, c := range []struct {
		name, params string
		arguments    []int64
	}{
		{"random_get", i32 + i32, []int64{0, all}},
		{"fd_write", i32 + i32 + i32 + i32, []int64{1, 0, all / 8, 0}},
		{"fd_write", i32 + i32 + i32 + i32, []int64{1, 0, maxVectors, 0}},
		{"fd_read", i32 + i32 + i32 + i32, []int64{0, 0, all / 8, 0}},
		{"fd_pwrite", fileless["fd_pwrite"], []int64{1, 0, all / 8, 0, 0}},
		{"poll_oneoff", i32 + i32 + i32 + i32, []int64{0, 0, all / 48, 0}},
		{"poll_oneoff", i32 + i32 + i32 + i32, []int64{0, 0, maxSubscriptions, 0}},
		{"path_open", fileless["path_open"], []int64{0, 0, 0, all, 0, 0, 0, 0, 0}},
		{"path_open", fileless["path_open"], []int64{3, 0, 0, all, 0, 0, 0, 0, 0}},
		{"path_symlink", fileless["path_symlink"], []int64{0, all, 3, 0, all}},
		{"fd_renumber", fileless["fd_renumber"], []int64{1, 1<<31 - 1}},
		{"clock_time_get", i32 + i64 + i32, []int64{0, 0, 0}},
		{"sched_yield", "", nil},
	} {
		h := newHost(t, Options{})
		for _, grants := range []Grants{{}, {Random: true}} {
			p := load(t, h, Spec{Name: "hostile", Code: wasiModuleOf(c.name, c.params, "", true, c.arguments...), Grants: grants, Limits: Limits{Deadline: 30 * time.Millisecond}})
			_, err := p.Call(t.Context(), nil, Call{Export: "f"})
			for again := 0; again < 5 && errors.Is(err, ErrBusy); again++ { // so busy is this machine
				_, err = p.Call(t.Context(), nil, Call{Export: "f"})
			}
			if !errors.Is(err, ErrDeadline) {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}

// TestWASIAnswers: what functions of WASI answer where there are no files.
func TestWASIAnswers(t *testing.T) {
	subscription := func(kind byte, file int64) string { // written at 0
		store := func(at, value int64) string {
			return "\x41" + signedLEB(at) + "\x41" + signedLEB(value) + "\x36\x02\x00"
		}
		return store(8, int64(kind)) + store(16, file)
	}
	four := i32 + i32 + i32 + i32
	h := newHost(t, Options{})
	for _, c := range []struct {
		what, name, params, before string
		arguments                  []int64
		want                       uint32
	}{
		{"writes", "fd_write", four, "", []int64{1, 0, 2, 64}, wasiOK},
		{"as many buffers as may be", "fd_write", four, "", []int64{2, 0, maxVectors, 64}, wasiOK},
		{"one more", "fd_write", four, "", []int64{2, 0, maxVectors + 1, 64}, wasiInvalid},
		{"writes where it reads", "fd_write", four, "", []int64{0, 0, 1, 64}, wasiBadFile},
		{"writes a file", "fd_write", four, "", []int64{3, 0, 1, 64}, wasiBadFile},
		{"buffers outside", "fd_write", four, "", []int64{1, 100 << 16, 1, 64}, wasiFault},
		{"the count outside", "fd_write", four, "", []int64{1, 0, 1, 100 << 16}, wasiFault},
		{"reads", "fd_read", four, "", []int64{0, 0, 1, 64}, wasiOK},
		{"reads where it writes", "fd_read", four, "", []int64{1, 0, 1, 64}, wasiBadFile},
		{"a clock", "poll_oneoff", four, "", []int64{0, 4096, 1, 64}, wasiOK},
		{"to read", "poll_oneoff", four, subscription(1, 0), []int64{0, 4096, 1, 64}, wasiOK},
		{"to write", "poll_oneoff", four, subscription(2, 1), []int64{0, 4096, 1, 64}, wasiOK},
		{"an event that is none", "poll_oneoff", four, subscription(3, 0), []int64{0, 4096, 1, 64}, wasiInvalid},
		{"no events", "poll_oneoff", four, "", []int64{0, 4096, 0, 64}, wasiInvalid},
		{"as many events as may be", "poll_oneoff", four, "", []int64{0, 1 << 20, maxSubscriptions, 2 << 20}, wasiOK},
		{"one more event", "poll_oneoff", four, "", []int64{0, 1 << 20, maxSubscriptions + 1, 2 << 20}, wasiInvalid},
		{"events whose size wraps", "poll_oneoff", four, "", []int64{0, 0, 1 << 28, 64}, wasiInvalid},
		{"opens", "path_open", fileless["path_open"], "", []int64{3, 0, 0, 5, 0, 0, 0, 0, 64}, wasiBadFile},
		{"renumbers", "fd_renumber", fileless["fd_renumber"], "", []int64{1, 1<<31 - 1}, wasiBadFile},
		{"all of its memory with random bytes", "random_get", i32 + i32, "", []int64{0, 100 << 16}, wasiOK},
	} {
		p := load(t, h, Spec{Name: "plain", Code: wasiModuleOf(c.name, c.params, c.before, false, c.arguments...), Limits: Limits{Deadline: time.Minute}})
		_, err := p.Call(t.Context(), nil, Call{Export: "f"})
		got := uint32(wasiOK)
		if said, ok := errors.AsType[*PluginError](err); ok {
			got, err = said.Code, nil
		}
		if err != nil || got != c.want {
			t.Errorf("%s: %d, %v, want %d", c.what, got, err, c.want)
		}
	}
	// Without a memory there is nothing to write from.
	bare := wasm(sec(1, "\x02\x60\x00\x01\x7f\x60\x02\x7f\x7f\x01\x7f"), sec(2, "\x01"+string(rune(len(wasiModule)))+wasiModule+"\x0bfd_renumber\x00\x01"),
		sec(3, "\x01\x00"), sec(7, "\x01\x01f\x00\x01"), sec(10, "\x01\x08\x00\x41\x01\x41\x02\x10\x00\x0b"))
	p := load(t, h, Spec{Name: "bare", Code: bare})
	var said *PluginError
	if _, err := p.Call(t.Context(), nil, Call{Export: "f"}); !errors.As(err, &said) || said.Code != wasiFault {
		t.Errorf("without a memory: %v", err)
	}
}

// TestImportsOfWASI: what preview 1 does not have, or has with other parameters, is refused with
// its name before anything is compiled.
func TestImportsOfWASI(t *testing.T) {
	h := newHost(t, Options{})
	for _, c := range []struct{ name, params, fault string }{
		{"fd_write", i32 + i32 + i32 + i32, ""},
		{"path_open", fileless["path_open"], ""},
		{"clock_time_get", i32 + i64 + i32, ""},
		{"sock_open", i32, "it imports wasi_snapshot_preview1 sock_open, which WASI preview 1 does not have"},
		{"fd_write", i64, "it imports wasi_snapshot_preview1 fd_write with another signature than that of WASI preview 1"},
		{"proc_exit", i32, "another signature"}, // here it would have a result
	} {
		p, err := h.Load(Spec{Name: "imports", Code: wasiModuleOf(c.name, c.params, "", false, make([]int64, len(c.params))...)})
		if c.fault == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			p.Close()
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestPollEvents: each event has the plugin's own number, its kind and its error.
func TestPollEvents(t *testing.T) {
	h := newHost(t, Options{})
	// One subscription: own number 7, of what can be written to the file 9.
	store := func(at, value int64) string {
		return "\x41" + signedLEB(at) + "\x41" + signedLEB(value) + "\x36\x02\x00"
	}
	code := wasiModuleOf("poll_oneoff", i32+i32+i32+i32, store(0, 7)+store(8, 2)+store(16, 9), false, 0, 4096, 1, 64)
	p := load(t, h, Spec{Name: "polls", Code: code})
	i, err := p.Instance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close(t.Context())
	if _, _, err := i.Call(t.Context(), nil, Call{Export: "f"}); err != nil {
		t.Fatal(err)
	}
	event, _ := i.memory.Read(4096, 32)
	if event[0] != 7 || event[8] != wasiBadFile || event[10] != 2 {
		t.Errorf("the event is %v", event)
	}
	if n, _ := i.memory.ReadUint32Le(64); n != 1 {
		t.Errorf("%d events", n)
	}
}
