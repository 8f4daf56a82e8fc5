package main

import (
	"testing"

	"github.com/sluicegate/sluice/internal/clientconfig"
)

func TestShellWord(t *testing.T) {
	f := func(s string) {
		t.Helper()
		words := shellSplit("x " + clientconfig.ShellWord(s) + " y")
		if len(words) != 3 || words[1] != s {
			t.Errorf("shellWord(%q) = %s, which a shell reads as %q", s, clientconfig.ShellWord(s), words)
		}
	}
	f("plain-word_1.0/x:y")
	f("")
	f("it's")
	f(`{"a":"b c","d":"'\\"}`)
	f("$HOME `x` !! * ~ ; & |")
}
