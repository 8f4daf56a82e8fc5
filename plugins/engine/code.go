package engine

import (
	_ "embed"
	"strings"
)

//go:embed engine.wasm
var engineV1 []byte

//go:embed engine.wasm.sha256
var engineSum string

// Code returns the WebAssembly engine of a released version, and whether there
// is one. Every released version stays embedded, so that connectors made with it
// can be opened. The caller must not change the bytes.
func Code(version int) ([]byte, bool) {
	if version == 1 {
		return engineV1, true
	}
	return nil, false
}

// CodeDigest is the SHA-256 of the current engine as lower-case hex: the one in
// engine.wasm.sha256, which a build from source must give again.
func CodeDigest() string {
	sum, _, _ := strings.Cut(engineSum, " ")
	return sum
}
