//go:build unix

package process

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// watchEvery is how often the processes of a command are looked at.
	watchEvery = 500 * time.Millisecond
	// exitGrace is how long a command may take to end after its input was closed (MCP
	// "Shutdown"), and termGrace how long after SIGTERM.
	exitGrace = 500 * time.Millisecond
	termGrace = 2 * time.Second
	// killFor bounds how long processes that fork while they are killed are killed.
	killFor = 5 * time.Second
	// maxOrder is the longest order of a node: a command with its environment.
	maxOrder = 4 << 20
)

// Keep does the work of a keeper when the program was started as one, and reports
// whether it was: then nothing is left to do. A program that uses [Servers] calls it
// first in main.
func Keep(args []string) bool {
	if len(args) != 2 || args[1] != keeperArg {
		return false
	}
	syscall.CloseOnExec(3)
	syscall.CloseOnExec(4)
	orders, out := os.NewFile(3, "orders"), os.NewFile(4, "report")
	r := keep(orders)
	_ = json.NewEncoder(out).Encode(&r) // a node that has gone reads nothing
	return true
}

func keep(orders *os.File) (r report) {
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	in := bufio.NewReader(orders)
	o, err := readOrder(in)
	if err != nil {
		return report{Refused: "the node gave no valid order"}
	}
	cmd := &exec.Cmd{Args: o.Argv, Env: o.Env, Dir: o.Dir, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	if cmd.Path, err = look(o.Argv[0], o.Env); err != nil {
		return report{Refused: err.Error()}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if o.NetworkOff {
		if err := withoutNetwork(cmd.SysProcAttr); err != nil {
			return report{Refused: err.Error()}
		}
	}
	if err := confine(o); err != nil {
		return report{Refused: err.Error()}
	}
	if err := cmd.Start(); err != nil {
		return report{Refused: refusal(o, err)}
	}
	_, _ = os.Stdin.Close(), os.Stdout.Close() // so that the node sees when the command closes its own
	own := &tree{main: cmd.Process.Pid}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		r.Exit = ending(cmd.Wait())
	}()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, in) // until the node closes it, or has gone
	}()
	killed := ""
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
watch:
	for {
		select {
		case <-exited:
			break watch
		case <-gone:
			own.end(exited)
			break watch
		case <-end:
			own.end(exited)
			break watch
		case <-tick.C:
			if killed = own.excess(o); killed != "" {
				break watch
			}
		}
	}
	own.killAll()
	<-exited
	if killed != "" {
		return report{Killed: killed}
	}
	return r
}

func readOrder(in *bufio.Reader) (*order, error) {
	line, err := readLine(in, maxOrder)
	if err != nil {
		return nil, err
	}
	o := new(order)
	if err := json.Unmarshal(line, o); err != nil {
		return nil, err
	}
	if len(o.Argv) == 0 {
		return nil, errors.New("there is no command")
	}
	return o, nil
}

// look finds the program in the PATH that the command gets.
func look(name string, env []string) (string, error) {
	if strings.ContainsRune(name, '/') {
		return name, nil
	}
	for _, pair := range env {
		if path, ok := strings.CutPrefix(pair, "PATH="); ok {
			if err := os.Setenv("PATH", path); err != nil {
				return "", err
			}
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("the program %q is not in the PATH of the node", name)
	}
	return path, nil
}

// refusal says why a command could not be started.
func refusal(o *order, err error) string {
	if o.NetworkOff && (errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EACCES)) {
		return "this system does not allow network namespaces (user namespaces are not permitted), so the command cannot be started without a network"
	}
	return fmt.Sprintf("the program %q cannot be started: %v", o.Argv[0], errnoOf(err))
}

// errnoOf is the plain cause: the text of the error repeats the path.
func errnoOf(err error) error {
	if no, ok := errors.AsType[syscall.Errno](err); ok {
		return no
	}
	return err
}

// ending says how a command ended.
func ending(err error) string {
	exit, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return "it ended with status 0"
	case !ok:
		return "it ended"
	}
	if w, ok := exit.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return "it was ended by the signal " + w.Signal().String()
	}
	return "it ended with status " + strconv.Itoa(exit.ExitCode())
}

// end ends the command as MCP has it ("Shutdown"): its input is closed already.
func (t *tree) end(exited <-chan struct{}) {
	for _, step := range []struct {
		wait   time.Duration
		signal syscall.Signal
	}{{exitGrace, syscall.SIGTERM}, {termGrace, 0}} {
		timer := time.NewTimer(step.wait)
		select {
		case <-exited:
			timer.Stop()
			return
		case <-timer.C:
			if step.signal != 0 {
				t.signal(step.signal)
			}
		}
	}
}

// killAll kills until nothing is left.
func (t *tree) killAll() {
	until := time.Now().Add(killFor)
	for t.signal(syscall.SIGKILL) && time.Now().Before(until) {
		time.Sleep(5 * time.Millisecond)
	}
}
