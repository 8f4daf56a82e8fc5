package engine

import (
	"embed"
	"fmt"
	"slices"
)

// builds are those of an engine version that connectors of users were made with, VERSION-NN.wasm
// in their order. build.sh keeps the engine of the last commit there when it changes.
//
//go:embed earlier/*.wasm
var builds embed.FS

// earlier are the builds of each version, newest first. The programs of one version mean the same
// to each; only the code that stands before them in a module differs, and that is never run.
var earlier = readEarlier()

func readEarlier() map[int][][]byte {
	out := map[int][][]byte{}
	files, _ := builds.ReadDir("earlier") // embedded, as are its files
	for _, f := range files {
		var version, n int
		if _, err := fmt.Sscanf(f.Name(), "%d-%d.wasm", &version, &n); err != nil {
			panic("plugins/engine/earlier: " + f.Name() + " is not VERSION-NN.wasm")
		}
		code, _ := builds.ReadFile("earlier/" + f.Name())
		out[version] = append(out[version], code)
	}
	for _, of := range out {
		slices.Reverse(of) // they were sorted by name
	}
	return out
}

//go:embed engine.wasm
var engineV1 []byte

// Code returns the newest WebAssembly engine of a released version, and whether there
// is one. Every released version stays embedded, and so do its earlier builds, so that
// connectors made with them can be opened. The caller must not change the bytes.
func Code(version int) ([]byte, bool) {
	if version == 1 {
		return engineV1, true
	}
	return nil, false
}
