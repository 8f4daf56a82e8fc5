package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/sluicegate/sluice/internal/problem"
)

// maxFaults is how many faults of one document are reported; the rest adds
// nothing a person would read.
const maxFaults = 16

// faults collects what is wrong with a document.
type faults struct {
	kind  problem.Kind
	parts []*problem.Error
}

func (f *faults) full() bool { return len(f.parts) >= maxFaults }

func (f *faults) add(pointer, format string, args ...any) {
	if !f.full() {
		f.parts = append(f.parts, problem.New(f.kind, format, args...).At("", 0, 0, pointer))
	}
}

func (f *faults) check(ok bool, pointer, format string, args ...any) {
	if !ok {
		f.add(pointer, format, args...)
	}
}

func (f *faults) text(pointer, s string, lo, hi int) {
	f.check(validText(s, lo, hi), pointer, "the text must be %d to %d characters of UTF-8 without control characters", lo, hi)
}

// err is nil without faults, the fault itself when there is one, else an error
// with all of them as Parts.
func (f *faults) err(format string, args ...any) error {
	switch len(f.parts) {
	case 0:
		return nil
	case 1:
		return f.parts[0]
	}
	e := problem.New(f.kind, format, args...)
	e.Detail += ": " + f.parts[0].Error()
	e.Parts = f.parts
	return e
}

// decode reads exactly one JSON document into v: at most limit bytes, UTF-8, no
// field v does not have in exactly that spelling, none twice, nothing behind it.
func decode(b []byte, v any, limit int, kind problem.Kind, what string) error {
	if len(b) > limit {
		return problem.New(kind, "the %s has %d bytes, the limit is %d", what, len(b), limit)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return problem.New(kind, "the %s cannot be read: %.200s", what, err.Error()).Because(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return problem.New(kind, "the %s has something behind its end", what)
	}
	return nil
}
