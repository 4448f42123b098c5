package ledger

import (
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// fill gives every field a value of its own.
func fill(v reflect.Value, n *int) {
	for i := range v.NumField() {
		*n++
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString(fmt.Sprintf("text %d <&> Ж", *n))
		case reflect.Int, reflect.Int64:
			f.SetInt(int64(*n))
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Pointer:
			f.Set(reflect.ValueOf(new(int64(*n))))
		default:
			panic("a field of another kind: " + f.Kind().String())
		}
	}
}

// What is read from an archive is what was in the database, field by field: it is
// compared before it is dropped there.
func TestEveryFieldGoesThroughAnArchive(t *testing.T) {
	t.Parallel()
	n := 0
	var a, empty store.Attempt
	var e, blank store.Event
	var money store.Amount
	fill(reflect.ValueOf(&a).Elem(), &n)
	fill(reflect.ValueOf(&e).Elem(), &n)
	fill(reflect.ValueOf(&money).Elem(), &n)
	row := &store.Operation{ID: "op"}
	a.OperationID, e.OperationID, empty.OperationID, blank.OperationID = row.ID, row.ID, row.ID, row.ID
	money.OperationID = row.ID
	was := newArchived(row, []store.Attempt{a, empty}, []store.Event{e, blank})
	was.Amount = &money

	to := store.Archive{File: filepath.Join(t.TempDir(), "a.gz")}
	w, err := createArchive(&to)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.add([]archived{*was}); err != nil {
		t.Fatal(err)
	}
	if err := w.commit(&to); err != nil {
		t.Fatal(err)
	}
	f, err := openArchive(to.File)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if f.sha256 != to.SHA256 || to.Operations != 1 || to.Attempts != 2 || to.Events != 2 {
		t.Errorf("%+v, and the file has the SHA-256 %s", to, f.sha256)
	}
	err = f.each(func(is *archived) error {
		if !is.equal(was) {
			t.Errorf("read back:\n%+v\nwant\n%+v", is, was)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
