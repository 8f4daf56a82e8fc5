package gateway

import "testing"

type row struct{ maxField int }

func TestCode(t *testing.T) {
	if maxUsed != MaxBeside {
		t.Fatal(row{maxField: []int{maxInTable}[0]}.maxField)
	}
}
