package faultvfs

import (
	"fmt"
	"strings"
	"sync"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// FS is SQLite's file system under watch. It is safe for concurrent use.
type FS struct {
	name string
	base uintptr // the default VFS

	mu     sync.Mutex
	events []Event
	fail   map[fault]int32
	syncs  map[string]int // by suffix of the path
	fast   bool
}

// Kind is what an event did.
type Kind uint8

// The kinds of events.
const (
	Write Kind = iota + 1
	Truncate
	Sync
	Delete
	Mark // by the test
)

// Event is a change of a file, in the order in which they happened.
type Event struct {
	Kind   Kind
	Path   string
	Offset int64  // of a Write; the new size of a Truncate
	Data   []byte // of a Write
	Value  any    // of a Mark
}

type fault struct {
	kind   Kind
	suffix string
}

// registry leads from the pointers that SQLite hands to a callback to what they
// belong to.
var registry = struct {
	sync.Mutex
	systems map[uintptr]*FS       // by VFS
	files   map[uintptr]*openFile // by sqlite3_file
	tables  map[uintptr]uintptr   // our methods, by the ones they replace
}{
	systems: make(map[uintptr]*FS),
	files:   make(map[uintptr]*openFile),
	tables:  make(map[uintptr]uintptr),
}

type openFile struct {
	fs   *FS
	path string
	base *fileTable
}

// New registers a file system. Its name has to be new to the process.
func New(name string) (*FS, error) {
	t := libc.NewTLS()
	defer t.Close()
	if rc := lib.Xsqlite3_initialize(t); rc != lib.SQLITE_OK {
		return nil, fmt.Errorf("sqlite3_initialize: %d", rc)
	}
	f := &FS{name: name, base: lib.Xsqlite3_vfs_find(t, 0), fail: make(map[fault]int32), syncs: make(map[string]int)}
	cName, err := libc.CString(name)
	if err != nil {
		return nil, err
	}
	if lib.Xsqlite3_vfs_find(t, cName) != 0 {
		return nil, fmt.Errorf("there is a VFS %q already", name)
	}
	table := *at[vfsTable](f.base)
	table.FpNext, table.FzName = 0, cName
	table.FxOpen, table.FxDelete = pointer(onOpen), pointer(onDelete)
	vfs := allocate(t, table)
	registry.Lock()
	registry.systems[vfs] = f
	registry.Unlock()
	if rc := lib.Xsqlite3_vfs_register(t, vfs, 0); rc != lib.SQLITE_OK {
		return nil, fmt.Errorf("sqlite3_vfs_register: %d", rc)
	}
	return f, nil
}

// Name is what the parameter vfs of a connection has to be.
func (f *FS) Name() string { return f.name }

// Syncs is how often a file was synced whose path ends with suffix, such as
// "-wal".
func (f *FS) Syncs(suffix string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.syncs[suffix]
}

// Fail makes what is done to files whose paths end with suffix fail with a
// result code of SQLite, until the code is 0. Nothing is done to the file then.
func (f *FS) Fail(kind Kind, suffix string, code int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail[fault{kind, suffix}] = int32(code)
}

// SkipSyncs makes syncs succeed without doing anything: for tests that open many
// files of which nothing has to last.
func (f *FS) SkipSyncs() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fast = true
}

// Mark adds an event of the test's own.
func (f *FS) Mark(value any) { f.add(Event{Kind: Mark, Value: value}) }

// Events returns what has happened so far.
func (f *FS) Events() []Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.events[:len(f.events):len(f.events)]
}

func (f *FS) add(e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, e)
}

// intercept decides what becomes of an operation: an error code, or that it goes
// through do and is remembered when it succeeded.
func (f *FS) intercept(e Event, do func() int32) int32 {
	f.mu.Lock()
	for fault, code := range f.fail {
		if code != 0 && fault.kind == e.Kind && strings.HasSuffix(e.Path, fault.suffix) {
			f.mu.Unlock()
			return code
		}
	}
	skip := f.fast && e.Kind == Sync
	f.mu.Unlock()
	rc := int32(lib.SQLITE_OK)
	if !skip {
		rc = do()
	}
	if rc == lib.SQLITE_OK {
		f.add(e)
		if e.Kind == Sync {
			f.countSync(e.Path)
		}
	}
	return rc
}

func (f *FS) countSync(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	suffix := ""
	for _, s := range []string{"-wal", "-journal"} {
		if strings.HasSuffix(path, s) {
			suffix = s
		}
	}
	f.syncs[suffix]++
}

// The callbacks.

func onOpen(t *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32 {
	registry.Lock()
	f := registry.systems[vfs]
	registry.Unlock()
	rc := function[openFunc](at[vfsTable](f.base).FxOpen)(t, f.base, name, file, flags, out)
	methods := *at[uintptr](file) // the first field of a sqlite3_file
	if rc != lib.SQLITE_OK || methods == 0 {
		return rc
	}
	path := ""
	if name != 0 {
		path = libc.GoString(name)
	}
	registry.Lock()
	defer registry.Unlock()
	registry.files[file] = &openFile{f, path, at[fileTable](methods)}
	ours, ok := registry.tables[methods]
	if !ok {
		table := *at[fileTable](methods)
		table.FxClose, table.FxWrite = pointer(onClose), pointer(onWrite)
		table.FxTruncate, table.FxSync = pointer(onTruncate), pointer(onSync)
		ours = allocate(t, table)
		registry.tables[methods] = ours
	}
	*at[uintptr](file) = ours
	return rc
}

func lookUp(file uintptr) *openFile {
	registry.Lock()
	defer registry.Unlock()
	return registry.files[file]
}

func onClose(t *libc.TLS, file uintptr) int32 {
	o := lookUp(file)
	registry.Lock()
	delete(registry.files, file)
	registry.Unlock()
	return function[closeFunc](o.base.FxClose)(t, file)
}

func onWrite(t *libc.TLS, file, buf uintptr, n int32, offset int64) int32 {
	o := lookUp(file)
	data := make([]byte, n)
	copy(data, (*at[libc.RawMem](buf))[:n:n])
	return o.fs.intercept(Event{Kind: Write, Path: o.path, Offset: offset, Data: data}, func() int32 {
		return function[writeFunc](o.base.FxWrite)(t, file, buf, n, offset)
	})
}

func onTruncate(t *libc.TLS, file uintptr, size int64) int32 {
	o := lookUp(file)
	return o.fs.intercept(Event{Kind: Truncate, Path: o.path, Offset: size}, func() int32 {
		return function[truncateFunc](o.base.FxTruncate)(t, file, size)
	})
}

func onSync(t *libc.TLS, file uintptr, flags int32) int32 {
	o := lookUp(file)
	return o.fs.intercept(Event{Kind: Sync, Path: o.path}, func() int32 {
		return function[syncFunc](o.base.FxSync)(t, file, flags)
	})
}

func onDelete(t *libc.TLS, vfs, name uintptr, syncDir int32) int32 {
	registry.Lock()
	f := registry.systems[vfs]
	registry.Unlock()
	return f.intercept(Event{Kind: Delete, Path: libc.GoString(name)}, func() int32 {
		return function[deleteFunc](at[vfsTable](f.base).FxDelete)(t, f.base, name, syncDir)
	})
}
