//go:build !unix

package sqlite

import "io/fs"

// othersMay is false: access is not a matter of mode bits here.
func othersMay(fs.FileMode) bool { return false }

// syncDir does nothing: a directory cannot be synced here.
func syncDir(string) error { return nil }
