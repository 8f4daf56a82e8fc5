package registry

import (
	"fmt"
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

// TestValidateTexts: each bound at its limit and one past it.
func TestValidateTexts(t *testing.T) {
	texts := func(n int) map[string]string {
		out := map[string]string{}
		for i := range n {
			out[fmt.Sprint("a", i)] = ""
		}
		return out
	}
	for i, good := range []map[string]string{
		nil, {"a": "", "body.b": "Of two\nlines."}, texts(MaxArguments), {"a": strings.Repeat("ä", MaxTextRunes)}, {strings.Repeat("n", maxFixedName): ""},
	} {
		if err := ValidateTexts(good, "/argumentTexts"); err != nil {
			t.Errorf("good %d: %v", i, err)
		}
	}
	for i, bad := range []map[string]string{
		{"": ""}, {"a\x00": ""}, {"a": "b\x00"}, {"a": "\xff"}, texts(MaxArguments + 1), {"a": strings.Repeat("ä", MaxTextRunes+1)}, {strings.Repeat("n", maxFixedName+1): ""},
	} {
		if err := ValidateTexts(bad, "/argumentTexts"); !problem.Is(err, problem.InvalidArgument) {
			t.Errorf("bad %d: %v", i, err)
		}
	}
	if err := ValidateTexts(map[string]string{"a/b": "\x00"}, "/argumentTexts"); !strings.Contains(fmt.Sprint(err), "/argumentTexts/a~1b") {
		t.Error(err)
	}
}
