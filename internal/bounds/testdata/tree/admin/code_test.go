package admin

import (
	"testing"

	wire "example.com/tree/gateway"
)

func TestCode(t *testing.T) {
	if wire.MaxElsewhere != MaxOfAnother {
		t.Fatal()
	}
}
