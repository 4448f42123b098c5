package sqlite

import (
	"os"
	"strings"
)

// bootID is the same for all containers on a kernel, and another after a restart.
func bootID() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // where it is not shown, the host's name has to do
	return strings.TrimSpace(string(id))
}
