package sqlite

import (
	"bufio"
	"strings"
	"testing"
)

func TestF056MountTable(t *testing.T) {
	t.Parallel()
	table := `22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
40 22 0:30 / /mnt rw - fuseblk /dev/sdb1 rw
41 40 0:31 / /mnt/with\040space rw shared:1 - fuse.sshfs host:/dir rw
42 40 0:32 / /mnt/data rw - tmpfs none rw
43 40 0:33 / /mnt/data rw - fuse.s3fs bucket rw
`
	for dir, want := range map[string]string{
		"/srv/a": "ext4", "/mnt/x": "fuseblk", "/mnt/with space/a": "fuse.sshfs", "/mnt/data": "fuse.s3fs", "/mnt/database": "fuseblk",
	} {
		got, err := mountTypeIn(bufio.NewScanner(strings.NewReader(table)), dir)
		if err != nil || got != want {
			t.Errorf("mountTypeIn(%s) = %s, %v; want %s", dir, got, err, want)
		}
	}
}
