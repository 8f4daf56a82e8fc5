//go:build !windows

package diskfault_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/sluicegate/sluice/internal/diskfault"
	"github.com/sluicegate/sluice/internal/problem"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{syscall.ENOSPC, "the disk is full: /d/f"},
		{syscall.EDQUOT, "quota is used up: /d/f"},
		{syscall.EROFS, "read-only: /d/f"},
		{syscall.EACCES, "may not read or write what is needed: /d/f"},
		{syscall.EPERM, "may not"},
		{syscall.EIO, "input or output error: /d/f"},
		{syscall.EMFILE, "may open no more files"},
		{syscall.ENFILE, "may open no more files"},
		{syscall.ENOENT, ""},
		{syscall.EINVAL, ""},
	} {
		err := fmt.Errorf("save: %w", &fs.PathError{Op: "write", Path: "/d/f", Err: c.err})
		p := diskfault.Of(err)
		switch {
		case c.want == "" && p != nil:
			t.Errorf("%v is %q", c.err, p.Detail)
		case c.want != "" && (p == nil || !strings.Contains(p.Detail, c.want) || p.Kind != problem.Unavailable || p.Remedy == "" || !errors.Is(p, c.err)):
			t.Errorf("%v is %v", c.err, p)
		}
	}
	if p := diskfault.Of(nil); p != nil {
		t.Errorf("no error is %v", p)
	}
	if p := diskfault.Of(syscall.ENOSPC); p == nil || p.Detail != "the disk is full" {
		t.Errorf("without a file: %v", p)
	}
}
