package datadir

import "golang.org/x/sys/windows"

// Free is what this user may still write on the disk of a directory.
func Free(dir string) (free int64, known bool) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, false
	}
	var n uint64
	if err := windows.GetDiskFreeSpaceEx(name, &n, nil, nil); err != nil {
		return 0, false
	}
	return int64(min(n, 1<<62)), true
}
