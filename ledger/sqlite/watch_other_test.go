//go:build !linux

package sqlite

import "testing"

// watchOpens needs inotify.
func watchOpens(*testing.T, string) func() int { return func() int { return 0 } }
