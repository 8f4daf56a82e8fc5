package engine

import (
	_ "embed"
	"strings"
)

// earlier are builds of an engine version that versions of Sluice were released with, or that
// make upgrade begins with, newest first. The programs of one version mean the same to each; only
// the code that stands before them in a module differs, and that is never run. Before the code
// of a released engine changes, its engine.wasm is copied there.
var earlier = map[int][][]byte{1: {engineV1b, engineV1a}}

// engineV1a is what engine.c of commit 73487eb2 gives.
//
//go:embed earlier/1-1.wasm
var engineV1a []byte

// engineV1b is what engine.c of commit ae9bc7ff gives.
//
//go:embed earlier/1-2.wasm
var engineV1b []byte

//go:embed engine.wasm
var engineV1 []byte

//go:embed engine.wasm.sha256
var engineSum string

// Code returns the newest WebAssembly engine of a released version, and whether there
// is one. Every released version stays embedded, and so do its earlier builds, so that
// connectors made with them can be opened. The caller must not change the bytes.
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
