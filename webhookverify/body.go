package webhookverify

import (
	"errors"
	"io"
	"net/http"
	"os"
)

// firstRead is how much memory a declared length is believed. Beyond it, memory
// is taken only for bytes that have come.
const firstRead = 64 << 10

// readBody reads a body to its end. On an error it returns what came before.
func readBody(r io.Reader, declared int64) ([]byte, error) {
	// One byte more than expected, so that the end is met without growing.
	buf := make([]byte, 0, min(max(declared, 511), firstRead)+1)
	for {
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case errors.Is(err, io.EOF):
			return buf, nil
		case err != nil:
			return buf, err
		case len(buf) == cap(buf):
			buf = append(buf, 0)[:len(buf)]
		}
	}
}

// bodyReason turns an error of reading a body into the sentinel that says it.
func bodyReason(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return ErrTooLarge
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return ErrTimeout
	case errors.Is(err, http.ErrBodyReadAfterClose):
		return ErrEmptyBody // something read it, and closed it
	}
	return ErrUnreadable
}
