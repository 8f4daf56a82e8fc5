package admin_test

import (
	"encoding/base64"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/module"
)

// filterWith is a filter whose function has the instructions.
func filterWith(instructions string, sections ...string) []byte {
	section := func(id byte, payload string) string { return string(module.AppendSection(nil, id, []byte(payload))) }
	body := "\x00" + instructions + "\x41\x00\x0b" // no locals … i32.const 0
	m := &manifest.Manifest{FormatVersion: 1, Kind: manifest.Filter, Name: "mask", Version: "1.0.0"}
	entry := "transform_response"
	code := "\x00asm\x01\x00\x00\x00" + section(1, "\x01\x60\x00\x01\x7f") + section(3, "\x01\x00") + strings.Join(sections, "") +
		section(module.SectionExport, "\x01"+string(rune(len(entry)))+entry+"\x00\x00") + section(10, "\x01"+string(rune(len(body)))+body)
	return module.AppendSection([]byte(code), module.SectionCustom, module.AppendName(nil, manifest.Section), m.Append(nil))
}

// TestPublishNamesFiles: what is uploaded in the place of a plugin is named, and what to
// do about it.
func TestPublishNamesFiles(t *testing.T) {
	w := newWorld(t)
	k := newPublisher(t)
	w.trust(k, "Ada")
	good := maskPlugin(t, nil)
	f := func(what string, code []byte, detail, remedy string) {
		t.Helper()
		body := publication(t, k, good)
		body["module"] = base64.StdEncoding.EncodeToString(code)
		e := want[front.Problem](w, w.do("POST", "/v1/plugins", body), 422)
		if !strings.Contains(e.Detail, "the file cannot be used as a plugin: it ") || !strings.Contains(e.Detail, detail) || !strings.Contains(e.Remedy, remedy) {
			t.Errorf("%s: %s (%s), want %s (%s)", what, e.Detail, e.Remedy, detail, remedy)
		}
	}
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	memory := func(limits string) string {
		return string(module.AppendSection(nil, module.SectionMemory, []byte(limits)))
	}
	f("a program", program[:1<<10], "(ELF)", "wasm32")
	f("a page", []byte("<!DOCTYPE html><title>Sign in</title>"), "a web page (HTML)", "fetch the file itself")
	f("text", []byte("(module)"), "WebAssembly in its text form", "wat2wasm")
	f("a component", []byte("\x00asm\x0d\x00\x01\x00"), "the component model", "wasm32-wasip1, not wasm32-wasip2")
	f("half a file", good.Code[:len(good.Code)/2], "cut off", "copy or build it again")
	f("threads", filterWith("", memory("\x01\x03\x01\x01")), "threads", "-pthread")
	f("64-bit memory", filterWith("", memory("\x01\x04\x01")), "64-bit memory", "wasm32")
	f("several memories", filterWith("", memory("\x02\x00\x01\x00\x01")), "several memories", "multimemory")
	f("garbage collection", filterWith("\xfb\x00\x00\x1a"), "garbage collection", "Kotlin")
	f("exceptions", filterWith("\x06\x40\x19\x0b"), "exception handling", "-fno-exceptions")
	f("tail calls", filterWith("\x12\x00"), "tail calls", "-mno-tail-call")
	if a := w.do("POST", "/v1/plugins", publication(t, k, good)); a.StatusCode != http.StatusCreated {
		t.Errorf("the plugin itself: %d %s", a.StatusCode, a.body)
	}
	body := publication(t, k, good)
	body["module"] = base64.StdEncoding.EncodeToString(filterWith(""))
	if e := want[front.Problem](w, w.do("POST", "/v1/plugins", body), 422); strings.Contains(e.Detail, "cannot be used as a plugin") {
		t.Errorf("the same without an extension: %+v", e)
	}
}
