//go:build !unix

package sqlite

import "io/fs"

// othersMay is false: access is not a matter of mode bits here.
func othersMay(fs.FileMode) bool { return false }

// fileID is the path: the number of a file is not to be had here.
func fileID(file identity) (device, number string) { return "", file.path }
