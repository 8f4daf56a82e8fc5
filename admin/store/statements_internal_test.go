package store

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/internal/secrets"
)

// failing is a hook that fails one statement of those that are counted.
type failing struct {
	mu    sync.Mutex
	armed bool // guarded by mu
	at    int  // guarded by mu; which statement fails, from 1; 0: none
	n     int  // guarded by mu; statements up to now
	texts []string
}

func (f *failing) BeforeQuery(ctx context.Context, q *bun.QueryEvent) context.Context {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.armed || slices.Contains([]string{"BEGIN", "COMMIT", "ROLLBACK"}, q.Operation()) {
		return ctx
	}
	f.n++
	f.texts = append(f.texts, q.Query)
	if f.n != f.at {
		return ctx
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	return ended
}

func (*failing) AfterQuery(context.Context, *bun.QueryEvent) {}

// arm counts statements from now on, and fails the one with the number.
func (f *failing) arm(at int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed, f.at, f.n, f.texts = true, at, 0, nil
}

// rest returns the statements since arm.
func (f *failing) rest() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = false
	return f.texts
}

// TestStatementsFail: whatever statement of a method fails, the method says so. Each exported
// method of the store, of a workspace and of a transaction is called with made-up arguments, on
// rows that were made the same way; one that is new is among them.
func TestStatementsFail(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	s := loose(t, now)
	if err := s.EnsureWorkspace(t.Context(), "x", "x"); err != nil {
		t.Fatal(err)
	}
	ring, err := secrets.OpenFile(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	hook := &failing{}
	s.write, s.read = s.write.WithQueryHook(hook), s.read.WithQueryHook(hook)
	w := s.Workspace("x")
	undo := errors.New("undo")
	// call calls a method; what it does in a transaction is undone unless it is kept.
	call := func(of, name string, keep bool, at int) (statements []string, result error) {
		on := func(x any) error {
			m := reflect.ValueOf(x).MethodByName(name)
			in := []reflect.Value{reflect.ValueOf(t.Context())}
			for i := 1; i < m.Type().NumIn(); i++ {
				in = append(in, madeUp(m.Type().In(i), now, ring, 0))
			}
			if m.Type().IsVariadic() {
				in[len(in)-1] = in[len(in)-1].Index(0)
			}
			hook.arm(at)
			out := m.Call(in)
			statements = hook.rest()
			err, _ := reflect.TypeAssert[error](out[len(out)-1])
			return err
		}
		switch of {
		case "Store":
			return statements, on(s)
		case "Workspace":
			return statements, on(w)
		}
		err := w.Update(t.Context(), func(tx *Tx) error {
			if result = on(tx); result == nil && !keep {
				return undo
			}
			return result
		})
		if result == nil && err != nil && !errors.Is(err, undo) {
			t.Errorf("%s: %v", name, err)
		}
		return statements, result
	}
	methods := map[string][]string{}
	for of, x := range map[string]reflect.Type{"Store": reflect.TypeFor[*Store](), "Workspace": reflect.TypeFor[*Workspace](), "Tx": reflect.TypeFor[*Tx]()} {
		for method := range x.Methods() {
			m := method.Type
			if m.NumIn() > 1 && m.In(1) == reflect.TypeFor[context.Context]() && m.NumOut() > 0 && m.Out(m.NumOut()-1) == reflect.TypeFor[error]() {
				methods[of] = append(methods[of], method.Name)
			}
		}
	}
	// Rows for what is looked up, changed and removed. Some refuse what is made up.
	for _, name := range methods["Tx"] {
		for _, makes := range []string{"Add", "Create", "Put", "Save", "Seal", "Set"} {
			if strings.HasPrefix(name, makes) {
				_, _ = call("Tx", name, true, 0)
			}
		}
	}
	tried, worked := 0, 0
	for of, names := range methods {
		for _, name := range names {
			if notCalled[of+"."+name] != "" {
				continue
			}
			statements, err := call(of, name, false, 0)
			if err == nil && len(statements) > 0 {
				worked++
			}
			for at := range statements {
				tried++
				// What could have been meant by a name that is not there is no reason to fail otherwise.
				guess := err != nil && strings.HasPrefix(statements[at], "SELECT DISTINCT")
				if _, err := call(of, name, false, at+1); err == nil || !guess && !errors.Is(err, context.Canceled) {
					t.Errorf("%s.%s says %v when its statement %d fails: %.200s", of, name, err, at+1, statements[at])
				}
			}
		}
	}
	t.Logf("%d statements of %d methods failed, %d of which succeed otherwise", tried, len(methods["Store"])+len(methods["Workspace"])+len(methods["Tx"]), worked)
	if tried < 300 || worked < 100 {
		t.Errorf("%d statements failed, of %d methods that succeed otherwise: too few of what is made up is taken", tried, worked)
	}
}

// notCalled are methods that made-up arguments say nothing about.
var notCalled = map[string]string{
	"Store.Announce": "only who has a claim, which is of PostgreSQL, announces itself",
	"Store.Health":   "what it found is kept for a while",
}

// madeUp is a value of a type: texts are "x", numbers 1, times now, pointers point to
// something, lists have one element.
func madeUp(t reflect.Type, now time.Time, ring *secrets.Keyring, deep int) reflect.Value {
	v := reflect.New(t).Elem()
	switch {
	case t == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(now))
		return v
	case t == reflect.TypeFor[secrets.Secret]():
		v.Set(reflect.ValueOf(secrets.New("x")))
		return v
	case t == reflect.TypeFor[*secrets.Keyring]():
		v.Set(reflect.ValueOf(ring))
		return v
	case deep > 5:
		return v
	}
	switch t.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(1)
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(madeUp(t.Elem(), now, ring, deep+1))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(t, 1, 1))
		v.Index(0).Set(madeUp(t.Elem(), now, ring, deep+1))
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).Set(madeUp(t.Elem(), now, ring, deep+1))
		}
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && f.Type != reflect.TypeFor[bun.BaseModel]() {
				v.Field(i).Set(madeUp(f.Type, now, ring, deep+1))
			}
		}
	case reflect.Func:
		v.Set(reflect.MakeFunc(t, func([]reflect.Value) []reflect.Value {
			out := make([]reflect.Value, t.NumOut())
			for i := range out {
				if out[i] = reflect.Zero(t.Out(i)); t.Out(i) != reflect.TypeFor[error]() {
					out[i] = madeUp(t.Out(i), now, ring, deep+1)
				}
			}
			return out
		}))
	case reflect.Interface:
		if reflect.TypeFor[*strings.Builder]().Implements(t) {
			v.Set(reflect.ValueOf(&strings.Builder{}))
		}
	default: // maps and channels stay empty
	}
	return v
}
