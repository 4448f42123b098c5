package money

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"reflect"
)

// MarshalJSON writes the amount as a JSON string, with exactly the digits it came
// with. An unset amount is an error: an empty text is no amount to any server.
func (a Amount) MarshalJSON() ([]byte, error) {
	if !a.IsSet() {
		return nil, fmt.Errorf("%w: is unset", ErrInvalid)
	}
	return []byte(`"` + a.text + `"`), nil // of digits, a point and a minus: nothing to escape
}

// UnmarshalJSON reads an amount from a JSON string. It refuses everything else,
// JSON numbers and null among them; a field that may be null is a pointer. The
// error is a *[json.UnmarshalTypeError], so that decoding a struct names the field.
func (a *Amount) UnmarshalJSON(data []byte) error {
	is := kindOf(data)
	if is == "string" {
		err := a.UnmarshalText(data[1 : len(data)-1])
		if err == nil {
			return nil
		}
		is = "string that is " + err.Error()
	}
	return &json.UnmarshalTypeError{Value: is, Type: reflect.TypeFor[Amount]()}
}

// kindOf names the JSON type of data by its first byte.
func kindOf(data []byte) string {
	if len(data) == 0 {
		return "nothing"
	}
	switch data[0] {
	case '"':
		if len(data) > 1 && data[len(data)-1] == '"' {
			return "string"
		}
		return "broken string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "bool"
	case 'n':
		return "null"
	}
	return "number"
}

// MarshalText writes the amount as it came in.
func (a Amount) MarshalText() ([]byte, error) {
	if !a.IsSet() {
		return nil, fmt.Errorf("%w: is unset", ErrInvalid)
	}
	return []byte(a.text), nil
}

// UnmarshalText reads an amount.
func (a *Amount) UnmarshalText(text []byte) error {
	read, err := Parse(string(text[:min(len(text), maxText+1)])) // one byte more is too long as well
	if err != nil {
		return err
	}
	*a = read
	return nil
}

// Value gives a database the text. An unset amount is an error: use
// [database/sql.Null] where there may be none.
func (a Amount) Value() (driver.Value, error) {
	if !a.IsSet() {
		return nil, fmt.Errorf("%w: is unset", ErrInvalid)
	}
	return a.text, nil
}

// Scan reads the text that Value gave. What a database returns as a number has
// lost its digits already and is refused, and so is NULL.
func (a *Amount) Scan(src any) error {
	switch text := src.(type) {
	case string:
		return a.UnmarshalText([]byte(text))
	case []byte:
		return a.UnmarshalText(text)
	case nil:
		return fmt.Errorf("%w: is NULL", ErrInvalid)
	}
	return fmt.Errorf("%w: the column holds a %T; amounts belong in a column of type TEXT", ErrInvalid, src)
}
