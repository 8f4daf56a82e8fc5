package diskfault

import "syscall"

// Codes of Windows (System Error Codes, WinError.h).
var (
	full     = []error{syscall.Errno(112), syscall.Errno(39)}  // ERROR_DISK_FULL, ERROR_HANDLE_DISK_FULL
	quota    = []error{syscall.Errno(1295)}                    // ERROR_DISK_QUOTA_EXCEEDED
	readOnly = []error{syscall.Errno(19)}                      // ERROR_WRITE_PROTECT
	failing  = []error{syscall.Errno(23), syscall.Errno(1117)} // ERROR_CRC, ERROR_IO_DEVICE
	noFiles  = []error{syscall.Errno(4)}                       // ERROR_TOO_MANY_OPEN_FILES
)
