package module

import (
	"errors"
	"fmt"
)

// ExtensionError is a module that needs more than WebAssembly 2.0.
type ExtensionError struct {
	Name   string // of the proposal
	Remedy string // how compilers are told to do without
}

// Error names the extension.
func (e *ExtensionError) Error() string {
	return fmt.Sprintf("it uses %s, an extension of WebAssembly 2.0 that plugins do not have", e.Name)
}

// Remedy is what the author of a module does about an error of this package.
func Remedy(err error) string {
	if e, ok := errors.AsType[*ExtensionError](err); ok {
		return e.Remedy
	}
	if _, ok := errors.AsType[*costlyError](err); ok {
		return "build it with optimisation (-O2 in C and C++, --release in Rust, -O ReleaseSmall in Zig), or take its largest functions apart"
	}
	return "build the plugin again, for wasm32-unknown-unknown or wasm32-wasip1"
}

// costlyError is a module that would take too long to compile. Most are debug builds, whose
// functions keep each value in a local of its own.
type costlyError struct{ reason string }

func (e *costlyError) Error() string { return e.reason }

// The extensions that compilers use today, with the switches of the usual ones.
var (
	errComponents    = &ExtensionError{"the component model", "build a core module: for wasm32-unknown-unknown or wasm32-wasip1, not wasm32-wasip2, and without wasm-tools component new or componentize"}
	errExceptions    = &ExtensionError{"exception handling", "build it with -fno-exceptions (C++), panic = \"abort\" (Rust), and without -fwasm-exceptions"}
	errTailCalls     = &ExtensionError{"tail calls", "build it with -mno-tail-call, or -C target-feature=-tail-call"}
	errReferences    = &ExtensionError{"typed function references", "build it for WebAssembly 2.0"}
	errCollected     = &ExtensionError{"garbage collection", "languages that need the garbage collector of the engine, such as Kotlin, Dart and Java, cannot be used; build those that can bring their own for WebAssembly 2.0"}
	errThreads       = &ExtensionError{"threads", "build it without -pthread and with -mno-atomics, or -C target-feature=-atomics"}
	errRelaxedVector = &ExtensionError{"relaxed SIMD", "build it with -mno-relaxed-simd, or -C target-feature=-relaxed-simd"}
	errMemory64      = &ExtensionError{"64-bit memory", "build it for wasm32"}
	errMemories      = &ExtensionError{"several memories", "build it with -mno-multimemory, or -C target-feature=-multimemory"}
	errConstants     = &ExtensionError{"extended constant expressions", "build it with -mno-extended-const, or -C target-feature=-extended-const"}
	errStringRefs    = &ExtensionError{"string references", "build it for WebAssembly 2.0"}
	errUnnamed       = &ExtensionError{"an instruction that came later", "build it for WebAssembly 2.0"}
)

// secTag is the section of exception handling, and kindTag an import or export of it.
const (
	secTag  = 13
	kindTag = 4
)

// extensionOf is the extension that an instruction belongs to.
func extensionOf(op byte, sub uint32) *ExtensionError {
	switch {
	case op >= 0x06 && op <= 0x0a, op == 0x18, op == 0x19, op == 0x1f: // try … throw_ref, delegate, catch_all, try_table
		return errExceptions
	case op == 0x12 || op == 0x13: // return_call, return_call_indirect
		return errTailCalls
	case op == 0x14 || op == 0x15 || op >= 0xd3 && op <= 0xd6: // call_ref, ref.eq, br_on_null …
		return errReferences
	case op == 0xfb && sub >= 0x80:
		return errStringRefs
	case op == 0xfb:
		return errCollected
	case op == opVector:
		return errRelaxedVector
	case op == 0xfe:
		return errThreads
	}
	return errUnnamed
}

// extensionOfType is the extension that a form of types belongs to (Core 3.0 §5.3).
func extensionOfType(form byte) *ExtensionError {
	switch form {
	case 0x4e, 0x4f, 0x50, 0x5e, 0x5f: // recursive, final and open types, arrays, structures
		return errCollected
	}
	return errUnnamed
}
