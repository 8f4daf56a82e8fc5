package registry

import (
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
)

func TestValidateArguments(t *testing.T) {
	names := func(n int) []string { return strings.Split(strings.Repeat("a,", n-1)+"a", ",") }
	for i, good := range [][]string{nil, {"a", "body.b"}, names(MaxArguments), {strings.Repeat("n", maxFixedName)}} {
		if err := ValidateArguments(good, "/arguments"); err != nil {
			t.Errorf("good %d: %v", i, err)
		}
	}
	for i, bad := range [][]string{{""}, {"a\x00"}, names(MaxArguments + 1), {strings.Repeat("n", maxFixedName+1)}} {
		if err := ValidateArguments(bad, "/arguments"); !problem.Is(err, problem.InvalidArgument) {
			t.Errorf("bad %d: %v", i, err)
		}
	}
}
