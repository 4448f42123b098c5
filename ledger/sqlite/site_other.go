//go:build !linux && !darwin

package sqlite

// bootID cannot be told here.
func bootID() string { return "" }
