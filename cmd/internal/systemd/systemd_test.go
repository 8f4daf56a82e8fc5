package systemd_test

import (
	"net"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/sluicegate/sluice/cmd/internal/systemd"
)

func TestNotify(t *testing.T) {
	sockets := []string{filepath.Join(t.TempDir(), "notify")}
	if runtime.GOOS == "linux" {
		sockets = append(sockets, "@sluice-"+filepath.Base(t.TempDir()))
	}
	for _, socket := range sockets {
		ln, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ln.Close() })
		if err := systemd.Notify(socket, systemd.Ready, systemd.Status("serves\non one line")); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 256)
		n, err := ln.Read(b)
		if want := "READY=1\nSTATUS=serves on one line"; err != nil || string(b[:n]) != want {
			t.Errorf("%s: %q, %v; want %q", socket, b[:n], err, want)
		}
	}
	if err := systemd.Notify("", systemd.Ready); err != nil {
		t.Errorf("without a service manager: %v", err)
	}
	if err := systemd.Notify(filepath.Join(t.TempDir(), "none"), systemd.Ready); err == nil {
		t.Error("no error for a socket that is not there")
	}
}
