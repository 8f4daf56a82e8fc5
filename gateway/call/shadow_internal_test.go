package call

import "testing"

// TestShadowMemory: copies of calls take maxShadowBytes together and not one byte more, and one
// that is larger than maxShadowCall takes nothing.
func TestShadowMemory(t *testing.T) {
	var s shadow
	if s.reserve(maxShadowCall + 1) {
		t.Error("a call past the bound is copied")
	}
	for n := 0; n < maxShadowBytes; n += maxShadowCall {
		if !s.reserve(maxShadowCall) {
			t.Fatalf("a call at the bound is not copied, with %d bytes taken", n)
		}
	}
	if s.reserve(1) || s.bytes.Load() != maxShadowBytes {
		t.Errorf("one byte past the bound is taken: %d", s.bytes.Load())
	}
	s.bytes.Add(-1)
	if !s.reserve(1) || s.reserve(1) {
		t.Errorf("after one byte was given back: %d", s.bytes.Load())
	}
}
