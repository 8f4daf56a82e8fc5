package sign

import (
	"errors"
	"testing"
	"testing/iotest"
)

// TestNoRandomness: without randomness there is no key, rather than one that others can
// guess.
func TestNoRandomness(t *testing.T) {
	k, err := GenerateKey(iotest.ErrReader(errors.New("no entropy")))
	if err == nil || k != nil {
		t.Errorf("%v, %v", k, err)
	}
}
