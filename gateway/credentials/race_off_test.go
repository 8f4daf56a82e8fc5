//go:build !race

package credentials

const raceEnabled = false
