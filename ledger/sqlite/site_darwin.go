package sqlite

import "syscall"

func bootID() string {
	id, _ := syscall.Sysctl("kern.bootsessionuuid") // where it is not shown, the host's name has to do
	return id
}
