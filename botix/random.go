package botix

import (
	"bufio"
	"io"
	"sync"
)

// randomness reads its source ahead, since reading the few bytes of each key by
// itself costs a noticeable part of a call. It is safe for concurrent use.
type randomness struct {
	mu    sync.Mutex
	ahead *bufio.Reader
}

func newRandomness(source io.Reader) *randomness {
	return &randomness{ahead: bufio.NewReaderSize(source, 1024)}
}

// Read fills p whole, or fails.
func (r *randomness) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return io.ReadFull(r.ahead, p)
}
