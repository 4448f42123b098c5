package ledger

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"unicode/utf8"
)

// guarded runs the program's own code: a handler, a step, a word to it. Neither a panic
// nor runtime.Goexit in it ends a worker.
func guarded(run func() error) error {
	ended := make(chan error, 1)
	go func() {
		err := errors.New("the program's code ended its goroutine")
		defer func() {
			if p := recover(); p != nil {
				err = &panicError{p, debug.Stack()}
			}
			ended <- err
		}()
		err = run()
	}()
	return <-ended
}

// panicError is a panic of the program's own code.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("the program's code panicked: %v", e.value) }

// withStack adds where a panic came from, if err is one.
func withStack(log *slog.Logger, err error) *slog.Logger {
	if p, ok := errors.AsType[*panicError](err); ok {
		log = log.With("stack", string(p.stack))
	}
	return log
}

const maxLastError = 500 // bytes

// errorText is what is kept of an error of the program's own code.
func errorText(err error) string {
	text := strings.ReplaceAll(strings.ToValidUTF8(err.Error(), "\uFFFD"), "\x00", "\uFFFD")
	if len(text) <= maxLastError {
		return text
	}
	text = text[:maxLastError]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text + "…"
}
