package main

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
		a := &app{Session: command.Session{Terminal: terminal.Terminal{In: strings.NewReader("")}}}
		got, err := a.arguments(strings.Fields(words), text, "", json.RawMessage(schema))
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
		a := &app{Session: command.Session{Terminal: terminal.Terminal{In: strings.NewReader("")}}}
		if got, err := a.arguments(strings.Fields(words), text, "", json.RawMessage(schema)); err == nil {
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

func TestSetJSON(t *testing.T) {
	f := func(doc, want string) {
		t.Helper()
		got, err := setJSON([]byte(doc), []string{"servers", "x"}, ordered{{"url", "u&v"}})
		if err != nil || string(got) != want {
			t.Errorf("setJSON(%q) = %q, %v; want %q", doc, got, err, want)
		}
	}
	f("", "{\n  \"servers\": {\n    \"x\": {\n      \"url\": \"u&v\"\n    }\n  }\n}\n")
	f(`{"b":1e400,"servers":{"y":{},"x":1},"a":"<"}`, "{\n  \"b\": 1e400,\n  \"servers\": {\n    \"y\": {},\n    \"x\": {\n      \"url\": \"u&v\"\n    }\n  },\n  \"a\": \"<\"\n}\n")
	f("{\n\t\"a\": 1\n}", "{\n\t\"a\": 1,\n\t\"servers\": {\n\t\t\"x\": {\n\t\t\t\"url\": \"u&v\"\n\t\t}\n\t}\n}\n")
	for _, bad := range []string{"[]", "{", `{"servers":1}`, `{"servers":[]}`, "{} {}", "// c\n{}"} {
		if got, err := setJSON([]byte(bad), []string{"servers", "x"}, "v"); err == nil {
			t.Errorf("setJSON(%q) = %q, want an error", bad, got)
		}
	}
}

// What was in the file stays, and setting the same twice changes nothing.
func FuzzSetJSON(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":"c"}],"servers":{"y":null}}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		once, err := setJSON(doc, []string{"servers", "x"}, ordered{{"url", "u"}})
		if err != nil {
			return
		}
		twice, err := setJSON(once, []string{"servers", "x"}, ordered{{"url", "u"}})
		if err != nil || string(twice) != string(once) {
			t.Fatalf("setting twice: %q, then %q, %v", once, twice, err)
		}
		var before, after map[string]any
		if len(strings.TrimSpace(string(doc))) == 0 {
			return
		}
		if json.Unmarshal(doc, &before) != nil || json.Unmarshal(once, &after) != nil {
			t.Fatalf("%q became %q", doc, once)
		}
		delete(before, "servers")
		delete(after, "servers")
		a, _ := json.Marshal(before)
		b, _ := json.Marshal(after)
		if string(a) != string(b) {
			t.Fatalf("%s became %s", a, b)
		}
	})
}

func TestShellWord(t *testing.T) {
	f := func(s string) {
		t.Helper()
		words := shellSplit("x " + terminal.ShellWord(s) + " y")
		if len(words) != 3 || words[1] != s {
			t.Errorf("shellWord(%q) = %s, which a shell reads as %q", s, terminal.ShellWord(s), words)
		}
	}
	f("plain-word_1.0/x:y")
	f("")
	f("it's")
	f(`{"a":"b c","d":"'\\"}`)
	f("$HOME `x` !! * ~ ; & |")
}
