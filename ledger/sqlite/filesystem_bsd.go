//go:build darwin || freebsd

package sqlite

import "syscall"

const mountLocal = 0x1000 // MNT_LOCAL: the file system is on this machine

func fileSystem(dir string) (name string, remote bool, err error) {
	var info syscall.Statfs_t
	if err := syscall.Statfs(dir, &info); err != nil {
		return "", false, err
	}
	for _, c := range info.Fstypename {
		if c == 0 {
			break
		}
		name += string(rune(byte(c)))
	}
	return name, uint64(info.Flags)&mountLocal == 0, nil
}
