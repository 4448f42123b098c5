package ledger

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"os"
	"reflect"

	"github.com/botix-pro/sdk-go/ledger/internal/durable"
	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// ErrArchive is matched by errors about a file that is no archive, or not what it
// was when it was written.
var ErrArchive = errors.New("no archive of a ledger, or a damaged one")

// ReadArchive returns an iterator over the operations in the file of an archive, each
// as the [Story] of what was moved out. The file is checked as a whole first, by the
// checksum at its end: when it is cut off or was changed, the first element is an
// error that matches [ErrArchive]. Each loop opens the file anew.
//
// Of the operation a story has what the file has: ids, action, request, amount, status
// and times, and no customer, version, key, body or result. Those are in the ledger.
//
// The file is gzip over lines of JSON: a head, one line for each operation, and an
// end with the counts and the SHA-256 of all bytes before that line. Names are those
// of the columns in the database, times are Unix milliseconds.
func ReadArchive(path string) iter.Seq2[*Story, error] {
	return func(yield func(*Story, error) bool) {
		f, err := openArchive(path)
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = f.Close() }() // only read
		enough := errors.New("enough")
		err = f.each(func(one *archived) error {
			story, err := one.story(f.head.BegunAt)
			if err == nil && !yield(story, nil) {
				err = enough
			}
			return err
		})
		if err != nil && !errors.Is(err, enough) {
			yield(nil, err)
		}
	}
}

const (
	archiveFormat = "botix-ledger-archive/1"
	maxLine       = 64 << 20 // bytes
)

// archiveHead is the first line of an archive.
type archiveHead struct {
	Format    string `json:"format"`
	Namespace string `json:"namespace"`
	Number    int64  `json:"number"`
	Before    int64  `json:"before_ms"`
	BegunAt   int64  `json:"begun_at_ms"`
	Who       string `json:"who"`
	Why       string `json:"why"`
}

// archiveEnd is the last.
type archiveEnd struct {
	End struct {
		Operations int    `json:"operations"`
		Attempts   int    `json:"attempts"`
		Events     int    `json:"events"`
		SHA256     string `json:"sha256"`
	} `json:"end"`
}

// archived is one operation in an archive.
type archived struct {
	ID           string          `json:"id"`
	Kind         string          `json:"kind"`
	Action       string          `json:"action"`
	API          string          `json:"api,omitzero"`
	Origin       string          `json:"origin,omitzero"`
	Method       string          `json:"method,omitzero"`
	Path         string          `json:"path,omitzero"`
	Driver       string          `json:"driver"`
	Status       string          `json:"status"`
	PossiblySent bool            `json:"possibly_sent"`
	ParentID     string          `json:"parent_id,omitzero"`
	Supersedes   string          `json:"supersedes,omitzero"`
	Successor    string          `json:"superseded_by,omitzero"`
	RequestID    string          `json:"request_id,omitzero"`
	ErrorCode    string          `json:"error_code,omitzero"`
	Amount       *store.Amount   `json:"amount,omitzero"`
	CreatedAt    int64           `json:"created_at_ms"`
	UpdatedAt    int64           `json:"updated_at_ms"`
	Attempts     []store.Attempt `json:"attempts"`
	History      []store.Event   `json:"history"`
}

func newArchived(row *store.Operation, attempts []store.Attempt, history []store.Event) *archived {
	return &archived{
		ID: row.ID, Kind: row.Kind, Action: row.Intent.Action, API: row.API, Origin: row.Origin, Method: row.Method, Path: row.Path,
		Driver: row.Driver, Status: row.Status, PossiblySent: row.PossiblySent, ParentID: row.ParentID, Supersedes: row.Supersedes,
		RequestID: row.RequestID, ErrorCode: row.ErrorCode, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
		Attempts: append([]store.Attempt{}, attempts...), History: append([]store.Event{}, history...), // [] where there are none
	}
}

// equal compares everything, with what was read from a file.
func (one *archived) equal(other *archived) bool { return reflect.DeepEqual(one, other) }

// adopt gives the rows the id of their operation, which a file does not repeat.
func (one *archived) adopt() {
	if one.Amount != nil {
		one.Amount.OperationID = one.ID
	}
	for i := range one.Attempts {
		one.Attempts[i].OperationID = one.ID
	}
	for i := range one.History {
		one.History[i].OperationID = one.ID
	}
}

// story tells what is in the archive, as of a moment.
func (one *archived) story(at int64) (*Story, error) {
	f := facts{attempts: one.Attempts, history: one.History, successor: one.Successor, row: &store.Operation{
		ID: one.ID, Kind: one.Kind, Intent: store.Intent{Action: one.Action}, API: one.API, Origin: one.Origin, Method: one.Method, Path: one.Path,
		Driver: one.Driver, Status: one.Status, PossiblySent: one.PossiblySent, ParentID: one.ParentID, Supersedes: one.Supersedes,
		RequestID: one.RequestID, ErrorCode: one.ErrorCode, CreatedAt: one.CreatedAt, UpdatedAt: one.UpdatedAt, AttemptCount: len(one.Attempts),
	}}
	s, err := f.tell(at)
	if err == nil && one.Amount != nil {
		s.Operation.Amount, err = amountOf(*one.Amount)
	}
	return s, err
}

