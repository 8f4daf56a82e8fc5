package secretstest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// Every form is found, wherever it stands, and what is not there is not.
func TestFind(t *testing.T) {
	const secret = "cnry+key/71f0e2\"9f3c"
	f := func(text, form string) {
		t.Helper()
		if got := Find([]byte(text), secret); !slices.Contains(got, form) {
			t.Errorf("%s: found %v, want %s", text, got, form)
		}
	}
	quoted, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	f("before"+secret+"behind", "plain")
	f(fmt.Sprintf("%x", secret), "hex")
	f(fmt.Sprintf("%X", secret), "HEX")
	f("?key="+url.QueryEscape(secret), "url")
	f("/"+url.PathEscape(secret), "path")
	f(string(quoted), "json")
	for i := range 3 {
		f(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", i)+secret+"!")), fmt.Sprintf("base64 at %d", (3-i)%3))
		f(base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("x", i)+secret+"!")), fmt.Sprintf("base64url at %d", (3-i)%3))
	}
	f("main.f(0x6b2b79726e63, 0x2f79656b2b79726e63)\n0x656b2b79726e63\n"+fmt.Sprintf("g(0x%x)", uint64('c')|uint64('n')<<8|uint64('r')<<16|uint64('y')<<24|uint64('+')<<32|uint64('k')<<40|uint64('e')<<48|uint64('y')<<56), "word at 0")
	if got := Find([]byte("cnry+key/71f0e2 cnry%2Bkey%2F71f0e2 636e72"), secret); got != nil {
		t.Errorf("found %v where it is not", got)
	}
	if got := Search([]byte("x"+secret+fmt.Sprintf("%x", secret)), map[string]string{"b": secret, "a": "another-secret"}); !slices.Equal(got, []string{"b (hex, plain)"}) {
		t.Errorf("Search: %q", got)
	}
}

func TestTooShort(t *testing.T) {
	_ = Forms(strings.Repeat("x", MinLength))
	defer func() {
		if recover() == nil {
			t.Error("a secret that is too short was searched for")
		}
	}()
	Forms(strings.Repeat("x", MinLength-1))
}
