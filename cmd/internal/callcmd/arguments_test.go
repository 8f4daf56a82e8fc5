package callcmd

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

func TestArguments(t *testing.T) {
	const schema = `{"type":"object","properties":{"n":{"type":"integer"},"f":{"type":["number","null"]},"b":{"type":"boolean"},"s":{"type":"string"},
		"a":{"type":"array"},"o":{"type":"object"},"u":{"anyOf":[{"type":"integer"},{"type":"string"}]},"any":{}}}`
	f := func(words, text, want string) {
		t.Helper()
		a := &command.Session{Terminal: terminal.Terminal{In: strings.NewReader("")}}
		got, err := Arguments(a, strings.Fields(words), text, "", json.RawMessage(schema))
		if err != nil {
			t.Errorf("arguments(%q) fails: %v", words, err)
			return
		}
		if b, _ := json.Marshal(got); string(b) != want {
			t.Errorf("arguments(%q) = %s, want %s", words, b, want)
		}
	}
	f("n=7 f=1.5e3 b=true s=7", "", `{"b":true,"f":1.5e3,"n":7,"s":"7"}`)
	f("n=12345678901234567890", "", `{"n":12345678901234567890}`) // every digit
	f("f=null s=null", "", `{"f":null,"s":"null"}`)
	f("n=x b=yes", "", `{"b":"yes","n":"x"}`) // the gateway says what is wrong with it
	f("a=x,y", "", `{"a":["x","y"]}`)
	f("a=x a=y,z", "", `{"a":["x","y,z"]}`)
	f("a=[1,2]", "", `{"a":[1,2]}`)
	f(`o={"x":1}`, "", `{"o":{"x":1}}`)
	f("u=5 any=5 unknown=true", "", `{"any":"5","u":5,"unknown":"true"}`)
	f("s:=[1] n:=null", "", `{"n":null,"s":[1]}`)
	f("s=a=b s2=", "", `{"s":"a=b","s2":""}`)
	f("n=2", `{"n":1,"s":"x"}`, `{"n":2,"s":"x"}`)
	f("", "", `{}`)
	bad := func(words, text string) {
		t.Helper()
		a := &command.Session{Terminal: terminal.Terminal{In: strings.NewReader("")}}
		if got, err := Arguments(a, strings.Fields(words), text, "", json.RawMessage(schema)); err == nil {
			t.Errorf("arguments(%q, %q) = %s, want an error", words, text, got)
		}
	}
	bad("word", "")
	bad("=x", "")
	bad("n=1 n=2", "")
	bad("s:={", "")
	bad("", "[]")
	bad("", "null")
	bad("", "{")
}
