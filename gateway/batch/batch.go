package batch

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

const (
	// MaxCalls is how many calls a batch has at most, all of which may be made at once: what
	// an agent plans in one turn, and far below the connections to one host.
	MaxCalls = 20
	// maxID is the longest name of a call: it stands before its answer.
	maxID = 64
)

// Request is what an agent asks of the tool that makes many calls.
type Request struct {
	Calls  []Call
	Writes bool // calls that may change data are permitted
}

// Call is one of the calls.
type Call struct {
	ID, Name  string         // of the call in the batch, which has its number as ID where it was given none; of the tool
	Arguments jsonscan.Value // an object; valid as long as what was read
}

var noArguments = jsonscan.Trusted([]byte("{}"))

// Read reads the arguments of the tool. It fails with [problem.InvalidArguments] and the place of
// the fault.
func Read(args jsonscan.Value) (*Request, error) {
	b := &Request{}
	var calls jsonscan.Value
	for it := args.Members(); it.Next(); {
		v := it.Value()
		switch {
		case it.KeyEqual("calls"):
			calls = v
		case it.KeyEqual("allow_writes") && v.Kind() == jsonscan.Null:
		case it.KeyEqual("allow_writes"):
			allow, ok := v.Bool()
			if !ok {
				return nil, fault("/allow_writes", "expected true or false, got %s", v.Kind())
			}
			b.Writes = allow
		default:
			return nil, fault("/"+string(it.KeyText(nil)), "unknown argument, known are calls and allow_writes")
		}
	}
	if n := calls.Len(); calls.Kind() != jsonscan.Array || n == 0 {
		return nil, fault("/calls", `expected a list of calls, each {"tool":"…","arguments":{…}}`)
	} else if n > MaxCalls {
		return nil, fault("/calls", "%d calls, at most %d", n, MaxCalls).Fix("make several batches")
	}
	seen := map[string]bool{}
	for it := calls.Elements(); it.Next(); {
		at := "/calls/" + strconv.Itoa(len(b.Calls))
		c := Call{ID: strconv.Itoa(len(b.Calls) + 1), Arguments: noArguments}
		if err := c.read(it.Value(), at); err != nil {
			return nil, err
		}
		if seen[c.ID] {
			return nil, fault(at+"/id", "%q names two calls; a call without id has its number", c.ID).Fix("give each call another id, or none")
		}
		seen[c.ID] = true
		b.Calls = append(b.Calls, c)
	}
	return b, nil
}

func (c *Call) read(v jsonscan.Value, at string) error {
	if v.Kind() != jsonscan.Object {
		return fault(at, "expected an object with tool and arguments, got %s", v.Kind())
	}
	for it := v.Members(); it.Next(); {
		switch v := it.Value(); {
		case it.KeyEqual("tool"):
			if v.Kind() != jsonscan.String {
				return fault(at+"/tool", "expected the name of a tool, got %s", v.Kind())
			}
			c.Name = string(v.AppendText(nil))
		case v.Kind() == jsonscan.Null:
		case it.KeyEqual("arguments"):
			if v.Kind() != jsonscan.Object {
				return fault(at+"/arguments", "expected an object, got %s", v.Kind())
			}
			c.Arguments = v
		case it.KeyEqual("id"):
			text := v.AppendText(nil)
			if v.Kind() == jsonscan.Number {
				text = v.Raw()
			} else if v.Kind() != jsonscan.String {
				return fault(at+"/id", "expected a string, got %s", v.Kind())
			}
			if n := len(text); n == 0 || n > maxID || slices.ContainsFunc(text, func(b byte) bool { return b <= ' ' || b > '~' || b == '[' || b == ']' }) {
				return fault(at+"/id", "expected 1 to %d letters, digits and signs without space and brackets", maxID)
			}
			c.ID = string(text)
		default:
			return fault(at+"/"+string(it.KeyText(nil)), "unknown, known are tool, arguments and id")
		}
	}
	if c.Name == "" {
		return fault(at+"/tool", "missing")
	}
	return nil
}

func fault(at, format string, a ...any) *problem.Error {
	return problem.New(problem.InvalidArguments, format, a...).At("", 0, 0, fmt.Sprintf("%.200s", at))
}
