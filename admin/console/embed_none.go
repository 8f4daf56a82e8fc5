//go:build no_ui

package console

import "io/fs"

// Files returns nil: this build is without the console.
func Files() fs.FS { return nil }
