package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safehttp"
)

func TestTexts(t *testing.T) {
	f := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f(byteSize(0), "0 B")
	f(byteSize(1023), "1023 B")
	f(byteSize(22835), "22.3 KiB")
	f(byteSize(int64(13)<<20), "13.0 MiB")
	f(byteSize(300<<10), "300 KiB")
	f(thousands(0), "0")
	f(thousands(999), "999")
	f(thousands(1000), "1,000")
	f(thousands(-1234567), "-1,234,567")
	f(plural(1, "tool"), "1 tool")
	f(plural(0, "tool"), "0 tools")
	f(tokenLine(3184, 611), "3,184 → 611 tokens (−80 %)")
	f(tokenLine(10, 10), "10 → 10 tokens")
	f(tokenLine(21, 30), "21 → 30 tokens (+42 %)")
	f(tokenLine(0, 0), "0 → 0 tokens")
	f(seconds(0.0004), "0.4 ms")
	f(seconds(0.212), "212 ms")
	f(seconds(31.5), "31.5s")
	f(shortDigest("sha256:0123456789abcdef0123"), "sha256:0123456789ab…")
	now := time.Unix(1_000_000, 0)
	f(ago(now.Add(-2*time.Minute), now), "2 min ago")
	f(ago(now.Add(-50*time.Hour), now), "2 days ago")
	f(safehttp.Redact("https://u:p@h/x?key=s#f"), "https://h/x")
	f(printable("a\x1b[31mb\nc\u202e"), "ab c")
	f(safeText("a\x1b]0;x\x07\n\tb"), "a\n\tb")
	f(firstSentence("List pets. Returns a list."), "List pets.")
}

func TestShellWord(t *testing.T) {
	f := func(s string) {
		t.Helper()
		words := shellSplit("x " + shellWord(s) + " y")
		if len(words) != 3 || words[1] != s {
			t.Errorf("shellWord(%q) = %s, which a shell reads as %q", s, shellWord(s), words)
		}
	}
	f("plain-word_1.0/x:y")
	f("")
	f("it's")
	f(`{"a":"b c","d":"'\\"}`)
	f("$HOME `x` !! * ~ ; & |")
}

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
		a := &app{stdin: strings.NewReader("")}
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
		a := &app{stdin: strings.NewReader("")}
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

func TestExitCodes(t *testing.T) {
	f := func(err error, want int) {
		t.Helper()
		if got := exitCode(t.Context(), err); got != want {
			t.Errorf("exitCode(%v) = %d, want %d", err, got, want)
		}
	}
	f(nil, 0)
	f(usagef("x"), 2)
	f(problem.New(problem.NotFound, "x"), 3)
	f(problem.New(problem.Forbidden, "x"), 4)
	f(silentError(5), 5)
	f(problem.New(problem.InvalidSpec, "x"), 6)
	f(problem.New(problem.Precondition, "x"), 7)
	f(problem.New(problem.Timeout, "x"), 8)
	f(problem.New(problem.TestFailed, "x"), 1)
}

func TestWriteError(t *testing.T) {
	f := func(err error, want string) {
		t.Helper()
		var b strings.Builder
		writeError(&b, err)
		if b.String() != want {
			t.Errorf("got\n%s\nwant\n%s", b.String(), want)
		}
	}
	two := problem.New(problem.InvalidSpec, "broken.yaml has 2 errors")
	two.Place.File = "broken.yaml"
	two.Parts = []*problem.Error{
		problem.New(problem.InvalidSpec, "required member is missing").At("", 41, 9, "/paths/~1pets/get/responses").Fix("add one"),
		problem.New(problem.InvalidSpec, "does not exist").At("", 88, 15, "/x"),
	}
	f(two, "✗ Invalid OpenAPI spec: broken.yaml has 2 errors\n  line 41, column 9   /paths/~1pets/get/responses   required member is missing\n      add one\n  line 88, column 15   /x   does not exist\n")
	f(problem.New(problem.InvalidSpec, "the document is a string").At("a.yaml", 1, 1, "").Fix("give a document"),
		"✗ Invalid OpenAPI spec: a.yaml\n  line 1, column 1   the document is a string\n      give a document\n")
	f(problem.New(problem.NotFound, "there is no toolset %q", "x").Fix("see the list"), "✗ there is no toolset \"x\"\n      see the list\n")
	f(problem.New(problem.InvalidArgument, "a name is too long").At("", 0, 0, "#/name").Fix("shorten it"), "✗ a name is too long\n  /name\n      shorten it\n")
}

// Problem details that came over HTTP say the same as the error they were made of.
func TestProblemDocumentRoundTrip(t *testing.T) {
	in := problem.New(problem.InvalidSpec, "a.yaml has 1 error").Fix("mend it")
	in.Parts = []*problem.Error{problem.New(problem.InvalidSpec, "bad").At("", 3, 4, "/x").Fix("do")}
	b, err := json.Marshal(problemOf(in))
	if err != nil {
		t.Fatal(err)
	}
	got := apiError(422, "application/problem+json; charset=utf-8", b)
	p := problem.As(got)
	if p == nil || p.Kind != in.Kind || p.Detail != in.Detail || p.Remedy != in.Remedy || len(p.Parts) != 1 || p.Parts[0].Place.Line != 3 || p.Parts[0].Remedy != "do" {
		t.Errorf("%s became %+v", b, p)
	}
	if p := problem.As(apiError(401, "text/html", []byte("<p>"))); p == nil || p.Kind != problem.Unauthenticated {
		t.Errorf("an answer that is no problem: %v", p)
	}
}

func TestSpecSize(t *testing.T) {
	for text, ok := range map[string]bool{"1": true, "64": true, "0": false, "65": false, "-1": false, "12MB": false, "": false} {
		var s specSize
		if err := s.Set(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
	a := &app{config: config{MaxSpec: 48}}
	if got := a.specLimits().MaxBytes; got != 48<<20 {
		t.Errorf("from the configuration file: %d bytes", got)
	}
	a.flags.maxSpec = 2
	if got := a.specLimits().MaxBytes; got != 2<<20 {
		t.Errorf("the flag wins: %d bytes", got)
	}
}

func TestPluginGrace(t *testing.T) {
	f := func(file time.Duration, env string, want time.Duration, ok bool) {
		t.Helper()
		a := &app{config: config{PluginGrace: duration(file)}, env: environment{grace: env}}
		if got, err := a.pluginGrace(); got != want || (err == nil) != ok {
			t.Errorf("%s in the file, %q: %s, %v", file, env, got, err)
		}
	}
	f(0, "", 0, true)
	f(time.Second, "", time.Second, true)
	f(time.Second, "0s", 0, true)
	f(0, "1m", time.Minute, true)
	f(0, "61s", 0, false)
	f(0, "-1s", 0, false)
	f(0, "soon", 0, false)
}
