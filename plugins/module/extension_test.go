package module

import (
	"errors"
	"strings"
	"testing"
)

// TestExtensions: what a compiler put into a module that plugins do not have is named,
// wherever it is found, and the remedy with it.
func TestExtensions(t *testing.T) {
	f := func(want string, code []byte) {
		t.Helper()
		_, err := Parse(code)
		if err == nil {
			_, err = Meter(nil, code)
		}
		e, ok := errors.AsType[*ExtensionError](err)
		if !ok || e.Name != want || Remedy(err) != e.Remedy || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	section := func(id byte, payload string) string { return string(AppendSection(nil, id, []byte(payload))) }
	function := func(body string) []byte {
		body = "\x00" + body + "\x0b"
		return wasm(section(secType, "\x01\x60\x00\x00"), section(secFunction, "\x01\x00"), section(SectionMemory, "\x01\x00\x01"),
			section(secCode, "\x01"+leb(len(body))+body))
	}
	f("the component model", []byte("\x00asm\x0d\x00\x01\x00"))
	f("garbage collection", wasm(section(secType, "\x01\x5f\x00")))
	f("garbage collection", wasm(section(secType, "\x01\x4e\x01\x60\x00\x00")))
	f("garbage collection", function("\xfb\x00\x00\x1a"))
	f("string references", function("\xfb\x80\x01\x1a"))
	f("exception handling", wasm(section(secTag, "\x01\x00\x00")))
	f("exception handling", function("\x1f\x40\x00\x0b"))
	f("exception handling", function("\x06\x40\x19\x0b"))
	f("tail calls", function("\x12\x00"))
	f("typed function references", function("\xd0\x70\x14\x00"))
	f("threads", wasm(section(SectionMemory, "\x01\x03\x01\x01")))
	f("threads", function("\xfe\x03\x00"))
	f("relaxed SIMD", function("\xfd\x80\x02"))
	f("64-bit memory", wasm(section(SectionMemory, "\x01\x04\x01")))
	f("several memories", wasm(section(SectionMemory, "\x02\x00\x01\x00\x01")))
	f("an instruction that came later", function("\x17"))
	f("an instruction that came later", function("\xfc\x12"))
}

// TestNotWebAssembly: other files are told apart from modules of another version.
func TestNotWebAssembly(t *testing.T) {
	for code, want := range map[string]string{
		"#!/bin/sh\n":                 "it is not WebAssembly",
		"":                            "it is not WebAssembly",
		"\x00asm\x02\x00\x00\x00":     "another version than 1",
		"\x00asm\x01\x00\x00\x00\x01": "it ends too early",
	} {
		_, err := Parse([]byte(code))
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", code, err, want)
		}
		if !strings.Contains(Remedy(err), "wasm32") {
			t.Errorf("%q: remedy %q", code, Remedy(err))
		}
	}
}
