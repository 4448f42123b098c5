//go:build !linux

package sqlite

import (
	"os"
	"time"
)

func cpuTime() time.Duration { return 0 } // not measured here

func syncFile(f *os.File) error { return f.Sync() }
