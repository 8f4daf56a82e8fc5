package jq

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
)

func run(t *testing.T, expression, in string) (string, error) {
	t.Helper()
	p, err := Compile(expression)
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Append(t.Context(), []byte("x"), []byte(in))
	if len(out) == 0 || out[0] != 'x' {
		t.Fatalf("dst is gone: %.100q", out)
	}
	return string(out[1:]), err
}

func TestAppend(t *testing.T) {
	f := func(expression, in, want string) {
		t.Helper()
		if got, err := run(t, expression, in); err != nil || got != want {
			t.Fatalf("%s on %s: %s, %v; want %s", expression, in, got, err, want)
		}
	}
	f(".", `{"n":12345678901234567890.1230}`, `{"n":12345678901234567890.1230}`)
	f("[.[] | {id, who: .user.login}]", `[{"id":1,"user":{"login":"a"}}]`, `[{"id":1,"who":"a"}]`)
	f(".[]", `[1,2]`, `[1,2]`)
	f(".[]", `[1]`, `1`)
	f("empty", `1`, `null`)
	f("$ENV|length", `1`, `0`)
	f("1,halt,2", `1`, `1`)
}

func TestAppendRefuses(t *testing.T) {
	f := func(expression, in string, want error) {
		t.Helper()
		if got, err := run(t, expression, in); !errors.Is(err, want) || got != "" {
			t.Fatalf("%s: %.100s, %v; want %v", expression, got, err, want)
		}
	}
	f("error(\"no\")", "1", ErrExpression)
	f(".a", "[1]", ErrExpression)
	f(".", `"`+strings.Repeat("x", MaxInput)+`"`, ErrBounds)
}

// TestBounds runs each bound of a run at its limit and past it.
func TestBounds(t *testing.T) {
	within := func(expression string) {
		t.Helper()
		if _, err := run(t, expression, "1"); err != nil {
			t.Fatalf("%s: %v", expression, err)
		}
	}
	past := func(expression, what string) {
		t.Helper()
		if got, err := run(t, expression, "1"); !errors.Is(err, ErrBounds) || !strings.Contains(err.Error(), what) || got != "" {
			t.Fatalf("%s: %.100s, %v; want a text with %q", expression, got, err, what)
		}
	}
	within(fmt.Sprintf("range(%d)", MaxResults))
	past(fmt.Sprintf("range(%d)", MaxResults+1), fmt.Sprintf("more than %d values", MaxResults))
	within(fmt.Sprintf("\"x\" * %d", MaxOutput-2)) // and two quotation marks
	past(fmt.Sprintf("\"x\" * %d", MaxOutput-1), fmt.Sprintf("%d bytes", MaxOutput))
	past("def f: f; f", "longer than "+MaxTime.String())
	var err error
	for range 5 { // of a machine that is busy the bound of time may be there first
		if _, err = run(t, `[range(100) | null | .[2000000] = 1]`, "1"); err == nil || !strings.Contains(err.Error(), "longer than") {
			break
		}
	}
	if !errors.Is(err, ErrBounds) || !strings.Contains(err.Error(), fmt.Sprintf("%d MB", MaxHeap>>20)) {
		t.Errorf("memory of a run: %v", err)
	}
	past("reduce range(60) as $i (\"0123456789\"; . + .)", "")
}

func TestCompileRefuses(t *testing.T) {
	for _, e := range []string{".[", "import \"a\" as a; .", "unknown_function", strings.Repeat(" ", MaxExpression) + "."} {
		if _, err := Compile(e); !problem.Is(err, problem.InvalidArgument) {
			t.Fatalf("%.50q: %v", e, err)
		}
	}
	if _, err := Compile(strings.Repeat(" ", MaxExpression-1) + "."); err != nil {
		t.Fatal(err)
	}
}
