package admin

import (
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
)

func TestWaitOf(t *testing.T) {
	f := func(prefer string, d time.Duration, applied string) {
		t.Helper()
		if got, a := waitOf(prefer); got != d || a != applied {
			t.Errorf("waitOf(%q) = %v, %q; want %v, %q", prefer, got, a, d, applied)
		}
	}
	f("", defaultWait, "")
	f("wait=0", 0, "wait=0")
	f("Wait = 5", 5*time.Second, "wait=5")
	f(`respond-async, wait="7"`, 7*time.Second, "wait=7")
	f("wait=60", 60*time.Second, "wait=60")
	f("wait=61", 60*time.Second, "wait=60")
	f("wait=-1", defaultWait, "")
	f("wait=x, wait=3", 3*time.Second, "wait=3")
	f("waiting=3", defaultWait, "")
}

func TestFragment(t *testing.T) {
	f := func(pointer, want string) {
		t.Helper()
		got := fragment(pointer)
		if got != want {
			t.Errorf("fragment(%q) = %q, want %q", pointer, got, want)
		}
		if u, err := url.Parse("#" + got); err != nil || u.Fragment != pointer {
			t.Errorf("%q does not decode to %q: %v", got, pointer, err)
		}
	}
	f("/paths/~1pets/get", "/paths/~1pets/get")
	f("/paths/~1pets~1{id}", "/paths/~1pets~1%7Bid%7D")
	f("/a b/%/é/\"", "/a%20b/%25/%C3%A9/%22")
}

func TestHostName(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := hostName(in); got != want {
			t.Errorf("hostName(%q) = %q, want %q", in, got, want)
		}
	}
	f("LocalHost:7301", "localhost")
	f("localhost.", "localhost")
	f("[::1]:7301", "::1")
	f("[::1]", "::1")
	f("127.0.0.1", "127.0.0.1")
	f("", "")
}

// Each code that an answer can have leads to its heading in the guide.
func TestEveryCodeIsExplained(t *testing.T) {
	guide, err := os.ReadFile("../docs/admin-api.md")
	if err != nil {
		t.Fatal(err)
	}
	codes := []string{codeInternal, codeInvalidRequest, codeNotAllowed}
	for _, k := range problem.Kinds() {
		codes = append(codes, string(k))
		if p := problemOf(problem.New(k, "x")); p.Type != k.Type() || p.Status != k.Status() {
			t.Errorf("problem %+v", p)
		}
	}
	for _, code := range codes {
		if !strings.Contains(string(guide), "\n### "+code+"\n") {
			t.Errorf("docs/admin-api.md does not explain %s", code)
		}
	}
}
