package callcmd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

// innerCall is a call that a workflow, a script or a batch made.
type innerCall struct {
	Tool     string  `json:"tool"`
	Outcome  string  `json:"outcome"`
	Status   int     `json:"status"`
	Start    float64 `json:"startMs"`
	MS       float64 `json:"ms"`
	TokensIn int     `json:"tokensIn"`
	Tokens   int     `json:"tokens"`
	Cached   bool    `json:"cached"`
}

// bar is how many characters wide the time of all calls is drawn.
const bar = 24

// waterfall draws calls in the order in which they began, one a line, each over the time
// it took of that of all.
func waterfall(calls []innerCall) []string {
	calls = slices.Clone(calls)
	slices.SortStableFunc(calls, func(a, b innerCall) int { return cmp.Compare(a.Start, b.Start) })
	end, width := 0.0, 0
	for _, c := range calls {
		end, width = max(end, c.Start+c.MS), max(width, len(c.Tool))
	}
	begin := 0.0
	if len(calls) > 0 {
		begin = calls[0].Start
	}
	var lines []string
	for _, c := range calls {
		from, to := 0, bar
		if span := end - begin; span > 0 {
			from = min(int((c.Start-begin)/span*bar), bar-1)
			to = min(max(int((c.Start+c.MS-begin)/span*bar+0.5), from+1), bar)
		}
		state := fmt.Sprintf("HTTP %d", c.Status)
		if c.Status == 0 {
			state = "no answer"
		}
		if c.Cached {
			state += ", cached"
		}
		if c.Outcome != "ok" {
			state += ", " + c.Outcome
		}
		lines = append(lines, fmt.Sprintf("|%s%s%s| %9.3f ms  %-*s  %s, tokens %s → %s", strings.Repeat(" ", from), strings.Repeat("=", to-from), strings.Repeat(" ", bar-to),
			c.MS, width, terminal.SafeText(c.Tool), state, terminal.Thousands(c.TokensIn), terminal.Thousands(c.Tokens)))
	}
	return lines
}
