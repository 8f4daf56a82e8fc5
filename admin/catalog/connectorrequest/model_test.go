package connectorrequest

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
)

// TestFields: what the public page asks for and bounds is what the API does.
func TestFields(t *testing.T) {
	of := reflect.TypeFor[NewRequest]()
	if of.NumField() != len(Fields) {
		t.Errorf("%d fields of %d", len(Fields), of.NumField())
	}
	for i := range Fields {
		f, tag := &Fields[i], of.Field(i).Tag
		if tag.Get("json") != f.Name || tag.Get("minLength") != strconv.Itoa(f.Min) || tag.Get("maxLength") != strconv.Itoa(f.Max) {
			t.Errorf("%s: %d to %d, the API has %s", f.Name, f.Min, f.Max, tag)
		}
	}
}

// TestCheck: each field at its bounds and one past them.
func TestCheck(t *testing.T) {
	for i := range Fields {
		f := &Fields[i]
		text := func(n int) string {
			s := strings.Repeat("é", n)
			if f.Link {
				s = "https://a.example/" + strings.Repeat("é", max(n-18, 0))
			}
			return s
		}
		for _, c := range []struct {
			text string
			ok   bool
		}{{text(f.Max), true}, {text(f.Max + 1), false}, {text(f.Min), true}, {"", false}, {" \t\x00", false}} {
			in := wish(1)
			*f.Of(in) = c.text
			err := in.Check()
			if (err == nil) != c.ok || err != nil && problem.As(err).Place.Pointer != "/"+f.Name {
				t.Errorf("%s, %d bytes: %v", f.Name, len(c.text), err)
			}
		}
		if f.Min > 1 {
			in := wish(1)
			*f.Of(in) = text(f.Min - 1)
			if err := in.Check(); err == nil {
				t.Errorf("%s is too short", f.Name)
			}
		}
	}
	in := wish(1)
	in.Website = "javascript:alert(1)"
	if err := in.Check(); err == nil {
		t.Error("that is not a web page")
	}
	in.Website = "https://me:secret@acme.example"
	if err := in.Check(); err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "password in it") {
		t.Errorf("an address with a password: %v", err)
	}
}
