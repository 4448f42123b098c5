package sqlite

import (
	"bufio"
	"os"
	"strings"
	"syscall"
)

// remoteTypes are the file systems of statfs(2) that other machines may share.
// The numbers are the kernel's, from linux/magic.h and the file systems' own
// headers.
var remoteTypes = map[uint32]string{
	0x6969:     "nfs",
	0x517b:     "smb",
	0xfe534d42: "smb2",
	0xff534d42: "cifs",
	0x01021997: "9p",
	0x5346414f: "afs",
	0x6b414653: "afs",
	0x73757245: "coda",
	0x564c:     "ncp",
	0x00c36400: "ceph",
	0x0bd00bd0: "lustre",
	0x47504653: "gpfs",
	0x7461636f: "ocfs2",
	0x01161970: "gfs2",
	0xaad7aaea: "panfs",
	0x786f4256: "vboxsf",
	0xbacbacbc: "vmhgfs",
}

const fuseType = 0x65735546

// localFuse are the FUSE file systems that keep their files on this machine. Of
// any other, such as sshfs or a mounted bucket, one cannot know.
var localFuse = map[string]bool{
	"fuseblk": true, "fuse.bindfs": true, "fuse.gocryptfs": true, "fuse.encfs": true, "fuse.cryfs": true,
	"fuse.fuse-overlayfs": true, "fuse.ntfs-3g": true, "fuse.lxcfs": true,
}

func fileSystem(dir string) (name string, remote bool, err error) {
	var info syscall.Statfs_t
	if err := syscall.Statfs(dir, &info); err != nil {
		return "", false, err
	}
	kind := uint32(info.Type)
	if kind != fuseType {
		name, remote = remoteTypes[kind], remoteTypes[kind] != ""
		return name, remote, nil
	}
	name, err = mountType(dir)
	return name, !localFuse[name], err
}

// mountType looks a directory's file system up among the mounts.
func mountType(dir string) (string, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // only read
	return mountTypeIn(bufio.NewScanner(f), dir)
}

// mountTypeIn reads lines such as
//
//	36 35 98:0 / /mnt/a rw,noatime shared:1 - fuse.sshfs host:/dir rw
//
// The longest mount point above dir counts, and of equal ones the last.
func mountTypeIn(lines *bufio.Scanner, dir string) (string, error) {
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	name, longest := "fuse", -1
	for lines.Scan() {
		mount, source, ok := strings.Cut(lines.Text(), " - ")
		left, right := strings.Fields(mount), strings.Fields(source)
		if !ok || len(left) < 5 || len(right) < 1 {
			continue
		}
		point := unescape.Replace(left[4])
		within := point == "/" || dir == point || strings.HasPrefix(dir, point+"/")
		if within && len(point) >= longest {
			name, longest = right[0], len(point)
		}
	}
	return name, lines.Err()
}
