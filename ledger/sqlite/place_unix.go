//go:build unix

package sqlite

import (
	"io/fs"
	"strconv"
	"syscall"
)

func othersMay(mode fs.FileMode) bool { return mode.Perm()&0o077 != 0 }

// fileID tells a file from all others of its device; the number of the device
// holds until the next boot.
func fileID(file identity) (device, number string) {
	info, ok := file.info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", file.path
	}
	return strconv.FormatUint(uint64(info.Dev), 10), strconv.FormatUint(uint64(info.Ino), 10)
}
