package gateway

import "time"

// Bounds whose findings bounds_test.go knows.
const (
	maxUsed      = 2
	maxUnused    = 1
	MaxBeside    = 3
	MaxElsewhere = 4
	MaxOfAnother = 5
	maxInTable   = 6
	maxShadowed  = 7
	maxField     = 8
	maxParameter = 9
	maximum      = 10 // not a bound's name
)

var rowLimit = 11 * time.Second

func limited(n int) bool {
	const maxLocal = 12
	maxVariable := n
	return maxVariable < maxLocal
}
