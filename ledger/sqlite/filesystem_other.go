//go:build !linux && !darwin && !freebsd

package sqlite

import "strings"

// fileSystem knows of remote files only where their name says so.
func fileSystem(dir string) (name string, remote bool, err error) {
	remote = strings.HasPrefix(dir, `\\`) && !strings.HasPrefix(dir, `\\?\`) || strings.HasPrefix(dir, `\\?\UNC\`)
	return "share", remote, nil
}
