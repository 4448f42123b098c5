package faultvfs

import (
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// What C calls a pointer is a uintptr to the translated SQLite. It leads outside
// of Go's memory, which never moves; but converting it to unsafe.Pointer is what
// vet warns of, with good reason everywhere else. Reading a pointer from where
// the number lies says the same.

// at returns what is at an address of C.
func at[T any](p uintptr) *T { return *(**T)(unsafe.Pointer(&p)) }

// function returns the Go function behind a function pointer of C.
func function[F any](p uintptr) F { return *(*F)(unsafe.Pointer(&p)) }

// pointer makes a function pointer of C from a function that is no closure: the
// garbage collector does not see what C keeps.
func pointer[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }

type (
	openFunc     = func(t *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32
	deleteFunc   = func(t *libc.TLS, vfs, name uintptr, syncDir int32) int32
	closeFunc    = func(t *libc.TLS, file uintptr) int32
	writeFunc    = func(t *libc.TLS, file, buf uintptr, n int32, offset int64) int32
	truncateFunc = func(t *libc.TLS, file uintptr, size int64) int32
	syncFunc     = func(t *libc.TLS, file uintptr, flags int32) int32

	vfsTable  = lib.Tsqlite3_vfs
	fileTable = lib.Tsqlite3_io_methods
)

// allocate returns memory of C with a copy of v in it. It is never freed:
// SQLite may use it as long as the process lives.
func allocate[T any](t *libc.TLS, v T) uintptr {
	p := libc.Xmalloc(t, libc.Tsize_t(unsafe.Sizeof(v)))
	if p == 0 {
		panic("out of memory")
	}
	*at[T](p) = v
	return p
}
