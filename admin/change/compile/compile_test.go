package compile

import (
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/registry"
)

func TestSlug(t *testing.T) {
	f := func(name, want string) {
		t.Helper()
		if got := Slug(name); got != want || !registry.ValidSlug(got) {
			t.Errorf("Slug(%q) = %q, want %q", name, got, want)
		}
	}
	f("Pet Store", "pet-store")
	f("  GitHub v3 REST API!  ", "github-v3-rest-api")
	f("日本語", "toolset")
	f("", "toolset")
	f("---", "toolset")
	f("Ünïcode é", "n-code")
	f(strings.Repeat("a", 63), strings.Repeat("a", 63))
	f(strings.Repeat("a", 64), strings.Repeat("a", 63))
	f(strings.Repeat("a", 62)+" b", strings.Repeat("a", 62))
}

func FuzzSlug(f *testing.F) {
	f.Add("Pet Store")
	f.Fuzz(func(t *testing.T, name string) {
		if s := Slug(name); !registry.ValidSlug(s) || Slug(s) != s {
			t.Errorf("Slug(%q) = %q", name, s)
		}
	})
}

func TestNoticed(t *testing.T) {
	if got := Noticed(nil); got == nil || len(got) != 0 {
		t.Errorf("no notice made %v, want an empty list", got)
	}
	got := Noticed([]connector.Notice{{Code: "hidden_text", Pointer: "/tools/0", Detail: "a character is hidden", Remedy: "read it"}})
	if len(got) != 1 || got[0].Severity != openapi.SeverityWarning || got[0].Code != "hidden_text" || got[0].Pointer != "/tools/0" || got[0].Detail == "" || got[0].Remedy == "" {
		t.Errorf("noticed %+v", got)
	}
}
