//go:build linux || darwin

package linear

import (
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestMapped: a mapped memory stays where it is when it grows, and its pages are given
// back when it is freed and when it was forgotten.
func TestMapped(t *testing.T) {
	there := func(b []byte) bool { return unix.Msync(b, unix.MS_ASYNC) == nil }
	allocate := func() *mapped {
		m, ok := Allocator{}.Allocate(page, 4*page).(*mapped)
		if !ok {
			t.Fatal("the memory is a slice")
		}
		return m
	}
	m := allocate()
	b := m.Reallocate(page)
	if unsafe.SliceData(m.Reallocate(4*page)) != unsafe.SliceData(b) {
		t.Error("a memory moved when it grew")
	}
	if !there(b) {
		t.Fatal("a memory is not mapped")
	}
	m.Free()
	if there(b) {
		t.Error("a memory that was freed is mapped")
	}

	b = allocate().Reallocate(page)
	for range 100 {
		if !there(b) {
			return
		}
		runtime.GC()
	}
	t.Error("a memory that was forgotten is mapped")
}
