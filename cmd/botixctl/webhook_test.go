package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/webhookverify"
)

const body = `{"event":"message.received","project_id":1,"created_at":"2026-05-28T11:59:00Z","data":{"id":77,"text":"<Привет>"}}`

// signed are the headers of a body under a secret.
func signed(t *testing.T, scheme webhookverify.Scheme, secret, body string) string {
	t.Helper()
	header, err := scheme.Sign(webhookverify.NewSecret(secret), "msg_1", noon, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return headerText(header)
}

func TestVerify(t *testing.T) {
	t.Parallel()
	genuine := writeTemp(t, "headers", "POST /hook HTTP/1.1\r\n"+strings.ReplaceAll(signed(t, webhookverify.BOTIX(), ourSecret, body), "\n", "\r\n")+"\r\n")
	other := writeTemp(t, "headers", signed(t, webhookverify.BOTIX(), ourSecret, body)+"X-Botix-Event: contact.deleted\n")
	twice := writeTemp(t, "headers", strings.Repeat(signed(t, webhookverify.BOTIX(), ourSecret, body), 2))
	length := writeTemp(t, "headers", signed(t, webhookverify.BOTIX(), ourSecret, body)+fmt.Sprintf("Content-Length: %d\n", len(body)))
	stripe := writeTemp(t, "headers", signed(t, webhookverify.Stripe(), stripeSecret, body))
	standard := writeTemp(t, "headers", signed(t, webhookverify.StandardWebhooks(), secondSecret, body))
	request := writeTemp(t, "request", "POST / HTTP/1.1\r\n"+signed(t, webhookverify.BOTIX(), ourSecret, body)+"\r\n"+body)
	cutOff := writeTemp(t, "headers", signed(t, webhookverify.BOTIX(), ourSecret, body[:9]))
	keyFile := writeTemp(t, "secret.txt", ourSecret+"\r\n")
	indented := strings.Replace(body, ",", ", ", 1)

	var report strings.Builder
	for _, test := range []struct {
		name, args, stdin string
		code              int
	}{
		{"genuine", "-headers " + genuine, body, exitOK},
		{"under the second of two secrets", "-secret-env OLD_SECRET -secret-file " + keyFile + " -headers " + genuine, body, exitOK},
		{"a whole request", "-request " + request, "", exitOK},
		{"the signature as a flag", "-header X-Botix-Signature:0", body, exitNo},
		{"an unsigned header differs", "-headers " + other, body, exitOK},
		{"Stripe in time", "-scheme stripe -secret-env STRIPE_SECRET -at 2026-05-28T12:04:00Z -headers " + stripe, body, exitOK},
		{"Stripe too late", "-scheme stripe -secret-env STRIPE_SECRET -at 2026-05-28T12:06:00Z -headers " + stripe, body, exitNo},
		{"Standard Webhooks", "-scheme standard -secret-env STANDARD_SECRET -headers " + standard, body, exitOK},
		{"another secret", "-secret-env OLD_SECRET -headers " + genuine, body, exitNo},
		{"a line break at its end", "-headers " + genuine, body + "\n", exitNo},
		{"JSON written anew", "-headers " + genuine, strings.Replace(body, "<", `\u003c`, 1), exitNo},
		{"another body", "-headers " + genuine, indented, exitNo},
		{"a body that is not there", "-headers " + length, "", exitNo},
		{"no header", "", body, exitNo},
		{"genuine, and no JSON", "-headers " + cutOff, body[:9], exitOK},
		{"two signatures", "-headers " + twice, body, exitNo},
	} {
		r := execute(t, testTool(test.stdin), "webhook verify", strings.Fields(test.args)...)
		if r.code != test.code || r.stderr != "" {
			t.Errorf("%s: code %d, want %d; %s", test.name, r.code, test.code, r.stderr)
		}
		if strings.Contains(r.stdout, "Привет") {
			t.Errorf("%s: shows the body: %s", test.name, r.stdout)
		}
		fmt.Fprintf(&report, "# %s\n%s\n", test.name, r.stdout)
	}
	golden(t, "verify.txt", report.String())
}

func TestVerifyIsRefused(t *testing.T) {
	t.Parallel()
	noHeaders := writeTemp(t, "request", "only a line")
	for _, test := range []struct {
		args   string
		code   int
		stderr string
	}{
		{"-secret-env NOWHERE", exitUsage, "the environment has no NOWHERE: set it"},
		{"-secret-env BLANK_SECRET", exitFailed, "BLANK_SECRET is empty: anybody could sign with it"},
		{"-scheme standard -secret-env BROKEN_SECRET", exitFailed, "BROKEN_SECRET is not base64"},
		{"-secret-file nowhere", exitFailed, "nowhere"},
		{"-scheme rot13", exitUsage, "botix, standard, stripe, github"},
		{"-body nowhere", exitFailed, "nowhere"},
		{"-headers nowhere", exitFailed, "nowhere"},
		{"-header nonsense", exitFailed, "not a header"},
		{"-request " + noHeaders, exitFailed, "no empty line"},
		{"-at noon", exitUsage, "-at"},
		{"now", exitUsage, `unexpected argument "now"`},
	} {
		execute(t, testTool(""), "webhook verify", strings.Fields(test.args)...).check(t, test.args, test.code, "", test.stderr)
	}
	large := writeTemp(t, "body", strings.Repeat("x", maxInput+1))
	execute(t, testTool(""), "webhook verify", "-body", large).check(t, "a large body", exitFailed, "", "more than")
}

// What sign prints is what verify takes, for every scheme.
func TestSign(t *testing.T) {
	t.Parallel()
	var report strings.Builder
	for _, args := range []string{
		"", "-scheme standard -secret-env STANDARD_SECRET -id msg_7 -at 2026-05-28T11:58:00Z",
		"-scheme standard -secret-env STANDARD_SECRET", "-scheme stripe -secret-env STRIPE_SECRET", "-scheme github",
	} {
		words := strings.Fields(args)
		r := execute(t, testTool(body), "webhook sign", words...)
		r.check(t, args, exitOK, "Content-Type: application/json\n", "")
		fmt.Fprintf(&report, "$ botixctl webhook sign %s\n%s\n", args, r.stdout)
		var checked []string
		for i := 0; i < len(words); i++ {
			if words[i] == "-id" || words[i] == "-at" {
				i++
				continue
			}
			checked = append(checked, words[i])
		}
		headers := writeTemp(t, "headers", r.stdout)
		execute(t, testTool(body), "webhook verify", append([]string{"-headers", headers}, checked...)...).check(t, args, exitOK, "verified", "")
	}
	golden(t, "sign.txt", report.String())
	execute(t, testTool(""), "webhook sign").check(t, "an empty body", exitFailed, "", "the body is empty")
	execute(t, testTool(body), "webhook sign", "-secret-env", "OLD_SECRET", "-secret-env", "BOTIX_WEBHOOK_SECRET").check(t, "two secrets", exitUsage, "", "one secret signs")
	execute(t, testTool(body), "webhook sign", "-scheme", "standard", "-secret-env", "STANDARD_SECRET", "-id", "a.b").check(t, "an id", exitFailed, "", "cannot be the id")
}

// listening starts an inspector and returns its address, and what came of it.
func listening(t *testing.T, args ...string) (url string, out *output, ended chan int, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	out, ended = &output{wrote: make(chan struct{}, 1)}, make(chan int, 1)
	go func() {
		tool := testTool("")
		tool.stdout, tool.stderr = out, out
		ended <- tool.run(ctx, append([]string{"webhook", "listen", "-addr", "127.0.0.1:0"}, args...))
	}()
	found := regexp.MustCompile(`http://\S+[^,\s]`).FindString(out.wait(t, "Ctrl-C"))
	return found, out, ended, cancel
}

// deliver posts a body and returns the status of the answer.
func deliver(t *testing.T, url, headers, body string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	for line := range strings.Lines(headers) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		request.Header.Add(name, value)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil {
		t.Error(err)
	}
	return answer.StatusCode
}

func TestListenTellsEachDelivery(t *testing.T) {
	t.Parallel()
	save := filepath.Join(t.TempDir(), "kept")
	url, out, ended, _ := listening(t, "-secret-env", "BOTIX_WEBHOOK_SECRET", "-secret-env", "OLD_SECRET", "-n", "9", "-save", save, "-max-body", "2000")
	botix := webhookverify.BOTIX()
	old := strings.Replace(body, "2026-05-28T11:59:00Z", "2026-05-25T11:59:00Z", 1)
	ours := signed(t, botix, ourSecret, body)
	large := strings.Repeat("x", 3000)
	for _, d := range []struct {
		headers, body string
		want          int
	}{
		{ours, body, 204},
		{ours + "X-Botix-Request-Id: another\n", body, 204},
		{ours + "X-Botix-Event: contact.deleted\n", body, 204},
		{signed(t, botix, oldSecret, old), old, 204},
		{signed(t, botix, stripeSecret, body), body, 401},
		{"", body, 401},
		{ours, strings.Replace(body, "<", `\u003c`, 1), 401},
		{signed(t, botix, ourSecret, large), large, 413},
		{signed(t, botix, ourSecret, "\x1b[2J"), "\x1b[2J", 204},
	} {
		if got := deliver(t, url+"/hook?token=not-shown", d.headers, d.body); got != d.want {
			t.Errorf("%q was answered %d, want %d", d.body[:min(len(d.body), 60)], got, d.want)
		}
	}
	if code := <-ended; code != exitOK {
		t.Errorf("code %d", code)
	}
	for _, hidden := range []string{ourSecret, oldSecret, "Привет", "not-shown", "\x1b"} {
		if strings.Contains(out.String(), hidden) {
			t.Errorf("it shows %q", hidden)
		}
	}
	golden(t, "listen.txt", strings.ReplaceAll(out.String(), url, "http://127.0.0.1:8788"))

	// What was kept can be verified, whatever the verdict was.
	kept, err := filepath.Glob(filepath.Join(save, "*.http"))
	if err != nil || len(kept) != 9 {
		t.Fatalf("kept: %q, %v", kept, err)
	}
	for i, want := range map[int]int{1: exitOK, 4: exitOK, 5: exitNo, 7: exitNo} {
		file := filepath.Join(save, fmt.Sprintf("20260528T120000.000-%d.http", i))
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", file, info, err)
		}
		r := execute(t, testTool(""), "webhook verify", "-secret-env", "BOTIX_WEBHOOK_SECRET", "-secret-env", "OLD_SECRET", "-request", file)
		if r.code != want {
			t.Errorf("kept delivery %d: code %d, want %d: %s%s", i, r.code, want, r.stdout, r.stderr)
		}
	}
}

