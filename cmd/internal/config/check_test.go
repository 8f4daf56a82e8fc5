package config

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// goTypes are the names of types that only programmers of Go know.
var goTypes = regexp.MustCompile(`\b(config\.[A-Z]\w*|map\[|\[\]string|int|bool|!!\w+|construct|unmarshal|strconv)\b`)

func TestConfigurationErrors(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "sluice.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := readConfig(path)
		if want == "" {
			if err != nil {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if err == nil {
			t.Errorf("%q is accepted, want %q", text, want)
			return
		}
		got := err.Error()
		if !strings.Contains(got, want) || !strings.Contains(got, path) {
			t.Errorf("%q: got %q, want %q and the path", text, got, want)
		}
		if name := goTypes.FindString(strings.ReplaceAll(got, path, "")); name != "" {
			t.Errorf("%q: %q says %q", text, got, name)
		}
	}
	f("", "")
	f("# only a remark", "")
	f("listen:\n", "")
	f("listen: &a 127.0.0.1:0\nadmin-listen: *a\n", "")
	f("max-spec: 64\nplugin-grace: 5s\nbehind-proxy: [10.0.0.0/8]\ncontexts: {a: {server: x}}\n", "")
	f("listen: [1]", "line 1: listen must be a text")
	f("- a", "line 1: a configuration is keys with values")
	f("data: d\nshutdown-timeout: abc", `line 2: shutdown-timeout: "abc" is not a duration such as 30s`)
	f("plugin-grace: {a: 1}", "line 1: plugin-grace must be one value")
	f("max-spec: big", `line 1: max-spec: "big" is not a number of MiB from 1 to 64`)
	f("contexts: 3", "line 1: contexts must be names, each with its own keys")
	f("contexts: {a: {servr: x}}", "line 1: there is no key contexts.a.servr; did you mean server?")
	f("suggest: x", "line 1: suggest must be a group of keys: url, model, key-file")
	f("max-connections: many", "line 1: max-connections must be a whole number")
	f("allow-commands: maybe", "line 1: allow-commands must be true or false")
	f("behind-proxy: 5", "line 1: behind-proxy must be a list, such as [a, b]")
	f("nonsense: 1\nlisten: [1]", "line 1: there is no key nonsense\n  line 2: listen must be a text")
	f("a: [", "it is not YAML: ")

	// Of many faults the first are told.
	var b strings.Builder
	for i := range maxFaults + 1 {
		fmt.Fprintf(&b, "unheard%d: 1\n", i)
	}
	f(b.String(), fmt.Sprintf("line %d: ", maxFaults))
	path := filepath.Join(t.TempDir(), "sluice.yaml")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readConfig(path); err == nil || strings.Contains(err.Error(), fmt.Sprintf("line %d: ", maxFaults+1)) {
		t.Errorf("got %v, want at most %d faults", err, maxFaults)
	}
}

// TestMaxConfigBytes: a configuration as large is read, one a byte larger is refused.
func TestMaxConfigBytes(t *testing.T) {
	for n, ok := range map[int]bool{maxConfigBytes: true, maxConfigBytes + 1: false} {
		path := filepath.Join(t.TempDir(), "sluice.yaml")
		if err := os.WriteFile(path, []byte("#"+strings.Repeat("x", n-1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readConfig(path); (err == nil) != ok || !ok && !strings.Contains(err.Error(), "is larger than") {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}
