package script

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"
)

// echo is a toolset whose tools answer what they were asked.
type echo struct{ asked []string }

func (*echo) Names(path string) []string {
	if path == "" {
		return []string{"t"}
	}
	return []string{"echo", "says no"}
}

func (e *echo) Call(_ context.Context, path string, arguments []byte) ([]byte, error) {
	e.asked = append(e.asked, path)
	if path != "t.echo" {
		return nil, &ToolError{Tool: path, Message: string(arguments)}
	}
	return append([]byte(nil), arguments...), nil
}

// FuzzHost: what a script hands to the host and gets of it is what JSON says, whatever
// value it is: arguments of the script, those of a call, its answer, the text of its error
// and the value of the script. A script that is not a program at all ends with an error.
func FuzzHost(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":[1,-2.5,1e300,null,true]}`, `{"__proto__":{"x":1},"constructor":2,"toJSON":3}`, `{"":"\u0000\ud800 \u2028é😀","then":{"then":1}}`, `{"args":{"tools":[[[]]]}}`, `{"a":9007199254740993}`} {
		f.Add([]byte(s), "1+1")
	}
	f.Add([]byte(`{}`), "tools.t.echo(")
	f.Add([]byte(`{}`), "while(1){}//")
	f.Fuzz(func(t *testing.T, arguments []byte, code string) {
		if len(code) > 200 || len(arguments) > 2000 {
			return
		}
		var own *Error
		if _, err := shared().Run(t.Context(), Script{Code: code, Tools: &echo{}, OwnTime: 20e6}); err != nil && !errors.As(err, &own) &&
			!errors.Is(err, ErrDeadline) && !errors.Is(err, ErrMemory) && !errors.Is(err, ErrBusy) {
			t.Fatalf("%q: %v", code, err)
		}
		var v map[string]any
		if json.Unmarshal(arguments, &v) != nil || v == nil {
			return
		}
		plain, err := json.Marshal(v) // the numbers of doubles, as JavaScript has them
		if err != nil {
			return
		}
		tools := &echo{}
		r, err := shared().Run(t.Context(), Script{Tools: tools, Arguments: plain, Code: `
			const answer = await tools.t.echo(args);
			let said = "";
			try { await tools.t["says no"](args) } catch (e) { said = e.message }
			return {answer, said, args}`})
		if err != nil {
			t.Fatalf("%s: %v", plain, err)
		}
		var got struct {
			Answer, Args any
			Said         string
		}
		if err := json.Unmarshal(r.Value, &got); err != nil {
			t.Fatalf("%s: %s: %v", plain, r.Value, err)
		}
		for what, x := range map[string]any{"the answer": got.Answer, "its arguments": got.Args} {
			if b, err := json.Marshal(x); err != nil || !bytes.Equal(b, plain) {
				t.Errorf("%s is %s, want %s", what, b, plain)
			}
		}
		if len(tools.asked) != 2 || tools.asked[0] != "t.echo" || tools.asked[1] != "t.says no" {
			t.Errorf("asked %q", tools.asked)
		}
		var said any
		if json.Unmarshal([]byte(got.Said), &said) != nil {
			t.Errorf("the error says %q", got.Said)
		}
	})
}
