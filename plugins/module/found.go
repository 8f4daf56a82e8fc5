package module

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// FileError is a file that is not a WebAssembly module, or not all of one.
type FileError struct {
	Found  string // what it is: "a web page (HTML)"
	Remedy string // what its author does
}

// Error says what was found.
func (e *FileError) Error() string { return "it is " + e.Found }

// Explain says in plain words what is wrong with a module that this package refused, and
// what its author does about it.
func Explain(err error) (fault, remedy string) {
	if e, ok := errors.AsType[*ExtensionError](err); ok {
		return e.Error(), e.Remedy
	}
	if e, ok := errors.AsType[*FileError](err); ok {
		return e.Error(), e.Remedy
	}
	return err.Error(), Remedy(err)
}

const (
	// sniffed is how much of a file says what it is.
	sniffed  = 512
	rebuild  = "build the plugin for wasm32-unknown-unknown or wasm32-wasip1, and give the .wasm file that comes out"
	unpack   = "unpack it, and give the .wasm file that is in it"
	getWhole = "the copy, the download or the disk lost the end of the file: compare its size with the original, and copy or build it again"
	compile  = "it was built for this machine: " + rebuild
)

// magics are what files begin with that are given in the place of a module.
var magics = []struct{ prefix, found, remedy string }{
	{"\x7fELF", "a program or library of Linux (ELF)", compile},
	{"MZ", "a program or library of Windows", compile},
	{"\xfe\xed\xfa\xce", "a program or library of macOS (Mach-O)", compile},
	{"\xfe\xed\xfa\xcf", "a program or library of macOS (Mach-O)", compile},
	{"\xce\xfa\xed\xfe", "a program or library of macOS (Mach-O)", compile},
	{"\xcf\xfa\xed\xfe", "a program or library of macOS (Mach-O)", compile},
	{"!<arch>\n", "a static library", "link it to a module: " + rebuild},
	{"BC\xc0\xde", "LLVM bitcode", "link it to a module: " + rebuild},
	{"\x1f\x8b", "a gzip archive", unpack},
	{"PK\x03\x04", "a zip archive", unpack},
	{"\x28\xb5\x2f\xfd", "a zstd archive", unpack},
	{"\xfd7zXZ\x00", "an xz archive", unpack},
	{"version https://git-lfs.github.com/", "a pointer of Git LFS, not the file that it stands for", "fetch the file: git lfs pull"},
	{"#!", "a script", rebuild},
}

// notModule says what a file is that does not begin as WebAssembly does.
func notModule(code []byte) *FileError {
	if len(code) == 0 {
		return &FileError{"empty", "the build or the download wrote nothing: do it again and look at what it says"}
	}
	if n := len(code); n < len(header) && string(code[:min(n, 4)]) == header[:min(n, 4)] {
		return cutOff("its header", len(header), n)
	}
	for _, m := range magics {
		if bytes.HasPrefix(code, []byte(m.prefix)) {
			return &FileError{m.found, m.remedy}
		}
	}
	if bytes.HasPrefix(code, []byte("\xca\xfe\xba\xbe")) && len(code) >= 8 {
		if binary.BigEndian.Uint32(code[4:]) < 45 { // the number of programs in it; the version of a class is 45 or more
			return &FileError{"a program or library of macOS (Mach-O)", compile}
		}
		return &FileError{"a Java class", "Java cannot be used: write the plugin in one of the languages of docs/plugins/languages.md"}
	}
	if len(code) > 262 && string(code[257:262]) == "ustar" {
		return &FileError{"a tar archive", unpack}
	}
	if found := textFound(code); found != nil {
		return found
	}
	return &FileError{fmt.Sprintf("not WebAssembly: it begins with the bytes % x", code[:min(len(code), 4)]), rebuild}
}

// textFound says what a text is; nil: it is none.
func textFound(code []byte) *FileError {
	head := code[:min(len(code), sniffed)]
	for range utf8.UTFMax { // the last character may be cut
		if r, n := utf8.DecodeLastRune(head); len(head) < len(code) && r == utf8.RuneError && n == 1 {
			head = head[:len(head)-1]
		}
	}
	if !utf8.Valid(head) || bytes.IndexByte(head, 0) >= 0 {
		return nil
	}
	begins := func(prefixes ...string) bool {
		s := strings.ToLower(strings.TrimLeft(strings.TrimPrefix(string(head), "\uFEFF"), " \t\r\n"))
		for _, p := range prefixes {
			if strings.HasPrefix(s, p) {
				return true
			}
		}
		return false
	}
	switch {
	case begins("<!doctype html", "<html", "<head"):
		return &FileError{"a web page (HTML)", "the download answered with a page in the place of the file: look at the page, and fetch the file itself"}
	case begins("<?xml", "<"):
		return &FileError{"XML, not WebAssembly", "the download answered with a message in the place of the file: look at it, and fetch the file itself"}
	case begins("(module", "(component", ";;"):
		return &FileError{"WebAssembly in its text form", "translate it: wat2wasm FILE.wat, or wasm-tools parse FILE.wat -o FILE.wasm"}
	case begins("{", "["):
		return &FileError{"JSON, not WebAssembly", "give the .wasm file; the manifest is put into it by \"sluice plugin build\" or \"sluice plugin embed\""}
	}
	return &FileError{"text, not WebAssembly", rebuild}
}

// TooLarge is a module of n bytes, more than [MaxBytes].
func TooLarge(n int64) *FileError {
	return &FileError{
		fmt.Sprintf("too large: it has %d bytes, more than the %d MiB of a plugin", n, MaxBytes>>20),
		`leave debug information out (Go: -ldflags="-s -w"; Rust: strip = true in the release profile; C: wasm-ld --strip-all), and what it does not need`,
	}
}

// cutOff is a file of which only the beginning is there.
func cutOff(part string, want, have int) *FileError {
	return &FileError{fmt.Sprintf("cut off: %s has %d bytes, and %d of them are there", part, want, have), getWhole}
}

var sectionNames = [...]string{
	"custom", "type", "import", "function", "table", "memory", "global", "export", "start", "element", "code", "data", "data count",
}

// sectionName names a section to people.
func sectionName(id byte) string {
	if int(id) < len(sectionNames) {
		return "its " + sectionNames[id] + " section"
	}
	return fmt.Sprintf("its section %d", id)
}
