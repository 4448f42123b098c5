package botixtest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/botix-pro/sdk-go/botix/botixtest"
)

// client speaks plain HTTP to a sandbox and holds every answer against the OpenAPI file.
type client struct {
	*testing.T
	srv  *botixtest.Server
	http *http.Client
	key  string
	base string // of every path
}

// answer is one answer, read whole.
type answer struct {
	status int
	header http.Header
	text   string
	err    error // of the exchange: the connection was refused or cut
}

// start makes a sandbox in memory that lives until the test ends.
func start(t *testing.T, cfg botixtest.Config) *client {
	t.Helper()
	srv, err := botixtest.StartInMemory(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return newClient(t, srv)
}

func newClient(t *testing.T, srv *botixtest.Server) *client {
	transport := srv.Transport()
	transport.DisableCompression = true
	c := &client{T: t, srv: srv, key: srv.APIKey(), base: "/public/v1/", http: &http.Client{Transport: transport}}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := srv.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

// inBubble runs a test of a sandbox in virtual time.
func inBubble(t *testing.T, cfg botixtest.Config, test func(*client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(start(t, cfg)) })
}

// as returns a client that uses another API key.
func (c *client) as(key string) *client {
	other := *c
	other.key = key
	return &other
}

// do sends one request, "METHOD path", and checks the answer's shape. Headers come in pairs.
func (c *client) do(route, body string, headers ...string) answer {
	c.Helper()
	got := c.raw(route, body, headers...)
	if got.err != nil {
		c.Fatalf("%s: %v", route, got.err)
	}
	spec, err := loadSpec()
	if err != nil {
		c.Fatal(err)
	}
	calls := c.srv.Journal().Calls()
	for _, problem := range spec.check(calls[len(calls)-1].Operation, got.status, []byte(got.text)) {
		c.Errorf("%s: %s\n%s", route, problem, got.text)
	}
	return got
}

// raw is do for answers that a fault has bent.
func (c *client) raw(route, body string, headers ...string) answer {
	c.Helper()
	method, path, _ := strings.Cut(route, " ")
	request, err := http.NewRequestWithContext(c.Context(), method, c.srv.URL()+c.base+path, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	request.GetBody = nil // every try must be ours: net/http would repeat one that carries an Idempotency-Key
	if c.key != "" {
		request.Header.Set("Authorization", "Bearer "+c.key)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := c.http.Do(request)
	if err != nil {
		return answer{err: err}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return answer{status: response.StatusCode, header: response.Header, text: string(text), err: err}
}

// want fails unless the answer has this status, and this error code if one is given.
func (c *client) want(got answer, status int, code ...string) answer {
	c.Helper()
	if got.status != status || len(code) == 1 && got.code() != code[0] {
		c.Fatalf("got %d %s, %v; want %d %v", got.status, got.text, got.err, status, code)
	}
	return got
}

func (a answer) code() string {
	var body struct{ Error struct{ Code string } }
	_ = json.Unmarshal([]byte(a.text), &body)
	return body.Error.Code
}

// data decodes the data of a success.
func data[T any](t testing.TB, a answer) T {
	t.Helper()
	var body struct {
		Success bool
		Data    T
	}
	if err := json.Unmarshal([]byte(a.text), &body); err != nil || !body.Success {
		t.Fatalf("no success: %d %s, %v", a.status, a.text, err)
	}
	return body.Data
}

func meta(t testing.TB, a answer) map[string]any {
	t.Helper()
	var body struct{ Meta map[string]any }
	if err := json.Unmarshal([]byte(a.text), &body); err != nil {
		t.Fatal(err)
	}
	return body.Meta
}