// archiveWriter writes an archive's file.
type archiveWriter struct {
	file    *durable.File
	whole   hash.Hash // of the file
	lines   hash.Hash // of what is in it
	zip     *gzip.Writer
	encoded bytes.Buffer
	end     archiveEnd
}

func createArchive(a *store.Archive) (*archiveWriter, error) {
	file, err := durable.Create(a.File)
	if err != nil {
		return nil, err
	}
	w := &archiveWriter{file: file, whole: sha256.New(), lines: sha256.New()}
	w.zip = gzip.NewWriter(io.MultiWriter(file, w.whole))
	err = w.line(archiveHead{archiveFormat, a.Namespace, a.Seq, a.Before, a.BegunAt, a.Who, a.Why})
	if err != nil {
		return nil, errors.Join(err, w.abort())
	}
	return w, nil
}

func (w *archiveWriter) line(v any) error {
	w.encoded.Reset()
	enc := json.NewEncoder(&w.encoded)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // with the end of the line
		return err
	}
	w.lines.Write(w.encoded.Bytes())
	_, err := w.zip.Write(w.encoded.Bytes())
	return err
}

func (w *archiveWriter) add(all []archived) error {
	for i := range all {
		if err := w.line(&all[i]); err != nil {
			return err
		}
		w.end.End.Operations++
		w.end.End.Attempts += len(all[i].Attempts)
		w.end.End.Events += len(all[i].History)
	}
	return nil
}

// commit ends the file and fills in what is to be recorded of it.
func (w *archiveWriter) commit(a *store.Archive) error {
	end := &w.end.End
	end.SHA256 = hex.EncodeToString(w.lines.Sum(nil))
	if err := errors.Join(w.line(w.end), w.zip.Close()); err != nil {
		return errors.Join(err, w.abort())
	}
	if err := w.file.Commit(); err != nil {
		return err
	}
	a.SHA256 = hex.EncodeToString(w.whole.Sum(nil))
	a.Operations, a.Attempts, a.Events = end.Operations, end.Attempts, end.Events
	return nil
}

func (w *archiveWriter) abort() error { return w.file.Abort() }

// archiveFile is an archive that was checked.
type archiveFile struct {
	*os.File
	head   archiveHead
	sha256 string // of the file
}

// openArchive opens a file and reads it once to its end.
func openArchive(path string) (*archiveFile, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	f := &archiveFile{File: file}
	whole := sha256.New()
	r := io.TeeReader(file, whole)
	f.head, err = readArchive(r, nil)
	if err == nil {
		_, err = io.Copy(io.Discard, r) // nothing is after the end
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
	}
	f.sha256 = hex.EncodeToString(whole.Sum(nil))
	return f, nil
}

// each calls do with every operation, in the order of the file.
func (f *archiveFile) each(do func(*archived) error) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := readArchive(f, do)
	return err
}

// readArchive reads an archive to its end and checks that it is whole; do may be
// nil.
func readArchive(r io.Reader, do func(*archived) error) (head archiveHead, err error) {
	zip, err := gzip.NewReader(r)
	if err != nil {
		return head, damaged(err)
	}
	lines := bufio.NewScanner(zip)
	lines.Buffer(nil, maxLine)
	sum := sha256.New()
	var is archiveEnd
	for n := 0; lines.Scan(); n++ {
		line := lines.Bytes()
		switch {
		case n == 0:
			if err := json.Unmarshal(line, &head); err != nil || head.Format != archiveFormat {
				return head, fmt.Errorf("%w: it begins otherwise", ErrArchive)
			}
		case bytes.HasPrefix(line, []byte(`{"end":`)):
			return head, is.check(line, hex.EncodeToString(sum.Sum(nil)), lines)
		default:
			one := new(archived)
			if err := json.Unmarshal(line, one); err != nil {
				return head, damaged(err)
			}
			one.adopt()
			is.End.Operations++
			is.End.Attempts += len(one.Attempts)
			is.End.Events += len(one.History)
			if do != nil {
				if err := do(one); err != nil {
					return head, err
				}
			}
		}
		sum.Write(line)
		sum.Write([]byte{'\n'})
	}
	if err := lines.Err(); err != nil {
		return head, damaged(err)
	}
	return head, fmt.Errorf("%w: it has no end", ErrArchive)
}

// check holds the last line against what was read. After it there is nothing.
func (is *archiveEnd) check(line []byte, sum string, rest *bufio.Scanner) error {
	is.End.SHA256 = sum
	var said archiveEnd
	if err := json.Unmarshal(line, &said); err != nil {
		return damaged(err)
	}
	if said != *is {
		return fmt.Errorf("%w: it ends with %+v, and has %+v", ErrArchive, said.End, is.End)
	}
	if rest.Scan() {
		return fmt.Errorf("%w: something is after its end", ErrArchive)
	}
	if err := rest.Err(); err != nil {
		return damaged(err)
	}
	return nil
}

func damaged(err error) error { return fmt.Errorf("%w: %w", ErrArchive, err) }
