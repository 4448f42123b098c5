package botixtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// input reads the fields of a request's body and remembers what is wrong with them. Unknown fields are ignored.
type input struct {
	fields   map[string]json.RawMessage
	problems map[string]any
}

const maxText = 255

func (x *exchange) input() (*input, *Answer) {
	in := &input{problems: map[string]any{}}
	if bad := x.decode(&in.fields); bad != nil {
		return nil, bad
	}
	return in, nil
}

// refusal names every wrong field, or is nil.
func (in *input) refusal() *Answer {
	if len(in.problems) == 0 {
		return nil
	}
	names := make([]string, 0, len(in.problems))
	for name := range in.problems {
		names = append(names, name)
	}
	slices.Sort(names)
	return refuseWith("VALIDATION_ERROR", "wrong: "+strings.Join(names, ", "), in.problems)
}

func (in *input) wrong(name, problem string) { in.problems[name] = problem }

func (in *input) has(name string) bool { return in.fields[name] != nil }

func (in *input) null(name string) bool { return string(in.fields[name]) == "null" }

// required reads a text that must be there.
func (in *input) required(name string) string {
	if !in.has(name) {
		in.wrong(name, "is required")
		return ""
	}
	return in.text(name)
}

// text reads a text; "" means that it is absent or wrong.
func (in *input) text(name string) (value string) {
	if !in.has(name) {
		return ""
	}
	switch err := json.Unmarshal(in.fields[name], &value); {
	case err != nil:
		in.wrong(name, "must be a string")
	case value == "" || utf8.RuneCountInString(value) > maxText:
		in.wrong(name, fmt.Sprintf("must have 1 to %d characters", maxText))
	}
	return value
}

// nullable reads a text that may be null or absent.
func (in *input) nullable(name string) *string {
	if !in.has(name) || in.null(name) {
		return nil
	}
	return new(in.text(name))
}

func (in *input) oneOf(name string, values ...string) string {
	value := in.text(name)
	if value != "" && !slices.Contains(values, value) {
		in.wrong(name, "must be one of "+strings.Join(values, ", "))
	}
	return value
}

// id reads an integer id that may be null or absent.
func (in *input) id(name string) *int64 {
	if !in.has(name) || in.null(name) {
		return nil
	}
	id, err := strconv.ParseInt(string(in.fields[name]), 10, 64)
	if err != nil {
		in.wrong(name, "must be an integer")
	}
	return &id
}

// amount reads money, which is a string: a JSON number has been through somebody's float.
func (in *input) amount(name string) money {
	var text string
	if !in.has(name) {
		in.wrong(name, "is required")
		return money{}
	}
	if err := json.Unmarshal(in.fields[name], &text); err != nil {
		in.wrong(name, `must be a string like "10.00"`)
		return money{}
	}
	m, err := parseMoney(text)
	if err != nil {
		in.wrong(name, err.Error())
	}
	return m
}
