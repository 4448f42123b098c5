package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/durable"
	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// Witness remembers, outside of the database, how far a ledger has come. That is
// how an older copy of the database is noticed when it is opened ([DoubtError]).
//
// It is told at most once a second while the ledger is written to, beside those
// who write and not before them, and when the ledger is closed. A mark is durable
// in the database before a witness is told of it, so a crash is never taken for an
// older copy; what was written in the last second before a crash is what a witness
// does not know of.
//
// Several processes may use a ledger and tell of it at the same time. A mark that
// is below the last one of its line need not be kept.
type Witness interface {
	// Recall returns the mark that was told last, or the zero Mark when none was.
	// While it fails, nothing is sent by a ledger that is being opened.
	Recall(ctx context.Context) (Mark, error)
	// Tell remembers a mark. It is durable when Tell returns.
	Tell(ctx context.Context, m Mark) error
}

// Mark is how far a ledger is.
type Mark struct {
	// Line is shared by the copies of a database that have one history. Somebody
	// who vouches for one of them gives it a line of its own.
	Line   string    `json:"line"`
	Number int64     `json:"number"` // grows in a line
	At     time.Time `json:"at"`
}

// WithWitness adds a witness to the file beside the database, which a ledger in a
// file always has. One that is elsewhere also notices what the file beside cannot:
// that a whole folder or disk was put back.
func WithWitness(w Witness) Option {
	return func(l *Ledger) error {
		if w == nil {
			return errors.New("the witness is nil")
		}
		l.witnesses = append(l.witnesses, w)
		return nil
	}
}

// WitnessFile keeps marks in a file, such as one on another disk than the ledger.
// Its folder has to exist.
func WitnessFile(path string) Witness { return witnessFile(path) }

// witnessSuffix is what the file beside a database is called.
const witnessSuffix = ".witness"

type witnessFile string

func (f witnessFile) String() string { return string(f) }

func (f witnessFile) Recall(context.Context) (Mark, error) {
	text, err := os.ReadFile(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return Mark{}, nil
	}
	if err != nil {
		return Mark{}, err
	}
	var m Mark
	if err := json.Unmarshal(text, &m); err != nil || m.Line == "" || m.Number < 0 {
		return Mark{}, fmt.Errorf("%s is no witness of a ledger", string(f))
	}
	return m, nil
}

// Tell replaces the file by another: one that is cut off would be no lower bound.
func (f witnessFile) Tell(ctx context.Context, m Mark) error {
	if was, err := f.Recall(ctx); err == nil && was.Line == m.Line && was.Number >= m.Number {
		return nil // another process was faster
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	file, err := durable.Create(string(f))
	if err != nil {
		return err
	}
	if _, err := file.Write(append(text, '\n')); err != nil {
		return errors.Join(err, file.Abort())
	}
	return file.Commit()
}

// nameOf is how people are told of a witness.
func nameOf(w Witness) string {
	if s, ok := w.(fmt.Stringer); ok {
		return "the witness " + s.String()
	}
	return fmt.Sprintf("the witness %T", w)
}

// markOf is a mark of the store as witnesses see it.
func markOf(m store.Mark) Mark { return Mark{Line: m.Line, Number: m.Number, At: moment(m.At)} }

// tell tells all witnesses of a mark.
func (l *Ledger) tell(ctx context.Context, m store.Mark) error {
	var errs []error
	for _, w := range l.witnesses {
		if err := w.Tell(ctx, markOf(m)); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", nameOf(w), err))
		}
	}
	return errors.Join(errs...)
}
