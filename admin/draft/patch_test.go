package draft

import "testing"

func TestClipName(t *testing.T) {
	for in, want := range map[string]string{"Pets": "Pets", " a\nb\x7f ": "a b", "äöü": "äö", "": "Toolset", "\x00": "Toolset"} {
		n := 2
		if in != "äöü" {
			n = 20
		}
		if got := ClipName(in, n); got != want {
			t.Errorf("ClipName(%q, %d) = %q, want %q", in, n, got, want)
		}
	}
}