func TestListenPrintsBodiesWhenAsked(t *testing.T) {
	t.Parallel()
	url, out, ended, stop := listening(t, "-body", "-status", "503")
	if got := deliver(t, url, signed(t, webhookverify.BOTIX(), ourSecret, body), body); got != 503 {
		t.Errorf("answered %d, want 503", got)
	}
	if got := deliver(t, url, "", "{\n\x1b[2J}\n"); got != 401 {
		t.Errorf("answered %d, want 401", got)
	}
	stop()
	if code := <-ended; code != exitOK {
		t.Errorf("code %d", code)
	}
	for _, want := range []string{"    " + body + "\n", "    {\n    \\x1b[2J}\n", "stopped after 2 deliveries: 1 verified, 0 of them repeats; 1 refused"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// A sender that breaks off in the middle is told, and ends nothing.
func TestListenSurvivesASenderThatBreaksOff(t *testing.T) {
	t.Parallel()
	url, out, ended, _ := listening(t, "-n", "2")
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-Botix-Signature: "+strings.Repeat("0", 64)+"\r\nContent-Length: 100\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	out.wait(t, "could not be read")
	deliver(t, url, signed(t, webhookverify.BOTIX(), ourSecret, body), body)
	if code := <-ended; code != exitOK || !strings.Contains(out.String(), "1 verified") {
		t.Errorf("code %d: %s", code, out)
	}
}

func TestListenIsRefused(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	file := writeTemp(t, "file", "")
	for args, stderr := range map[string]string{
		"-status 99": "-status is from 200", "-n -1": "not negative", "-max-body 0": "must be positive",
		"-addr " + taken.Addr().String(): "address already in use", "-save " + file: "not a directory",
	} {
		r := execute(t, testTool(""), "webhook listen", strings.Fields(args)...)
		if r.code == exitOK || !strings.Contains(r.stderr, stderr) {
			t.Errorf("%s: code %d, %s; want %q", args, r.code, r.stderr, stderr)
		}
	}
}

// strict is a receiver that does all that it should; careless takes everything.
func strict(t *testing.T, scheme webhookverify.Scheme, secret string) string {
	t.Helper()
	v, err := webhookverify.New(scheme, webhookverify.NewSecret(secret))
	if err != nil {
		t.Fatal(err)
	}
	h, err := webhookverify.NewHandler(v, func(context.Context, *webhookverify.Delivery) error { return nil },
		webhookverify.WithClock(func() time.Time { return noon }))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

func careless(t *testing.T, status int) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// Every scenario of every scheme is answered as it should be by a receiver that
// verifies, and as it should not be by one that does not.
func TestSend(t *testing.T) {
	t.Parallel()
	variables := map[string]string{"botix": "BOTIX_WEBHOOK_SECRET", "standard": "STANDARD_SECRET", "stripe": "STRIPE_SECRET", "github": "OLD_SECRET"}
	values := map[string]string{"botix": ourSecret, "standard": secondSecret, "stripe": stripeSecret, "github": oldSecret}
	var report strings.Builder
	for _, s := range signers {
		url := strict(t, s.scheme(), values[s.name])
		for _, scenario := range scenarios {
			r := execute(t, testTool(""), "webhook send", "-scheme", s.name, "-secret-env", variables[s.name], "-scenario", scenario.name, url)
			r.check(t, s.name+" "+scenario.name, exitOK, "all answered as it should be", "")
			if s.name == "botix" || s.name == "stripe" {
				fmt.Fprintf(&report, "# %s, %s\n%s\n", s.name, scenario.name, r.stdout)
			}
		}
		r := execute(t, testTool(""), "webhook send", "-scheme", s.name, "-secret-env", variables[s.name], "-scenario", "tampered", careless(t, 200))
		r.check(t, s.name+" to a careless one", exitNo, "WRONG, it should be 4xx", "")
		if s.name == "botix" {
			fmt.Fprintf(&report, "# tampered, to a receiver that takes everything\n%s\n", r.stdout)
		}
	}
	golden(t, "send.txt", report.String())
}

func TestSendOfABodyOfOnesOwn(t *testing.T) {
	t.Parallel()
	url := strict(t, webhookverify.BOTIX(), ourSecret)
	for _, content := range []string{body, "not JSON at all", "{\n \t\"a\": 1\n }"} {
		file := writeTemp(t, "body", content)
		for _, scenario := range []string{"once", "duplicate", "tampered"} {
			execute(t, testTool(""), "webhook send", "-body", file, url, "-scenario", scenario).check(t, scenario, exitOK, "all answered", "")
		}
		execute(t, testTool(""), "webhook send", "-body", file, "-scenario", "burst", url).check(t, "burst", exitUsage, "", "needs several")
	}
}

func TestSendTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	url := strict(t, webhookverify.BOTIX(), ourSecret)
	for _, test := range []struct {
		args           string
		code           int
		stdout, stderr string
	}{
		{closed.URL + "/?token=not-shown", exitNo, "no answer: ", ""},
		{careless(t, 302), exitNo, "302  WRONG, it should be 2xx", ""},
		{"-secret-env OLD_SECRET " + url, exitNo, "401  WRONG, it should be 2xx", ""},
		{"-scenario burst -n 3000 " + careless(t, 503), exitNo, "3000 × 503  WRONG", ""},
		{"-scenario flight " + url, exitUsage, "", `there is no scenario "flight"`},
		{"-n 0 " + url, exitUsage, "", "-n is from"},
		{"", exitUsage, "", "where to?"},
		{"ftp://x", exitUsage, "", "http or https"},
		{"-secret-env NOWHERE " + url, exitUsage, "", "NOWHERE"},
		{"-scheme standard -secret-env BROKEN_SECRET " + url, exitFailed, "", "is not base64"},
	} {
		r := execute(t, testTool(""), "webhook send", strings.Fields(test.args)...)
		r.check(t, test.args, test.code, test.stdout, test.stderr)
		if strings.Contains(r.stdout+r.stderr, "not-shown") {
			t.Errorf("%s: shows the query of the URL", test.args)
		}
	}
}

// The two ends of the tool understand each other.
func TestSendToListen(t *testing.T) {
	t.Parallel()
	url, out, ended, stop := listening(t)
	execute(t, testTool(""), "webhook send", "-scenario", "duplicate", url).check(t, "duplicate", exitOK, "all answered", "")
	stop()
	if code := <-ended; code != exitOK || !strings.Contains(out.String(), "5 verified, 4 of them repeats; 0 refused") {
		t.Errorf("code %d: %s", code, out)
	}
}

func TestCapturesAreRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"POST / HTTP/1.1\r\nA: b\r\n\r\n\r\nbody": "\r\nbody",
		"A: b\n\nbody\n": "body\n",
		"\nbody":         "body",
	} {
		if _, got, err := splitRequest([]byte(text)); err != nil || string(got) != want {
			t.Errorf("splitRequest(%q) = %q, %v; want %q", text, got, err, want)
		}
	}
	if !bytes.Equal([]byte(strings.Join(headLines("HTTP/2 204 \r\nA: b\r\n\r\nC: d"), "|")), []byte("A: b")) {
		t.Error("headLines reads past the headers")
	}
}
