package webhookverify

import (
	"crypto/hmac"
	"hash"
	"sync"
	"sync/atomic"
)

// key is one secret with its keyed hashes at hand: setting one up anew would
// cost more than hashing a small body.
type key struct {
	material []byte
	pool     sync.Pool // of *mac
	matches  atomic.Uint64
	last     atomic.Int64 // UnixNano of the latest match
}

func (s *scheme) newKey(material []byte) *key {
	k := &key{material: material}
	k.pool.New = func() any { return &mac{Hash: hmac.New(s.newHash, material)} }
	return k
}

func (k *key) mac() *mac { return k.pool.Get().(*mac) }

// mac is a keyed hash that is fed the signed text in pieces, so that the text is
// never in memory beside the body. What it needs for that belongs to it.
type mac struct {
	hash.Hash
	sum [maxSum]byte
	buf [256]byte // gathers the small pieces: each call of a hash has its price
	n   int       // of buf that are filled
}

// begin writes what stands before the body.
func (m *mac) begin(s *scheme, c *claim) {
	m.Reset()
	m.write(s.before, c)
}

// end writes what stands after the body and returns the sum.
func (m *mac) end(s *scheme, c *claim) []byte {
	m.write(s.after, c)
	return m.Sum(m.sum[:0])
}

func (m *mac) write(parts []part, c *claim) {
	for _, p := range parts {
		switch p.kind {
		case partTimestamp:
			m.gather(c.timestamp)
		case partID:
			m.gather(c.id)
		default:
			m.gather(p.text)
		}
	}
	m.flush()
}

func (m *mac) gather(text string) {
	for text != "" {
		n := copy(m.buf[m.n:], text)
		text = text[n:]
		if m.n += n; m.n == len(m.buf) {
			m.flush()
		}
	}
}

func (m *mac) flush() {
	if m.n > 0 {
		m.Write(m.buf[:m.n])
		m.n = 0
	}
}
