//go:build !unix

package process

// Keep returns false: commands are not run on this system.
func Keep([]string) bool { return false }
