package openapi_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/plugins/operation"
)

// manyOperations is a document of n operations, op0, op1 and so on.
func manyOperations(n int) []byte {
	var b strings.Builder
	b.WriteString(`{"openapi":"3.1.0","info":{"title":"t","version":"1"},"servers":[{"url":"https://x.example"}],"paths":{`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"/p%d":{"get":{"operationId":"op%d","responses":{"200":{"description":"ok"}}}}`, i, i)
	}
	return []byte(b.String() + "}}")
}

// Operations come in their order, one at a time, and all before Compile returns.
func TestEachInOrder(t *testing.T) {
	const n = 1000
	var got []string // of one goroutine after the other: the race detector sees if not
	res, err := openapi.Compile(t.Context(), openapi.Source{Name: "t", Data: manyOperations(n)}, openapi.Options{Each: func(op *operation.Operation) error {
		got = append(got, op.ID)
		return nil
	}})
	if err != nil || res.Tools != n {
		t.Fatal(res, err)
	}
	var want []string
	for i := range n {
		want = append(want, fmt.Sprintf("op%d", i))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d operations, not in order: %.20q", len(got), got)
	}
}

// An error of Each ends Compile with that error, and a panic goes through to whoever
// called it.
func TestEachFails(t *testing.T) {
	stop := errors.New("stop")
	for _, at := range []int{1, 50, 999, 1000} {
		n := 0
		_, err := openapi.Compile(t.Context(), openapi.Source{Name: "t", Data: manyOperations(1000)}, openapi.Options{Each: func(*operation.Operation) error {
			if n++; n == at {
				return stop
			}
			return nil
		}})
		if !errors.Is(err, stop) || n != at {
			t.Errorf("error at %d: %v after %d", at, err, n)
		}
	}
	defer func() {
		if p := recover(); !strings.Contains(fmt.Sprint(p), "BUG: here") {
			t.Errorf("recovered %v", p)
		}
	}()
	_, err := openapi.Compile(t.Context(), openapi.Source{Name: "t", Data: manyOperations(1000)}, openapi.Options{Each: func(*operation.Operation) error { panic("BUG: here") }})
	t.Errorf("no panic, error %v", err)
}
