package extism

import (
	"errors"
	"testing"
)

// rememberer is a module whose function "f" returns 0 when it is called first, and then
// bits for all that it remembers: 1 memory, 2 a global, 4 a table, 8 the memory's size.
var rememberer = wasm(
	sec(1, "\x01\x60\x00\x01\x7f"), sec(3, "\x01\x00"),
	sec(4, "\x01\x70\x00\x01"), sec(5, "\x01\x00\x01"),
	sec(6, "\x01\x7f\x01\x41\x00\x0b"),
	sec(7, "\x01\x01f\x00\x00"),
	sec(9, "\x01\x03\x00\x01\x00"),
	sec(10, "\x01"+string(rune(len(remember)+1))+"\x00"+remember))

// remember is its body.
const remember = "" +
	"\x41\x00\x28\x02\x00" + // what memory holds
	"\x23\x00\x41\x01\x74\x72" + // the global
	"\x41\x00\x25\x00\xd1\x45\x41\x02\x74\x72" + // whether the table holds a function
	"\x3f\x00\x41\x01\x6b\x41\x03\x74\x72" + // pages beyond the first
	"\x41\x00\x41\x01\x36\x02\x00" +
	"\x41\x01\x24\x00" +
	"\x41\x00\xd2\x00\x26\x00" +
	"\x41\x01\x40\x00\x1a" +
	"\x0b"

// TestInstanceServesOneOwner: what a plugin remembers of a call in its memory, globals,
// tables and the size of its memory, it finds at the next call of that owner at most.
func TestInstanceServesOneOwner(t *testing.T) {
	p := load(t, newHost(t, Options{}), Spec{Name: "rememberer", Code: rememberer})
	remembers := func(owner string) uint32 {
		t.Helper()
		_, err := p.Call(t.Context(), nil, Call{Export: "f", Owner: owner})
		if err == nil {
			return 0
		}
		said, ok := errors.AsType[*PluginError](err)
		if !ok {
			t.Fatal(err)
		}
		return said.Code
	}
	const all = 1 | 2 | 4 | 8
	for _, c := range []struct {
		owner string
		want  uint32
	}{{"ada", 0}, {"bob", 0}, {"ada", all}, {"", 0}, {"bob", all}, {"eve", 0}} {
		if got := remembers(c.owner); got != c.want {
			t.Errorf("%q finds %04b, want %04b", c.owner, got, c.want)
		}
	}
	for n := range 10 { // more owners than instances that stay
		for _, owner := range []string{"1", "2", "3", "4", "5", "6", "7"} {
			if got := remembers(owner); n == 0 && got != 0 {
				t.Errorf("%q finds %04b at its first call", owner, got)
			}
		}
	}
	if got := len(p.idle.list); got != p.limits.Idle {
		t.Errorf("%d instances stay, want %d", got, p.limits.Idle)
	}
}

// peeker is a module whose "_initialize" keeps the length of the input that it sees,
// which "f" returns.
var peeker = wasm(
	sec(1, "\x03\x60\x00\x01\x7f\x60\x00\x01\x7e\x60\x00\x00"),
	sec(2, "\x01\x0fextism:host/env\x0cinput_length\x00\x01"),
	sec(3, "\x02\x00\x02"), sec(6, "\x01\x7e\x01\x42\x00\x0b"),
	sec(7, "\x02\x01f\x00\x01\x0b_initialize\x00\x02"),
	sec(10, "\x02\x05\x00\x23\x00\xa7\x0b\x06\x00\x10\x00\x24\x00\x0b"))

// TestStartSeesNoCall: what starts a plugin's language sees nothing of the call that
// made the instance.
func TestStartSeesNoCall(t *testing.T) {
	p := load(t, newHost(t, Options{}), Spec{Name: "peeker", Code: peeker})
	if _, err := p.Call(t.Context(), nil, Call{Export: "f", Input: []byte("secret")}); err != nil {
		t.Errorf("%v, want no length", err)
	}
}
