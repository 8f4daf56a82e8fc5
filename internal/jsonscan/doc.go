// Package jsonscan reads JSON in place: a document is validated once, then its
// values are views of the caller's bytes. It also appends JSON text.
//
// It decodes into no Go types, builds no tree and allocates nothing; what needs
// a tree, or tolerates more than the standard, uses another reader (package
// openapi has its own, with positions).
//
// It accepts exactly RFC 8259, in one place stricter than encoding/json and
// nowhere wider:
//
//   - Text must be valid UTF-8 (RFC 8259 §8.1). encoding/json replaces what is
//     not; here it is an error, because bytes that are forwarded must not change
//     meaning on the way. A byte order mark is refused.
//   - An escape of a lone surrogate ("\ud800") is grammatical and accepted; as text
//     it is U+FFFD, as in encoding/json. [Value.Raw] keeps it as written.
//   - A member name may occur twice: the last one wins, as in encoding/json. Names
//     are compared after unescaping. [Value.Members] shows each of them.
//   - Numbers are never converted unless asked for: every digit survives.
//   - Nesting is bounded by the caller.
//
// Where strings and containers end is looked up in masks of 64 bytes, and strings are escaped 16
// bytes at a time: in assembly on amd64, where that takes a third of the time. What it
// computes is written in Go beside it, which other processors run, and tests hold one to the other.
//
// All functions are pure. A [Value] is a view: it is valid as long as the bytes
// it was made from are unchanged, and safe for concurrent readers.
package jsonscan
