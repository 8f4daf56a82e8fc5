// Package atomicfile replaces files so that after a crash or a power cut a
// reader finds the whole old content or the whole new content, and after a
// successful return the new one.
//
// The order is: write a temporary file in the same directory, fsync it, rename
// it over the target, fsync the directory. Dropping any step loses acknowledged
// data on a power cut; the tests prove it with a file system that forgets
// whatever was not synced (package atomicfiletest).
//
// It is not a lock: of two concurrent writers of one path the last rename wins,
// and each sees a complete file. Functions may be called from many goroutines.
package atomicfile
