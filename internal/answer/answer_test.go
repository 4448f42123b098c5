package answer_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/botix-pro/sdk-go/internal/answer"
	"github.com/botix-pro/sdk-go/internal/call"
)

type thing struct {
	ID    int    `json:"id"`
	Phone string `json:"phone"`
}

func TestRead(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status  int
		body    string
		emptyOK bool
		want    call.Reading
		problem string
		id      int
	}{
		"a success":                    {200, `{"success":true,"data":{"id":7}}`, false, call.Reading{Envelope: true, Success: true}, "", 7},
		"behind a byte order mark":     {200, "\xef\xbb\xbf" + `{"success":true,"data":{"id":7}}`, false, call.Reading{Envelope: true, Success: true}, "", 7},
		"nothing, where that is one":   {204, " \n", true, call.Reading{Envelope: true, Success: true}, "", 0},
		"nothing, where it is not":     {201, "", false, call.Reading{}, "no body", 0},
		"no data, where that is one":   {200, `{"success":true,"data":null}`, true, call.Reading{Envelope: true, Success: true}, "", 0},
		"no data, where it is not":     {200, `{"success":true}`, false, call.Reading{Envelope: true}, "no data", 0},
		"a success with an error":      {200, `{"success":true,"data":{"id":7},"error":{"code":"X"}}`, false, call.Reading{Envelope: true}, "has an error", 0},
		"a failure in a 200":           {200, `{"success":false,"error":{"code":"X","message":"m"}}`, false, call.Reading{Envelope: true, Code: "X", Message: "m"}, "", 0},
		"no envelope":                  {200, `{"id":7}`, false, call.Reading{}, "not the API's envelope", 0},
		"a page":                       {200, `<html>`, false, call.Reading{}, "not valid JSON", 0},
		"a refusal":                    {422, `{"success":false,"data":[1],"error":{"code":"X"}}`, false, call.Reading{Envelope: true, Code: "X"}, "", 0},
		"a page of refusal":            {502, `<html>`, false, call.Reading{}, "", 0},
		"a number in place of a text":  {200, `{"success":true,"data":{"id":7,"phone":79991234567}}`, false, call.Reading{}, "field data.phone is a number", 0},
		"a text in place of a number":  {200, `{"success":true,"data":{"id":"79991234567"}}`, false, call.Reading{}, "field data.id is a string", 0},
		"a list in place of it all":    {200, `[{"success":true}]`, false, call.Reading{}, "cannot be read: it is an array", 0},
		"an object in place of a text": {200, `{"success":true,"data":{"id":7,"phone":{}}}`, false, call.Reading{}, "field data.phone is an object", 0},
		"a number that does not fit":   {200, `{"success":true,"data":{"id":79991234567.5}}`, false, call.Reading{}, "field data.id is a number", 0},
	} {
		env := answer.Envelope[thing, struct{}]{Data: &thing{ID: 99}} // of an earlier answer
		got := env.Read(tt.status, []byte(tt.body), tt.emptyOK)
		problem := ""
		if got.Err != nil {
			problem = got.Err.Error()
		}
		if got.Err = nil; !same(got, tt.want) || (problem == "") != (tt.problem == "") || !strings.Contains(problem, tt.problem) {
			t.Errorf("%s: Read = %+v, %q; want %+v, %q", name, got, problem, tt.want, tt.problem)
		}
		if strings.Contains(problem, "7999") {
			t.Errorf("%s: the error repeats a value: %s", name, problem)
		}
		id := 0
		if env.Data != nil {
			id = env.Data.ID
		}
		if id != tt.id {
			t.Errorf("%s: the data is %d, want %d", name, id, tt.id)
		}
	}
}

func same(a, b call.Reading) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && string(x) == string(y)
}
