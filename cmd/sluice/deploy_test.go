package main

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/cmd/internal/systemd"
)

// deployed is a node started as a file of deploy/ says, but on other addresses.
type deployed struct {
	args, env []string // the program's name is not in args
	dir       string   // where it runs
	states    chan string
	cancel    context.CancelFunc
	err       chan error
	said      *strings.Builder // read it when err was received
}

// exited is what the test itself tells when a node has ended.
const exited = "EXITED"

// start runs the program like a service manager would, and waits until it is ready.
func (d *deployed) start(t *testing.T) {
	t.Helper()
	program, err := exec.LookPath("sluice") // the test binary, by that name
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "notify")
	ln, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, program, d.args...)
	d.states, d.err, d.cancel, d.said = make(chan string, 8), make(chan error, 1), cancel, &strings.Builder{}
	cmd.Dir, cmd.Env, cmd.Stderr = d.dir, append([]string{"NOTIFY_SOCKET=" + socket}, d.env...), d.said
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := ln.Read(b)
			if err != nil {
				return
			}
			d.states <- string(b[:n])
		}
	}()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		d.err <- cmd.Wait()
		_ = systemd.Notify(socket, exited) // after all that the node told
	}()
	d.await(t, systemd.Ready)
}

// await waits until the node tells a state.
func (d *deployed) await(t *testing.T, state string) {
	t.Helper()
	switch said := <-d.states; {
	case said == exited:
		t.Fatalf("%v did not tell %s: %v\n%s", d.args, state, <-d.err, d.said)
	case !strings.Contains(said, state):
		t.Fatalf("the node tells %q, want %s", said, state)
	}
}

// stop ends the node, which tells that it stops.
func (d *deployed) stop(t *testing.T) {
	t.Helper()
	d.cancel()
	d.await(t, systemd.Stopping)
	<-d.err // it was told to stop
}

// alive asks a node, by the address file of its data directory, whether it is alive.
func alive(t *testing.T, file string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Get(strings.TrimSpace(string(b)) + "/livez")
	if err != nil {
		t.Fatal(err)
	}
	if _ = res.Body.Close(); res.StatusCode != http.StatusOK {
		t.Fatalf("/livez answers %s", res.Status)
	}
}

// unit reads the settings of a unit, and its environment file.
func unit(t *testing.T, file string) map[string][]string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, m := range regexp.MustCompile(`(?m)^(\w+)=(.*)$`).FindAllStringSubmatch(string(b), -1) {
		out[m[1]] = append(out[m[1]], m[2])
	}
	return out
}

// TestUnits starts what the units of deploy/systemd start: their command line, with the
// package's configuration, also when all of it is uncommented.
func TestUnits(t *testing.T) {
	etc, err := filepath.Abs("../../deploy/debian")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		unit, state, address string
		more                 []string
	}{
		{"sluice", "sluice", "endpoint", []string{"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}},
		{"sluice-edge", "sluice-edge", "operations", []string{"--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"}},
	} {
		t.Run(row.unit, func(t *testing.T) {
			u := unit(t, "../../deploy/systemd/"+row.unit+".service")
			if got := u["StateDirectory"]; len(got) != 1 || got[0] != row.state || u["Type"][0] != "notify" {
				t.Fatalf("StateDirectory=%v Type=%v", got, u["Type"])
			}
			states, credentials := t.TempDir(), t.TempDir()
			if err := os.Mkdir(filepath.Join(states, row.state), 0o700); err != nil {
				t.Fatal(err)
			}
			for _, c := range append(u["LoadCredential"], u["SetCredential"]...) {
				name, value, _ := strings.Cut(c, ":")
				if err := os.WriteFile(filepath.Join(credentials, name), []byte(value+"\n"), 0o400); err != nil && !os.IsPermission(err) {
					t.Fatal(err)
				}
			}
			control := "CONTROL_PLANE=" + unit(t, filepath.Join(etc, "edge.env"))["CONTROL_PLANE"][0]
			line := strings.NewReplacer(
				"/etc/sluice", etc, "%S", states, "%d", credentials, "$EDGE_FLAGS", "",
				"${CONTROL_PLANE}", strings.TrimPrefix(control, "CONTROL_PLANE="),
			).Replace(u["ExecStart"][0])
			if strings.ContainsAny(line, "%$") {
				t.Fatalf("what does this stand for? %s", line)
			}
			args := strings.Fields(line)
			if args[0] != "/usr/bin/sluice" {
				t.Fatalf("the unit starts %s", args[0])
			}
			dir := filepath.Join(states, row.state)
			d := &deployed{args: append(args[1:], row.more...), dir: dir}
			d.start(t)
			alive(t, filepath.Join(dir, row.address))
			d.stop(t)
		})
	}
	for _, name := range []string{"sluice.yaml", "edge.yaml"} {
		b, err := os.ReadFile(filepath.Join(etc, name))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, regexp.MustCompile(`(?m)^#(\S)`).ReplaceAll(b, []byte("$1")), 0o600); err != nil {
			t.Fatal(err)
		}
		program, err := exec.LookPath("sluice")
		if err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(program, "version", "--config", file).CombinedOutput(); err != nil {
			t.Errorf("%s, uncommented: %v\n%s", name, err, out)
		}
	}
}

// TestUnitSandbox has systemd judge the units: below 2.5 of 10 is what it calls OK for a
// service that talks to the network.
func TestUnitSandbox(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("needs systemd-analyze")
	}
	units, err := filepath.Glob("../../deploy/systemd/*.service")
	if err != nil || len(units) != 2 {
		t.Fatal(units, err)
	}
	for _, file := range units {
		if out, err := exec.Command(analyze, "security", "--offline=true", "--threshold=25", "--no-pager", file).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		out, err := exec.Command(analyze, "verify", file).CombinedOutput()
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, filepath.Base(file)) && !strings.Contains(line, "/usr/bin/sluice is not executable") {
				t.Errorf("%v: %s", err, line)
			}
		}
		if text, err := os.ReadFile(file); err != nil || regexp.MustCompile(`(?m)^MemoryDenyWriteExecute=`).Match(text) {
			t.Errorf("%s denies the WebAssembly compiler its memory, %v", file, err)
		}
	}
}
