//go:build unix && !linux

package process

import (
	"errors"
	"syscall"
)

// tree is the process group of a command. A process that leaves its group is not found
// on this system, and neither memory nor processes are counted.
type tree struct{ main int }

func confine(*order) error {
	none := syscall.Rlimit{}
	return syscall.Setrlimit(syscall.RLIMIT_CORE, &none)
}

func withoutNetwork(*syscall.SysProcAttr) error {
	return errors.New("only Linux can start a command without a network")
}

// signal sends a signal to the group and reports whether it has processes.
func (t *tree) signal(s syscall.Signal) bool { return syscall.Kill(-t.main, s) == nil }

func (t *tree) excess(*order) string { return "" }
