package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"
)

// ErrInvalidUTF8 says that a text of a request is not valid UTF-8, which JSON
// cannot carry: it would arrive as another text.
var ErrInvalidUTF8 = errors.New("text is not valid UTF-8")

// Encode writes v as JSON, once: the bytes are what every attempt sends.
// Unlike json.Marshal it leaves <, > and & as they are and refuses invalid
// UTF-8 instead of replacing it.
func Encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	out := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	// encoding/json writes a byte it had to replace as this escape, and a
	// genuine U+FFFD as itself; raw JSON passes as it is. So only an output that
	// has either needs the slow look.
	if !utf8.Valid(out) || bytes.Contains(out, []byte(`\ufffd`)) {
		if where := invalidUTF8(reflect.ValueOf(v), ""); where != "" {
			return nil, fmt.Errorf("%s: %w", where, ErrInvalidUTF8)
		}
	}
	return out, nil
}

// invalidUTF8 returns where in v the first invalid text is, "" when nowhere.
func invalidUTF8(v reflect.Value, at string) string {
	switch v.Kind() {
	case reflect.String:
		if !utf8.ValidString(v.String()) {
			if at == "" {
				return "value"
			}
			return at
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return invalidUTF8(v.Elem(), at)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if where := invalidUTF8(v.Field(i), join(at, v.Type().Field(i).Name)); where != "" {
				return where
			}
		}
	case reflect.Slice, reflect.Array:
		if raw, ok := asRaw(v); ok {
			if !utf8.Valid(raw) {
				return join(at, "value")
			}
			return ""
		}
		for i := range v.Len() {
			if where := invalidUTF8(v.Index(i), fmt.Sprintf("%s[%d]", at, i)); where != "" {
				return where
			}
		}
	case reflect.Map:
		for key, value := range v.Seq2() {
			if key.Kind() == reflect.String && !utf8.ValidString(key.String()) {
				return join(at, "key")
			}
			if where := invalidUTF8(value, join(at, key.String())); where != "" {
				return where
			}
		}
	}
	return ""
}

var rawType = reflect.TypeFor[json.RawMessage]()

func asRaw(v reflect.Value) ([]byte, bool) {
	if v.Type() == rawType {
		return v.Bytes(), true
	}
	return nil, false
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}
