package botix

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// Opt is a field of an update: left alone, cleared, or given a value. The zero
// value is "left alone", and such a field is not sent.
//
//	botix.ContactUpdate{
//		City:  botix.Set("Казань"),  // "city":"Казань"
//		Phone: botix.Null[string](), // "phone":null
//	}                                    // nothing else is touched
//
// A field of type Opt needs the tag option omitzero.
type Opt[T any] struct {
	value T
	state optState
}

type optState uint8

const (
	optUnset optState = iota
	optNull
	optValue
)

// Set returns a field that is given the value v. Zero values are values: Set("")
// sends an empty string, Set(0) a zero, and Set of a nil slice an empty list.
func Set[T any](v T) Opt[T] { return Opt[T]{value: v, state: optValue} }

// Null returns a field that is cleared by sending null.
func Null[T any]() Opt[T] { return Opt[T]{state: optNull} }

// Get returns the value, and whether there is one: it is false for a field that
// is left alone and for null.
func (o Opt[T]) Get() (T, bool) { return o.value, o.state == optValue }

// IsNull reports whether the field is null.
func (o Opt[T]) IsNull() bool { return o.state == optNull }

// IsZero reports whether the field is left alone. The tag option omitzero asks it.
func (o Opt[T]) IsZero() bool { return o.state == optUnset }

// MarshalJSON writes the value or null.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	if o.state != optValue {
		return []byte("null"), nil
	}
	// A nil slice would be written as null, which asks for something else.
	if v := reflect.ValueOf(&o.value).Elem(); v.Kind() == reflect.Slice && v.IsNil() {
		return []byte("[]"), nil
	}
	// Not json.Marshal: it would spell < as \u003c inside a body whose other
	// fields are written without HTML escaping.
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(o.value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// UnmarshalJSON reads a value or null. A field that is absent stays as it is.
func (o *Opt[T]) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*o = Null[T]()
		return nil
	}
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	*o = Set(v)
	return nil
}
