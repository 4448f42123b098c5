package sqlite

import (
	"os"
	"syscall"
	"time"
)

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// syncFile syncs as the store does here, see setProcess.
func syncFile(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
