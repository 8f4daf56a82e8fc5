//go:build unix

package main

import (
	"bytes"
	"errors"
	"os/exec"
	"syscall"
)

// combinedOutput is that of [exec.Cmd]. What the command started and left behind ends with
// it: a test that a mutant keeps from its end leaves servers.
func combinedOutput(cmd *exec.Cmd) ([]byte, error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	err := cmd.Wait()
	if kill := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); kill != nil && !errors.Is(kill, syscall.ESRCH) {
		err = errors.Join(err, kill)
	}
	return out.Bytes(), err
}
