// Package diskfault tells a fault of a disk from other errors, so that whoever reads the
// error learns what to fix: a full disk, a used-up quota, a read-only file system, a
// missing permission, a disk that fails. It knows the errors of the operating system
// only; those of a database are the database's package to tell.
//
// Every function may be called by many goroutines.
package diskfault
