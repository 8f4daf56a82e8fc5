package extism

import (
	"reflect"

	"github.com/tetratelabs/wazero/api"
)

// function is a function of a plugin with the stack that it runs on. wazero grows that
// stack as long as the function calls others, up to 100 MB of memory that is not a plugin's
// and does not say how far it is: its length is read where wazero v1.12 keeps it.
type function struct {
	api.Function
	stack reflect.Value // a slice; the zero Value when this wazero has none there
}

// stackName is the field of wazero's functions that holds the stack.
const stackName = "stack"

func newFunction(f api.Function) function {
	out := function{Function: f}
	if v := reflect.ValueOf(f); v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Struct {
		if s := v.Elem().FieldByName(stackName); s.Kind() == reflect.Slice {
			out.stack = s
		}
	}
	return out
}

// stackBytes is what the function's stack takes now.
func (f *function) stackBytes() int {
	if !f.stack.IsValid() {
		return 0
	}
	return f.stack.Len() * int(f.stack.Type().Elem().Size())
}

// checkStack stops a plugin whose stack grows out of its memory class. It is looked at
// once a quantum, and package module charges calls so that it grows by a few megabytes
// meanwhile.
func (i *Instance) checkStack() {
	stack := i.running.stackBytes()
	if stack <= freeStack {
		return
	}
	class, _ := i.p.limits.class()
	memory := 0
	if i.memory != nil {
		memory = int(i.memory.Size())
	}
	if stack > classes[class]/stackShare || stack+memory > classes[class]+freeStack {
		deny("it calls functions in each other until its stack has %d bytes, more than its memory class of %d leaves", stack, classes[class])
	}
}
