package registry

import (
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/strictjson"
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

// maxDepth of a document: toolsets and releases nest five deep.
const maxDepth = 32

// decode reads a document of at most limit bytes strictly: another reader of the same
// signed bytes must not see another document.
func decode(b []byte, v any, limit int, kind problem.Kind, what string) error {
	if err := strictjson.Decode(b, v, limit, maxDepth); err != nil {
		p := problem.New(kind, "the %s %s", what, err.Text).At("", 0, 0, err.Pointer)
		if err.Cause != nil {
			p = p.Because(err.Cause)
		}
		return p
	}
	return nil
}
