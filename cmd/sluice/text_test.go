package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

func TestGlobMatch(t *testing.T) {
	f := func(pattern, name string, want bool) {
		t.Helper()
		if got := globMatch(pattern, name); got != want {
			t.Errorf("globMatch(%q, %q) = %v, want %v", pattern, name, got, want)
		}
	}
	f("*", "", true)
	f("list_*", "list_pets", true)
	f("list_*", "get_list_pets", false)
	f("*_pets", "list_pets", true)
	f("*a*b*c", "xaybzc", true)
	f("*a*b*c", "xaybz", false)
	f("get_pe?", "get_pet", true)
	f("get_pe?", "get_pe", false)
	f("", "a", false)
	f("", "", true)
	f(strings.Repeat("*a", 40)+"b", strings.Repeat("a", 4000), false) // must not take for ever
}

func FuzzGlobMatch(f *testing.F) {
	f.Add("a*b?", "axxbc")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(pattern) > 12 || len(name) > 12 {
			return
		}
		var slow func(p, n string) bool
		slow = func(p, n string) bool {
			switch {
			case p == "":
				return n == ""
			case p[0] == '*':
				return slow(p[1:], n) || n != "" && slow(p, n[1:])
			default:
				return n != "" && (p[0] == '?' || p[0] == n[0]) && slow(p[1:], n[1:])
			}
		}
		if got, want := globMatch(pattern, name), slow(pattern, name); got != want {
			t.Fatalf("globMatch(%q, %q) = %v, want %v", pattern, name, got, want)
		}
	})
}

func TestParseAuth(t *testing.T) {
	f := func(spec string, want admin.AuthItem) {
		t.Helper()
		got, err := parseAuth(spec)
		if err != nil || !reflect.DeepEqual(got.AuthItem, want) {
			t.Errorf("parseAuth(%q) = %+v, %v; want %+v", spec, got, err, want)
		}
	}
	f("header:X-Api-Key", admin.AuthItem{AuthType: "header", HeaderName: "X-Api-Key"})
	f("header:Authorization:Bearer", admin.AuthItem{AuthType: "header", HeaderName: "Authorization", HeaderPrefix: "Bearer "})
	f("header:Authorization:Bearer ", admin.AuthItem{AuthType: "header", HeaderName: "Authorization", HeaderPrefix: "Bearer "})
	f("header:Authorization:key=", admin.AuthItem{AuthType: "header", HeaderName: "Authorization", HeaderPrefix: "key="})
	f("query:app id", admin.AuthItem{AuthType: "query", ParameterName: "app id"})
	f("cookie:sid", admin.AuthItem{AuthType: "cookie", CookieName: "sid"})
	f("bearer", admin.AuthItem{AuthType: "bearer"})
	f("basic:ann", admin.AuthItem{AuthType: "basic", Username: "ann"})
	f("oauth2:app", admin.AuthItem{AuthType: "oauth2", ClientID: "app"})
	f("oidc:https://app.example/", admin.AuthItem{AuthType: "oidc", ClientID: "https://app.example/"})
	f("mtls", admin.AuthItem{AuthType: "mtls"})
	f("none", admin.AuthItem{AuthType: "none"})
	for _, bad := range []string{"", "header", "header:", "basic", "bearer:x", "oauth2", "oidc:", "query", "cookie:", "mtls:x", "none:x"} {
		if got, err := parseAuth(bad); err == nil {
			t.Errorf("parseAuth(%q) = %+v, want an error", bad, got)
		}
	}
}

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
