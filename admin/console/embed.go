//go:build !no_ui

package console

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Files returns the files of the console; nil in a build without it (build tag no_ui).
func Files() fs.FS {
	sub, err := fs.Sub(dist, "dist")
	if err != nil {
		panic("BUG: the embedded console has no directory dist")
	}
	return sub
}
