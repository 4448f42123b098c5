// Package arch holds which package of this module may import which, as a table
// that its test compares with what the go command reports. It has no code of
// its own: read table_test.go.
package arch
