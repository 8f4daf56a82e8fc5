package command

import (
	"testing"
	"time"

	"github.com/sluicegate/sluice/cmd/internal/config"
)

func TestSpecSize(t *testing.T) {
	for text, ok := range map[string]bool{"1": true, "64": true, "0": false, "65": false, "-1": false, "12MB": false, "": false} {
		var s config.SpecSize
		if err := s.Set(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
	a := &Session{Config: config.File{MaxSpec: 48}}
	if got := a.SpecLimits().MaxBytes; got != 48<<20 {
		t.Errorf("from the configuration file: %d bytes", got)
	}
	a.Flags.MaxSpec = 2
	if got := a.SpecLimits().MaxBytes; got != 2<<20 {
		t.Errorf("the flag wins: %d bytes", got)
	}
}

func TestPluginGrace(t *testing.T) {
	f := func(file time.Duration, env string, want time.Duration, ok bool) {
		t.Helper()
		a := &Session{Config: config.File{PluginGrace: config.Duration(file)}, Env: config.Environment{Grace: env}}
		if got, err := a.PluginGrace(); got != want || (err == nil) != ok {
			t.Errorf("%s in the file, %q: %s, %v", file, env, got, err)
		}
	}
	f(0, "", 0, true)
	f(time.Second, "", time.Second, true)
	f(time.Second, "0s", 0, true)
	f(0, "1m", maxPluginGrace, true)
	f(maxPluginGrace+1, "", 0, false)
	f(0, "61s", 0, false)
	f(0, "-1s", 0, false)
	f(0, "soon", 0, false)
}
