package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/botix-pro/sdk-go/botix/botixtest"
)

// output is a buffer that the program writes while the test reads.
type output struct {
	mu    sync.Mutex
	text  bytes.Buffer
	wrote chan struct{} // one for each line
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer func() {
		select {
		case o.wrote <- struct{}{}:
		default:
		}
	}()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// wait returns the output once it contains text.
func (o *output) wait(t *testing.T, text string) string {
	t.Helper()
	for !strings.Contains(o.String(), text) {
		select {
		case <-o.wrote:
		case <-t.Context().Done():
			t.Fatalf("no %q in %q", text, o.String())
		}
	}
	return o.String()
}

// toolWith is the tool as a user has it, but for where it writes.
func toolWith(stdout, stderr io.Writer) tool {
	t := newTool()
	t.stdout, t.stderr = stdout, stderr
	return t
}

func TestUsage(t *testing.T) {
	tests := []struct {
		args   string
		code   int
		stdout string
		stderr string
	}{
		{"", 2, "", "Usage: botixctl COMMAND"},
		{"help", 0, "sandbox", ""},
		{"fly", 2, "", `there is no command "fly"`},
		{"sandbox -h", 0, "", "-day-limit"},
		{"sandbox -h", 0, "", "messagesSend nth=2 cut-after"},
		{"sandbox -wings", 2, "", "-wings"},
		{"sandbox now", 2, "", `unexpected argument "now"`},
		{"sandbox -plan gold", 2, "", `there is no plan "gold"`},
		{"sandbox -window 0s", 2, "", "more than zero"},
		{"sandbox -in-flight never", 2, "", "it takes both, refuse, wait"},
		{"sandbox -deprecated soon", 2, "", "-deprecated"},
		{"sandbox -addr nowhere:x", 1, "", "botixctl sandbox: listen"},
		{"sandbox -balance 1e3", 1, "", "botixctl sandbox: partner configuration: Balance must be a decimal"},
		{"sandbox -partner-table nowhere.json", 2, "", "nowhere.json"},
	}
	for _, test := range tests {
		t.Run(test.args, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := toolWith(&stdout, &stderr).run(t.Context(), strings.Fields(test.args)); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			if !strings.Contains(stdout.String(), test.stdout) || !strings.Contains(stderr.String(), test.stderr) {
				t.Errorf("wrote %q and %q, want %q and %q in them", &stdout, &stderr, test.stdout, test.stderr)
			}
		})
	}
}

func TestSandboxServesUntilItIsStopped(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stdout, stderr := &output{wrote: make(chan struct{}, 1)}, new(bytes.Buffer)
	code := make(chan int)
	go func() {
		code <- toolWith(stdout, stderr).run(ctx, []string{"sandbox", "-addr", "127.0.0.1:0", "-limit", "2", "-window", "24h", "-skew", "-2m", "-fault", "messagesSend nth=1 status-after=502",
			"-deprecated", "2999-01-01", "-notice", "quota"})
	}()
	words := strings.Fields(stdout.wait(t, "Ctrl-C"))
	after := func(label string) string {
		for i, w := range words {
			if w == label {
				return words[i+1]
			}
		}
		t.Fatalf("no %s in %s", label, stdout)
		return ""
	}
	url, key := after("URL"), after("key")

	statuses := []int{}
	for range 3 {
		request, err := http.NewRequestWithContext(ctx, "POST", url+"/public/v1/messages", strings.NewReader(`{"contact_id":1,"content":"Привет"}`))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+key)
		request.Header.Set("Idempotency-Key", "k-1")
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		statuses = append(statuses, answer.StatusCode)
		if answer.Header.Get("X-API-Deprecation") == "" || !strings.Contains(answer.Header.Get("X-API-Notice"), "quota") {
			t.Errorf("headers %v", answer.Header)
		}
	}
	if statuses[0] != 502 || statuses[1] != 200 || statuses[2] != 429 {
		t.Errorf("statuses %v, want 502, 200, 429", statuses)
	}
	stop()
	if c := <-code; c != 0 || stderr.Len() > 0 {
		t.Errorf("exit code %d, %s", c, stderr)
	}
	for _, want := range []string{
		"#1 POST /public/v1/messages → 502 SERVER_ERROR", "(the work was done)",
		`→ 200  key="k-1" attempt=2`, "→ 429 RATE_LIMIT_EXCEEDED", "stopped after 3 requests",
	} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
}

