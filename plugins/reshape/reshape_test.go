package reshape

import (
	"errors"
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
	f("def f: f; f", "1", ErrBounds)
	f("[limit(1e9;repeat(1))]", "1", ErrBounds)
	f("reduce range(60) as $i (\"0123456789\"; . + .)", "1", ErrBounds)
	f("range(20000)", "1", ErrBounds)
	f("\"x\" * 5000000", "1", ErrBounds)
	f(".", `"`+strings.Repeat("x", MaxInput)+`"`, ErrBounds)
}

func TestCompileRefuses(t *testing.T) {
	for _, e := range []string{"", ".[", "import \"a\" as a; .", "unknown_function", strings.Repeat(" ", MaxExpression) + "."} {
		if e == "" {
			continue // the empty expression is .
		}
		if _, err := Compile(e); !problem.Is(err, problem.InvalidArgument) {
			t.Fatalf("%.50q: %v", e, err)
		}
	}
	if _, err := Compile(strings.Repeat(" ", MaxExpression-1) + "."); err != nil {
		t.Fatal(err)
	}
}
