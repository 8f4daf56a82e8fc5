package command

import (
	"slices"
	"strings"
	"testing"
)

// TestPlaces: what of a usage line the shell can complete.
func TestPlaces(t *testing.T) {
	for use, want := range map[string][]string{
		"list":                          {},
		"show TOOLSET NAME":             {"TOOLSET", ""},
		"call TOOLSET|URL TOOL [k=v …]": {"TOOLSET", "TOOL", ""},
		"bind TOOLSET PLUGIN[@RANGE] [--tool TOOL]": {"TOOLSET", "PLUGIN"},
		"doctor [TOOLSET|URL|DIR]":                  {"TOOLSET files"},
		"export [TOOLSET…]":                         {"TOOLSET"},
		"upstream TOOLSET [pin|warn|follow]":        {"TOOLSET", "pin warn follow"},
		"access TOOLSET [show | set none|token|jwt | token create NAME | token list]": {"TOOLSET", "show set token"},
		"add SPEC|DIR|ZIP|URL|- | -- PROGRAM [ARGUMENTS]":                             {"files", "", "", ""},
	} {
		var got []string
		for _, p := range places(use) {
			parts := slices.Clone(p.words)
			if p.name != "" {
				parts = append([]string{p.name}, parts...)
			}
			if p.files {
				parts = append(parts, "files")
			}
			got = append(got, strings.Join(parts, " "))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", use, got, want)
		}
	}
}

// TestNext: what stands behind the words of a usage line.
func TestNext(t *testing.T) {
	line := places("tools TOOLSET [list | get TOOL | enable TOOL|GLOB… | rename TOOL NEW | describe TOOL TEXT]")
	for args, want := range map[string]string{
		"": "TOOLSET", "demo get": "TOOL", "demo enable": "TOOL", "demo enable a b c": "TOOL", "demo rename": "TOOL", "demo rename a": "", "demo get a": "", "demo list": "", "demo x y z": "",
	} {
		if got := next(line, strings.Fields(args)).name; got != want {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
	if p := next(line, []string{"demo"}); !slices.Contains(p.words, "get") {
		t.Errorf("%+v", p)
	}
	if p := next(places("add SPEC|URL"), nil); !p.files {
		t.Errorf("%+v", p)
	}
	if p := next(places("connector TOOLSET [list | add SPEC|URL | set CONNECTOR]"), []string{"demo", "add"}); !p.files {
		t.Errorf("%+v", p)
	}
}
