package rollout

import (
	"bytes"
	"testing"
)

// TestShownAnswer: the caller of a test sees an answer up to a limit, a larger one where the
// test is inspected.
func TestShownAnswer(t *testing.T) {
	for inspect, most := range map[bool]int{false: maxShownAnswer, true: maxInspectedAnswer} {
		for _, n := range []int{most, most + 1} {
			run := &TestRun{inspect: inspect}
			if run.show(bytes.Repeat([]byte("a"), n)); len(run.Answer) > most || run.AnswerCut != (n > most) || !run.AnswerCut && len(run.Answer) != n {
				t.Errorf("inspected %v: of %d bytes %d are shown, cut: %v", inspect, n, len(run.Answer), run.AnswerCut)
			}
		}
	}
}
