package resident

import (
	"bytes"
	"context"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestReleaseProgram: the pages of the program go, and it runs on.
func TestReleaseProgram(t *testing.T) {
	if list, err := os.ReadFile("/proc/self/smaps"); err != nil || !bytes.Contains(list, []byte("\nAnonymous:")) {
		t.Skip("the system does not tell what is resident")
	}
	before := files(t)
	n := ReleaseProgram()
	if after := files(t); n < 1<<20 || after >= before { // what runs meanwhile comes back
		t.Errorf("%d KB of the program were let go, %d KB of files are resident instead of %d", n>>10, after>>10, before>>10)
	}
}

// files is how much of files is resident, in bytes.
func files(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "RssFile:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Skip("the system does not tell how much of files is resident")
	return 0
}

// TestUnchanged: no mapping is let go that has pages of its own, could be written to, is
// shared, or is of something else.
func TestUnchanged(t *testing.T) {
	entry := func(head, resident, own string) string {
		return head + "\nSize:  8 kB\nRss:  " + resident + " kB\nPss: 4 kB\nAnonymous:   " + own + " kB\nVmFlags: rd ex mr mw me\n"
	}
	list := entry("00400000-00600000 r-xp 00000000 fe:00 12 /usr/bin/sluice", "8", "0") +
		entry("00600000-00700000 r--p 00200000 fe:00 12 /usr/bin/sluice", "4", "0") +
		entry("00700000-00800000 rw-p 00300000 fe:00 12 /usr/bin/sluice", "4", "0") +
		entry("00800000-00900000 r--p 00300000 fe:00 12 /usr/bin/sluice", "4", "4") + // relocated
		entry("00900000-00a00000 r--s 00300000 fe:00 12 /usr/bin/sluice", "4", "0") +
		entry("00a00000-00b00000 r-xp 00000000 fe:00 12 /usr/bin/sluiceX", "4", "0") +
		entry("00b00000-00c00000 r-xp 00000000 fe:00 12 /usr/bin/sluice", "0", "0") + // nothing resident
		entry("00c00000-00d00000 r-xp 00000000 00:00 0", "4", "0") +
		entry("00e00000-00d00000 r-xp 00000000 fe:00 12 /usr/bin/sluice", "4", "0") +
		entry("zz-00d00000 r-xp 00000000 fe:00 12 /usr/bin/sluice", "4", "0") +
		"00d00000-00e00000 r-xp 00000000 fe:00 12 /usr/bin/sluice\nRss: 4 kB\n" // cut
	want := []mapping{{0x400000, 0x600000, 8 << 10}, {0x600000, 0x700000, 4 << 10}}
	if got := unchanged(strings.NewReader(list), "/usr/bin/sluice"); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestRun: it goes on until it is told to end.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		begun := time.Now()
		var times []time.Duration
		done := make(chan struct{})
		go func() {
			run(ctx, func() { times = append(times, time.Since(begun)) })
			close(done)
		}()
		time.Sleep(settled + slow + 2*again + 1)
		cancel()
		<-done
		if want := []time.Duration{settled, settled + slow, settled + slow + again, settled + slow + 2*again}; !slices.Equal(times, want) {
			t.Errorf("memory was given back after %v, want %v", times, want)
		}
	})
}

// TestBusy: a process that works is left alone.
func TestBusy(t *testing.T) {
	limit := time.Duration(busyShare * float64(time.Second))
	if busy(limit, time.Second) || !busy(limit+1, time.Second) || busy(0, settled) {
		t.Errorf("busy from %v of a second on", limit)
	}
	before := processorTime()
	for begun := time.Now(); processorTime() == before; {
		if time.Since(begun) > 10*time.Second {
			t.Fatal("a loop uses no processor time")
		}
	}
}
