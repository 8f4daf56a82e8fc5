//go:build !windows

package diskfault

import "syscall"

var (
	full     = []error{syscall.ENOSPC}
	quota    = []error{syscall.EDQUOT}
	readOnly = []error{syscall.EROFS}
	failing  = []error{syscall.EIO}
	noFiles  = []error{syscall.EMFILE, syscall.ENFILE}
)
