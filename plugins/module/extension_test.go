package module

import (
	"errors"
	"os"
	"runtime"
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
		return wasm(section(secType, "\x01\x60\x00\x00"), section(SectionFunction, "\x01\x00"), section(SectionMemory, "\x01\x00\x01"),
			section(SectionCode, "\x01"+leb(len(body))+body))
	}
	f("the component model", []byte("\x00asm\x0d\x00\x01\x00"))
	f("garbage collection", wasm(section(secType, "\x01\x5f\x00")))
	f("garbage collection", wasm(section(secType, "\x01\x4e\x01\x60\x00\x00")))
	f("garbage collection", function("\xfb\x00\x00\x1a"))
	f("string references", function("\xfb\x80\x01\x1a"))
	constant := func(expression string) []byte {
		return wasm(section(secGlobal, "\x01\x7f\x00"+expression+"\x0b"))
	}
	for _, op := range []string{"\x6a", "\x6b", "\x6c", "\x7c", "\x7d", "\x7e"} {
		f("extended constant expressions", constant("\x41\x01\x41\x02"+op))
	}
	f("exception handling", wasm(section(secTag, "\x01\x00\x00")))
	f("exception handling", wasm(section(SectionImport, "\x01\x01m\x01t\x04\x00\x00")))
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

// TestNotModules: what is given in the place of a module is named, with what to do.
func TestNotModules(t *testing.T) {
	f := func(code, want, remedy string) {
		t.Helper()
		_, err := Parse([]byte(code))
		fault, does := Explain(err)
		if !errors.Is(err, ErrInvalid) || !strings.Contains(fault, want) || !strings.Contains(does, remedy) {
			t.Errorf("%.40q: %s (%s), want %s (%s)", code, fault, does, want, remedy)
		}
	}
	elf, err := os.ReadFile(os.Args[0]) // this test itself
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" {
		f(string(elf[:min(len(elf), MaxBytes)]), "it is a program or library of Linux (ELF)", "wasm32")
	}
	f("", "it is empty", "do it again")
	f("#!/bin/sh\n", "it is a script", "wasm32")
	f("MZ\x90\x00\x03", "of Windows", "wasm32")
	f("\xcf\xfa\xed\xfe\x0c\x00\x00\x01", "of macOS", "wasm32")
	f("\xca\xfe\xba\xbe\x00\x00\x00\x02", "of macOS", "wasm32")
	f("\xca\xfe\xba\xbe\x00\x00\x00\x41", "a Java class", "docs/plugins/languages.md")
	f("!<arch>\nlib.o/", "a static library", "link it")
	f("BC\xc0\xde5\x14", "LLVM bitcode", "link it")
	f("\x1f\x8b\x08\x00", "a gzip archive", "unpack it")
	f("PK\x03\x04\x14", "a zip archive", "unpack it")
	f(strings.Repeat("\x00", 257)+"ustar\x00", "a tar archive", "unpack it")
	f("version https://git-lfs.github.com/spec/v1\noid sha256:1", "Git LFS", "git lfs pull")
	f("\r\n<!DOCTYPE html><title>Sign in</title>", "a web page (HTML)", "fetch the file itself")
	f("<HTML>", "a web page (HTML)", "fetch the file itself")
	f("<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>", "XML", "fetch the file itself")
	f("(module)", "WebAssembly in its text form", "wat2wasm")
	f("{\"kind\": \"filter\"}", "JSON", "sluice plugin embed")
	f("package main\n", "text, not WebAssembly", "wasm32")
	f(strings.Repeat("a", 511)+"\u00e4", "text, not WebAssembly", "wasm32")
	f("\xff\xfe\x00\x01", "not WebAssembly: it begins with the bytes ff fe 00 01", "wasm32")
	f("\x00asm\x02\x00\x00\x00", "WebAssembly of version 2", "wasm32")
	f("\x00asm\x0d\x00\x01\x00", "the component model", "wasm32-wasip1, not wasm32-wasip2")
	f("\x00asm\x01\x00", "cut off: its header has 8 bytes, and 6 of them are there", "copy or build it again")
	f("\x00as", "cut off: its header has 8 bytes, and 3 of them are there", "copy or build it again")
	whole := string(wasm(string(AppendSection(nil, secType, []byte("\x01\x60\x00\x00"))), string(AppendSection(nil, SectionCustom, AppendName(nil, "s"), []byte("payload")))))
	for n := 9; n < len(whole); n++ {
		if n == 14 { // between its sections
			continue
		}
		f(whole[:n], "cut off: ", "copy or build it again")
	}
	f(whole[:len(whole)-1], "its custom section has 9 bytes, and 8 of them are there", "copy or build it again")
	f(whole[:8]+"\x01\xff\xff\xff\xff\xff\x01\x00", "a number of more than 32 bits", "wasm32")
	object := string(wasm(string(AppendSection(nil, SectionImport, []byte("\x01\x03env\x0f__linear_memory\x02\x00\x00"))), string(AppendSection(nil, SectionCustom, AppendName(nil, "linking"), []byte("\x02")))))
	f(object, "an object file, which was not linked", "wasm-ld")
}