// The partner half is served too, with the names that a file gives it.
// What is promised of keys is for the flags to say.
func TestSandboxKeepsTheAnswersThatItIsToldTo(t *testing.T) {
	for flags, want := range map[string]int{"": 500, "-partner-stores success -partner-unlocked": 201, "-partner-stores everything": 500} {
		t.Run(flags, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			stdout, stderr := &output{wrote: make(chan struct{}, 1)}, new(bytes.Buffer)
			code := make(chan int)
			go func() {
				code <- toolWith(stdout, stderr).run(ctx, append([]string{"sandbox", "-addr", "127.0.0.1:0", "-fault", "groupsCreate nth=1 status-after=500"}, strings.Fields(flags)...))
			}()
			found := regexp.MustCompile(`(?s)URL +(\S+).*partner key +(btx_prt_\S+)`).FindStringSubmatch(stdout.wait(t, "Ctrl-C"))
			var status int
			for range 2 {
				request, err := http.NewRequestWithContext(ctx, "POST", found[1]+"/partner/v1/groups", strings.NewReader(`{"name":"Кофейня"}`))
				if err != nil {
					t.Fatal(err)
				}
				request.Header.Set("Authorization", "Bearer "+found[2])
				request.Header.Set("Idempotency-Key", "k-1")
				answer, err := http.DefaultClient.Do(request)
				if err != nil {
					t.Fatal(err)
				}
				status = answer.StatusCode
				_ = answer.Body.Close() // only its status counts
			}
			if status != want {
				t.Errorf("the repeat was answered %d, want %d", status, want)
			}
			stop()
			if code := <-code; code != 0 || stderr.Len() > 0 {
				t.Errorf("exit code %d, %s", code, stderr)
			}
		})
	}
}

func TestSandboxServesThePartnerHalf(t *testing.T) {
	table := filepath.Join(t.TempDir(), "table.json")
	if err := os.WriteFile(table, []byte(`{"prefix":"/reseller","routes":{"balanceGet":"GET money"},"fields":{"balance":"credits"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stdout, stderr := &output{wrote: make(chan struct{}, 1)}, new(bytes.Buffer)
	code := make(chan int)
	go func() {
		code <- toolWith(stdout, stderr).run(ctx, []string{"sandbox", "-addr", "127.0.0.1:0", "-balance", "12.5", "-currency", "EUR", "-partner-table", table,
			"-fault", "topUpsCreate status=503"})
	}()
	text := stdout.wait(t, "Ctrl-C")
	found := regexp.MustCompile(`(?s)URL +(\S+).*partner key +(btx_prt_\S+)\n  balance +12.50 EUR`).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("no partner key and no balance in\n%s", text)
	}
	request, err := http.NewRequestWithContext(ctx, "GET", found[1]+"/reseller/money", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+found[2])
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != 200 || !strings.Contains(string(body), `"credits":"12.50"`) {
		t.Errorf("%d %s, %v", answer.StatusCode, body, err)
	}
	stop()
	if c := <-code; c != 0 || stderr.Len() > 0 {
		t.Errorf("exit code %d, %s", c, stderr)
	}
}

func TestTablesWithUnknownRowsAreRefused(t *testing.T) {
	table := filepath.Join(t.TempDir(), "table.json")
	for text, problem := range map[string]string{
		`{"paths":{}}`:           "paths",
		`{"fields":{"cost":7}}`:  "fields",
		`{`:                      "unexpected EOF",
		`{"codes":{"NONE":"X"}}`: `no code "NONE"`,
	} {
		if err := os.WriteFile(table, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		if code := toolWith(&stdout, &stderr).run(t.Context(), []string{"sandbox", "-addr", "127.0.0.1:0", "-partner-table", table}); code == 0 || !strings.Contains(stderr.String(), problem) {
			t.Errorf("%s: exit code %d, %q; want %q", text, code, &stderr, problem)
		}
	}
}

func TestFaultRules(t *testing.T) {
	for operation := range botixtest.DefaultPartnerTable().Routes {
		if !strings.Contains(faultHelp, " "+operation) {
			t.Errorf("the help does not name %s", operation)
		}
	}
	for word := range faultWords {
		if !strings.Contains(faultHelp, word) {
			t.Errorf("the help does not name %s", word)
		}
	}
	for word := range conditions {
		if !strings.Contains(faultHelp, word+"=") {
			t.Errorf("the help does not name %s", word)
		}
	}
	tests := []struct{ rule, problem string }{ // "" is a good one
		{"messagesSend nth=2 cut-after", ""},
		{"* p=0.2 status=503", ""},
		{"* every=3 from=2 times=4 delay=2s extra-fields", ""},
		{"connect nth=1 refuse", ""},
		{"topUpsCreate nth=1 cut-after", ""},
		{"meGet redirect=https://example.test/a?b=c", ""},
		{"meGet header=X-RateLimit-Reset:1:2", ""},
		{"contactsBulkCreate item=DUPLICATE_KEY", ""},
		{"", "empty"},
		{"messagesSend", "without a fault"},
		{"sendMessage cut-after", "no operation"},
		{"messagesSend explode", "neither"},
		{"messagesSend nth=0 cut-after", "at least 1"},
		{"messagesSend nth=two cut-after", "whole number"},
		{"messagesSend p=2 cut-after", "from 0 to 1"},
		{"messagesSend status=99", "HTTP status"},
		{"messagesSend delay=2", "time such as"},
		{"messagesSend gzip=1", "no value"},
		{"messagesSend header=X", "NAME:VALUE"},
		{"messagesSend refuse", "Refuse needs OnConnect"},
		{"connect status=503", "can only be refused or cut"},
	}
	for _, test := range tests {
		_, err := parseRule(test.rule)
		if (err == nil) != (test.problem == "") || err != nil && !strings.Contains(err.Error(), test.problem) {
			t.Errorf("parseRule(%q) = %v, want %q", test.rule, err, test.problem)
		}
	}
}
