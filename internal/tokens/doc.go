// Package tokens counts language-model tokens of text.
//
// [Count] is exact for o200k_base, the encoding that reports, tests and traces
// use. Its vocabulary is read where it lies in the program's file and takes no
// heap. [Estimate] needs no vocabulary and no memory: it walks the bytes once and is what the
// hot path uses. How far it is from Count is measured by this package's tests
// and written down in docs/tokens.md.
//
// It is not a tokenizer: nobody gets token ids or decodes them, and no other
// encoding is offered. Both functions may be called from many goroutines.
package tokens
