package botix

import (
	"bytes"
	"encoding/json"
)

// RawJSON is a piece of an answer whose shape the platform leaves open, kept as
// it came. Numbers keep every digit: 9007199254740993 stays 9007199254740993. It
// is nil where the answer said null or nothing.
type RawJSON []byte

// Decode reads the piece into v, which is a pointer, as [json.Unmarshal] does,
// except that numbers in untyped values become [json.Number] and lose no digit.
// A nil piece reads as null.
func (r RawJSON) Decode(v any) error {
	if len(r) == 0 {
		r = RawJSON("null")
	}
	dec := json.NewDecoder(bytes.NewReader(r))
	dec.UseNumber()
	return dec.Decode(v)
}

// MarshalJSON writes the piece as it came.
func (r RawJSON) MarshalJSON() ([]byte, error) {
	if len(r) == 0 {
		return []byte("null"), nil
	}
	return r, nil
}

// UnmarshalJSON keeps a copy of data.
func (r *RawJSON) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*r = nil
		return nil
	}
	*r = bytes.Clone(data)
	return nil
}
