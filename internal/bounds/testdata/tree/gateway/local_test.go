package gateway

import "testing"

func check(maxParameter int) bool { return maxParameter > 0 }

func TestLocal(t *testing.T) {
	maxShadowed := 1
	if !check(maxShadowed) {
		t.Fatal()
	}
}
