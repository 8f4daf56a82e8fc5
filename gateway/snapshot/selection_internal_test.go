package snapshot

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/tokens"
)

// TestTopicsAreCheap: however many tags there are and however long their names, the
// description of search_tools stays short and says how many it does not name.
func TestTopicsAreCheap(t *testing.T) {
	named := func(format string, n int) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = fmt.Sprintf(format, i%10)
		}
		return out
	}
	f := func(topics []string, least, most int, more string) {
		t.Helper()
		text := listTopics(topics)
		shown := strings.Count(text, "(")
		if shown < least || shown > most || !strings.HasSuffix(text, more) || strings.Contains(text, "more") != (more != "") {
			t.Errorf("%d topics: %d shown, want %d to %d and the end %q: %s", len(topics), shown, least, most, more, text)
		}
		if cost := tokens.Estimate([]byte(text)); cost > maxTopicTokens+20 {
			t.Errorf("%d topics cost %d tokens", len(topics), cost)
		}
	}
	f(named("a (%d)", 3), 3, 3, "")
	f(named("a (%d)", maxTopics-1), maxTopics-1, maxTopics-1, "")
	f(named("a (%d)", maxTopics), maxTopics, maxTopics, "")
	f(named("a (%d)", maxTopics+1), maxTopics, maxTopics, " and 1 more")
	long := named("Api20100401AuthRegistrationsCredentialListMapping (%d)", 76)
	f(long, 8, maxTopics/2, " more")
	f(long[:1], 1, 1, "")
	f(nil, 0, 0, "")
}
