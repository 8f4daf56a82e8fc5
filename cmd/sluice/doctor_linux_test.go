package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/sluicegate/sluice/cmd/internal/datadir"
)

// TestDoctorOfAnotherUser: what this user may not look at is not called missing: a backup would be
// restored over it.
func TestDoctorOfAnotherUser(t *testing.T) {
	dir := t.TempDir()
	keys := filepath.Join(dir, filepath.Dir(datadir.MasterKey))
	if err := os.Mkdir(keys, 0); err != nil {
		t.Fatal(err)
	}
	closed := filepath.Join(dir, "closed")
	if err := os.Mkdir(closed, 0); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 { // who may look at everything is somebody else for the files of this thread
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := syscall.Setfsuid(65534); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = syscall.Setfsuid(0) }() // it may
	}
	file := filepath.Join(dir, filepath.FromSlash(datadir.MasterKey))
	d := &doctor{app: &app{}}
	if d.private("keys", file) {
		t.Error("keys that nobody could look at are good")
	}
	d.Flags.DataDir = dir
	d.dataFiles()
	d.data(t.Context(), closed)
	said := 0
	for _, f := range d.findings {
		if strings.Contains(f.Detail, "keys") || strings.Contains(f.Detail, "closed") {
			said++
			if f.Result != checkFail || !strings.Contains(f.Detail, "this user may not look at") || strings.Contains(f.Remedy, "backup") {
				t.Errorf("%+v", f)
			}
		}
	}
	if said < 5 {
		t.Errorf("%+v", d.findings)
	}
}
