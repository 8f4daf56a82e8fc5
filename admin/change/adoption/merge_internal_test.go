package adoption

import (
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/connector"
)

// TestDetail: a difference says whether the entry began or ended to say something, and
// shows no more of long texts than fits.
func TestDetail(t *testing.T) {
	long := strings.Repeat("x", maxShown)
	for _, c := range []struct{ was, is, what, old string }{
		{"a", "b", "it is another", "a"},
		{"", "b", "the entry says it now", ""},
		{"a", "", "the entry no longer says it", "a"},
		{long, "b", "it is another", long},
		{long + "x", "b", "it is another", long + "…"},
		{long[1:] + "é", "b", "it is another", long[1:] + "…"},
	} {
		if d := detail(connector.ImpactSafe, "name", c.was, c.is); d.What != c.what || d.Old != c.old || d.New != c.is {
			t.Errorf("%.9q to %q: %+v", c.was, c.is, d)
		}
	}
}
