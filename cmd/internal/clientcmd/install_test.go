package clientcmd

import (
	"encoding/json"
	"strings"
	"testing"
)

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
