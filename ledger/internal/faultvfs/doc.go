// Package faultvfs is support for tests: the file system that SQLite sees, with
// every write and sync watched, remembered, and made to fail on demand.
//
// It puts itself between SQLite and its default VFS by replacing functions in
// tables of C, which exist once for a process. So this package, unlike the rest,
// has state of its own.
package faultvfs
