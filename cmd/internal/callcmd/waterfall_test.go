package callcmd

import (
	"slices"
	"testing"
)

func TestWaterfall(t *testing.T) {
	for name, test := range map[string]struct {
		calls []innerCall
		want  []string
	}{
		"none": {nil, nil},
		"one": {[]innerCall{{Tool: "a", Outcome: "ok", Status: 200, Start: 3, MS: 5, TokensIn: 1200, Tokens: 30}}, []string{
			"|========================|     5.000 ms  a  HTTP 200, tokens 1,200 → 30",
		}},
		"no time": {[]innerCall{{Tool: "a", Outcome: "ok", Status: 200, Cached: true}}, []string{
			"|========================|     0.000 ms  a  HTTP 200, cached, tokens 0 → 0",
		}},
		"in the order they began": {[]innerCall{
			{Tool: "quick", Outcome: "ok", Status: 200, Start: 10, MS: 60},
			{Tool: "last", Outcome: "tool_error", Status: 404, Start: 129.9, MS: 0.1},
			{Tool: "then", Outcome: "upstream_error", Start: 70, MS: 60},
			{Tool: "slow", Outcome: "ok", Status: 200, Start: 10, MS: 120},
		}, []string{
			"|============            |    60.000 ms  quick  HTTP 200, tokens 0 → 0",
			"|========================|   120.000 ms  slow   HTTP 200, tokens 0 → 0",
			"|            ============|    60.000 ms  then   no answer, upstream_error, tokens 0 → 0",
			"|                       =|     0.100 ms  last   HTTP 404, tool_error, tokens 0 → 0",
		}},
	} {
		if got := waterfall(test.calls); !slices.Equal(got, test.want) {
			t.Errorf("%s:\n%q\nwant\n%q", name, got, test.want)
		}
	}
}
