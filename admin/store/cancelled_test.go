package store_test

import (
	"context"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
)

// TestNothingOnFailure calls every method with a context that has ended: whatever
// reads or writes fails then, and must say so. A method that overlooked it would
// report that there is nothing, and nothing is taken for "not revoked", "no bound" or
// "nobody else".
func TestNothingOnFailure(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "a.db"), time.Now)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	w := s.Workspace("one")
	called := callAll(t, ended, s) + callAll(t, ended, w)
	err := w.Update(t.Context(), func(tx *store.Tx) error {
		called += callAll(t, ended, tx)
		return nil
	})
	if called < 50 {
		t.Errorf("%d methods were called, %v", called, err)
	}
}

// nothingAsked are methods that do nothing of empty arguments, or cannot be called with
// them.
var nothingAsked = map[string]bool{
	"ApplyUsage":     true, // of a report from long ago
	"Claimed":        true, // where nothing is claimed
	"BlockLearned":   true, // of no requests
	"Gather":         true, // of no toolsets
	"SealCredential": true, // without a keyring
	"SealOAuthLogin": true,
}

// callAll calls the methods of v that take a context and return an error, with empty
// arguments, and returns how many there are.
func callAll(t *testing.T, ended context.Context, v any) (called int) { //nolint:revive // t comes first, as in every test
	t.Helper()
	value := reflect.ValueOf(v)
	for i := range value.NumMethod() {
		m, name := value.Method(i), value.Type().Method(i).Name
		mt := m.Type()
		if mt.NumIn() == 0 || mt.In(0) != reflect.TypeFor[context.Context]() || mt.NumOut() == 0 || mt.Out(mt.NumOut()-1) != reflect.TypeFor[error]() || mt.IsVariadic() || nothingAsked[name] {
			continue
		}
		args := []reflect.Value{reflect.ValueOf(ended)}
		for k := 1; k < mt.NumIn(); k++ {
			args = append(args, empty(mt.In(k)))
		}
		called++
		func() {
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("%T.%s: panics: %v", v, name, r)
				}
			}()
			out := m.Call(args)
			if out[len(out)-1].IsNil() {
				t.Errorf("%T.%s: no error", v, name)
			}
		}()
	}
	return called
}

// empty is an argument of a type: a pointer to nothing, a function that does nothing.
func empty(t reflect.Type) reflect.Value {
	switch t.Kind() {
	case reflect.Pointer:
		return reflect.New(t.Elem())
	case reflect.Func:
		return reflect.MakeFunc(t, func([]reflect.Value) []reflect.Value {
			var out []reflect.Value
			for result := range t.Outs() {
				out = append(out, reflect.Zero(result))
			}
			return out
		})
	}
	return reflect.Zero(t)
}
