package diskfault

import (
	"errors"
	"io/fs"

	"github.com/sluicegate/sluice/internal/problem"
)

// Causes that a database also tells, by codes of its own. where names the file or
// directory; "" is left out.

// Full is a disk without space.
func Full(where string) *problem.Error {
	return problem.New(problem.Unavailable, "the disk is full%s", at(where)).Fix("make room, or give the volume more; what was being written can then be tried again")
}

// ReadOnly is a file system or file that cannot be written.
func ReadOnly(where string) *problem.Error {
	return problem.New(problem.Unavailable, "the file system is read-only%s", at(where)).Fix("mount it for writing; a file system that turned read-only by itself has found a fault: look at the kernel's log")
}

// Forbidden is a missing permission of this process's user.
func Forbidden(where string) *problem.Error {
	return problem.New(problem.Unavailable, "this user may not read or write what is needed%s", at(where)).Fix("give it to the user that Sluice runs as (chown -R)")
}

// Failing is a disk that reports errors.
func Failing(where string) *problem.Error {
	return problem.New(problem.Unavailable, "the disk reports an input or output error%s", at(where)).Fix("look at the kernel's log; replace the disk and restore a backup")
}

func at(where string) string {
	if where == "" {
		return ""
	}
	return ": " + where
}

// Of returns what is wrong with the disk, or that the process has too many files open, as a
// [problem.Unavailable]; a fault of the disk names the file. It is nil when err reports no such fault.
func Of(err error) *problem.Error {
	where := ""
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		where = p.Path
	}
	var out *problem.Error
	switch {
	case err == nil:
		return nil
	case isAny(err, full):
		out = Full(where)
	case isAny(err, quota):
		out = problem.New(problem.Unavailable, "the disk quota is used up%s", at(where)).Fix("make room, or raise the quota")
	case isAny(err, readOnly):
		out = ReadOnly(where)
	case errors.Is(err, fs.ErrPermission):
		out = Forbidden(where)
	case isAny(err, noFiles):
		out = problem.New(problem.Unavailable, "this process may open no more files").Fix("raise ulimit -n, or LimitNOFILE= of its unit")
	case isAny(err, failing):
		out = Failing(where)
	default:
		return nil
	}
	return out.Because(err)
}

func isAny(err error, codes []error) bool {
	for _, c := range codes {
		if errors.Is(err, c) {
			return true
		}
	}
	return false
}
