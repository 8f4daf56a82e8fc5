//go:build race

package credentials

const raceEnabled = true
