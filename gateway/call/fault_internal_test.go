package call

import (
	"strings"
	"testing"
)

// TestFaultBounds: of the data of a server's error so much is passed on, and so many addresses
// are asked to be opened.
func TestFaultBounds(t *testing.T) {
	for n, passed := range map[int]bool{maxFaultData: true, maxFaultData + 1: false} {
		if got := passedData([]byte(strings.Repeat("1", n))); (got != nil) != passed {
			t.Errorf("%d bytes: %d are passed on", n, len(got))
		}
	}
	for n, asked := range map[int]bool{0: false, 1: true, maxOpened: true, maxOpened + 1: false} {
		list := strings.TrimSuffix(strings.Repeat(`{"mode":"url","url":"u"},`, n), ",")
		if got := openFirst([]byte(`{"elicitations":[` + list + `]}`)); (got != nil) != asked {
			t.Errorf("%d addresses: %s", n, got)
		}
	}
	for _, data := range []string{``, `null`, `"x"`, `[]`, `{"elicitations":{}}`, `{"elicitations":[1]}`, `{"elicitations":[{"mode":"form"}]}`} {
		if got := openFirst([]byte(data)); got != nil {
			t.Errorf("%s: %s", data, got)
		}
	}
}
