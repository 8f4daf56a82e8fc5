package registry

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
)

// TestDamage: content that was changed or lost is a problem that names it and the way back,
// and stays what it is for who asks; nothing else is one.
func TestDamage(t *testing.T) {
	for _, cause := range []error{ErrCorrupt, ErrNotFound} {
		err := fmt.Errorf("pull layer 24cc96ca1234: %w", cause)
		p := Damage(err)
		if p == nil || p.Kind != problem.Unavailable || !strings.Contains(p.Detail, "24cc96ca1234") || !strings.Contains(p.Remedy, "sluice restore") || !errors.Is(p, cause) {
			t.Errorf("%v: %+v", err, p)
		}
	}
	if p := Damage(ErrUnchanged); p != nil {
		t.Errorf("%+v", p)
	}
}
