//go:build race

package enginepool

// rounds divides how often random tests repeat: this build has the race detector, and
// the package is tested without it too.
const rounds = 10
