package script

import (
	"context"
	"errors"
	"strings"
)

// unrun are what a script is compiled in and not run: as the body of a function, and as an
// expression.
var unrun = [...]form{
	{"async () => { void (async function () {\n", "\n}) }"},
	{"async () => { void (async function () { return (\n", "\n) }) }"},
}

// form is what stands around a script; before is one line.
type form struct{ before, after string }

// Check reports whether code can be compiled as [Engine.Run] does, without running any of it.
// What cannot is an [*Error] with its place; it fails as Run does.
func (e *Engine) Check(ctx context.Context, code string) error {
	var first error
	for _, f := range unrun {
		_, err := e.Run(ctx, Script{Code: code, form: f})
		wrong, ok := errors.AsType[*Error](err)
		if err == nil || !ok || !strings.HasPrefix(wrong.Message, "SyntaxError") {
			return err
		}
		if first == nil {
			first = err
		}
	}
	return first
}
