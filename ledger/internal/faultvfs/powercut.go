package faultvfs

// Disk is what a power cut leaves of files.
type Disk struct {
	files map[string]*cutFile
}

type cutFile struct {
	durable []byte  // as of the last sync
	pending []Event // since
}

// NewDisk returns an empty disk.
func NewDisk() *Disk { return &Disk{files: make(map[string]*cutFile)} }

// Apply lets an event happen: it is durable from the file's next sync on.
func (d *Disk) Apply(e Event) {
	switch e.Kind {
	case Mark:
		return
	case Delete:
		delete(d.files, e.Path)
		return
	}
	f := d.files[e.Path]
	if f == nil {
		f = &cutFile{}
		d.files[e.Path] = f
	}
	if e.Kind != Sync {
		f.pending = append(f.pending, e)
		return
	}
	for _, p := range f.pending {
		f.durable = p.change(f.durable)
	}
	f.pending = nil
}

// Files returns the content of each file after a power cut now. Of what was not
// synced, survives says what reached the disk all the same; nil is nothing.
func (d *Disk) Files(survives func(Event) bool) map[string][]byte {
	files := make(map[string][]byte)
	for path, f := range d.files {
		content := append([]byte(nil), f.durable...)
		for _, e := range f.pending {
			if survives != nil && survives(e) {
				content = e.change(content)
			}
		}
		files[path] = content
	}
	return files
}

// change applies a write or a truncation to a file's content.
func (e Event) change(content []byte) []byte {
	end := e.Offset + int64(len(e.Data))
	if grow := end - int64(len(content)); grow > 0 {
		content = append(content, make([]byte, grow)...)
	}
	if e.Kind == Truncate {
		return content[:e.Offset]
	}
	copy(content[e.Offset:], e.Data)
	return content
}
