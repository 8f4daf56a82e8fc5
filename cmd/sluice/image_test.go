package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/config"
)

// imageOf reads what the image of a Dockerfile runs: environment, command and health check.
func imageOf(t *testing.T, file string) (env, command, health []string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	words := func(pattern string) (out []string) {
		m := regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1)
		if len(m) == 0 {
			t.Fatalf("%s has no %s", file, pattern)
		}
		if err := json.Unmarshal([]byte(m[len(m)-1][1]), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, m := range regexp.MustCompile(`(?m)^ENV (\S+=\S+)$`).FindAllStringSubmatch(text, -1) {
		env = append(env, m[1])
	}
	return env, append(words(`(?m)^ENTRYPOINT (\[.*\])$`), words(`(?m)^CMD (\[.*\])$`)...), words(`(?m)^HEALTHCHECK .*CMD (\[.*\])$`)
}

// TestImageHealth runs the command line and the health check of the image, in each role,
// with the image's environment and a directory in the place of /data.
func TestImageHealth(t *testing.T) {
	program, err := exec.LookPath("sluice") // the test binary, by that name
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"../../Dockerfile", "../../deploy/Dockerfile.release"} {
		env, command, health := imageOf(t, file)
		for role, more := range map[string][]string{
			"as it is": {"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"},
			"control":  {"--role", "control", "--admin-listen", "127.0.0.1:0"},
			"edge":     {"--role", "edge", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--control-plane", "http://127.0.0.1:1", "--join-token-file", "join"},
		} {
			t.Run(filepath.Base(file)+" "+role, func(t *testing.T) {
				dir, empty := t.TempDir(), t.TempDir()
				if err := os.WriteFile(filepath.Join(empty, "join"), []byte("a token that nobody is asked about\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				run := func(args []string) *exec.Cmd {
					args = append([]string{}, args...)
					for i := range args {
						args[i] = strings.ReplaceAll(args[i], "/data", dir)
					}
					cmd := exec.CommandContext(ctx, program, args[1:]...)
					cmd.Dir = empty
					for _, e := range env {
						cmd.Env = append(cmd.Env, strings.ReplaceAll(e, "/data", dir))
					}
					cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
					return cmd
				}
				if out, err := run(health).CombinedOutput(); err == nil {
					t.Fatalf("healthy before it runs: %s", out)
				}
				node := run(append(append([]string{}, command...), more...))
				if err := node.Start(); err != nil {
					t.Fatal(err)
				}
				tick := time.NewTicker(50 * time.Millisecond)
				defer tick.Stop()
				for { // another program starts; ctx bounds it
					out, err := run(health).CombinedOutput()
					if err == nil {
						break
					}
					select {
					case <-tick.C:
					case <-ctx.Done():
						t.Fatalf("the health check fails: %s", out)
					}
				}
				cancel()
				_ = node.Wait() // it was told to stop
			})
		}
	}
}

// TestLiveOf: the health check finds the first process of a container by its own command
// line, which may say other things than the image does.
func TestLiveOf(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"endpoint": "http://127.0.0.1:9", "c.yaml": "admin-listen: 127.0.0.1:8888\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string]string{
		"serve --data X": "http://127.0.0.1:7301",
		"serve --data X --admin-listen 0.0.0.0:99":            "http://127.0.0.1:99",
		"serve --data X --admin-listen :98":                   "http://127.0.0.1:98",
		"serve --data=X --admin-listen [::1]:97":              "http://[::1]:97",
		"--data " + dir + " serve --admin-listen 127.0.0.1:0": "http://127.0.0.1:9",
		"serve --config " + dir + "/c.yaml --data X":          "http://127.0.0.1:8888",
		"serve --role edge --data X":                          "http://127.0.0.1:7302",
		"serve --role edge --ops-listen 0.0.0.0:96":           "http://127.0.0.1:96",
		"run --demo": "http://127.0.0.1:7301",
	} {
		a := &app{Session: command.Session{Env: config.ReadEnvironment(func(string) string { return "" })}}
		a.mainProcess = func() []string { return strings.Fields(args) }
		if at, err := a.findLive((*app).rootCommand); err != nil || at.url != want {
			t.Errorf("%s: %s, %v; want %s", args, at.url, err, want)
		}
	}
}
