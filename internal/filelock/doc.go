// Package filelock locks files between processes, and between the parts of one. A
// lock goes with the process that holds it, however it ends, so no lock is ever left
// behind. It is advisory: only who asks for the lock is held up by it.
//
// Every function may be called by many goroutines.
package filelock

import "errors"

// ErrLocked is returned when somebody else holds a lock that excludes the one that is
// wanted. Other errors are of the file system: a directory that cannot be written, a
// full disk.
var ErrLocked = errors.New("locked by another process")
