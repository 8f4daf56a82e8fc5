//go:build unix

package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// kept is a keeper that was started, and the node's ends of its pipes.
type kept struct {
	in, out, err    *os.File
	control, report *os.File
	wait            func() error
}

// startKeeper starts a keeper; program is the command that [Keep] is called in first.
func startKeeper(program []string) (*kept, error) {
	k := &kept{}
	var theirs, ours []*os.File
	closeAll := func(list []*os.File) {
		for _, f := range list {
			_ = f.Close() // nothing was written
		}
	}
	for _, p := range []struct {
		to    **os.File
		write bool // the node writes
	}{{&k.in, true}, {&k.out, false}, {&k.err, false}, {&k.control, true}, {&k.report, false}} {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(theirs)
			closeAll(ours)
			return nil, fmt.Errorf("starting a command: %w", err)
		}
		own, its := r, w
		if p.write {
			own, its = w, r
		}
		*p.to = own
		theirs, ours = append(theirs, its), append(ours, own)
	}
	cmd := exec.CommandContext(context.Background(), program[0], program[1:]...) //nolint:gosec // this program
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = theirs[0], theirs[1], theirs[2], theirs[3:]
	cmd.Env = []string{"GOGC=50", "GOMAXPROCS=1", "GOTRACEBACK=none"} // of the keeper: the command's come with the order
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal, and no signals of the node's group
	if err := cmd.Start(); err != nil {
		closeAll(theirs)
		closeAll(ours)
		return nil, fmt.Errorf("starting a command: %w", err)
	}
	closeAll(theirs)
	k.wait = cmd.Wait
	return k, nil
}
