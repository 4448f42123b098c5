package arch_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
	"github.com/botix-pro/sdk-go/webhookverify"
)

// The program in docs/worker.md is built as it stands there and run. A payment comes
// before the sign-up, everything comes twice, the process is killed between a credit
// and its answer, and a second one goes on when the lease of the first has run out:
// there is one customer, with one credit for each payment.
func TestTheWorkerOfThePageWorks(t *testing.T) {
	t.Parallel()
	program := buildPage(t, "../../docs/worker.md")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	sandbox, err := botixtest.Start(botixtest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sandbox.Close(); err != nil {
			t.Error(err)
		}
	})
	p := &pageWorker{program: program, dir: t.TempDir(), sandbox: sandbox}
	account := sandbox.Partner(1)

	sandbox.Script(botixtest.On("topUpsCreate").Nth(1).Do(botixtest.DelayAfter(5 * time.Second)))
	p.start(ctx, t)
	p.deliver(ctx, t, "msg_1", `{"type":"payment.succeeded","id":"pay_1","customer":"cust_42","amount":"50.00"}`, http.StatusNoContent)
	p.deliver(ctx, t, "msg_2", `{"type":"customer.signed_up","id":"signup_1","customer":"cust_42","amount":"100.00"}`, http.StatusNoContent)
	p.deliver(ctx, t, "msg_1", `{"type":"payment.succeeded","id":"pay_1","customer":"cust_42","amount":"50.00"}`, http.StatusNoContent)
	p.deliver(ctx, t, "msg_3", `no JSON`, http.StatusNoContent)
	p.until(ctx, t, "the first credit", func() bool { return len(account.Credits("pay_1/1")) > 0 })
	p.kill(t)

	p.start(ctx, t)
	p.deliver(ctx, t, "msg_2", `{"type":"customer.signed_up","id":"signup_1","customer":"cust_42","amount":"100.00"}`, http.StatusNoContent)
	p.deliver(ctx, t, "msg_4", `{"type":"payment.succeeded","id":"pay_1","customer":"cust_42","amount":"50.00"}`, http.StatusNoContent)
	p.deliver(ctx, t, "msg_5", `{"type":"payment.succeeded","id":"pay_2","customer":"cust_42","amount":"7.00"}`, http.StatusNoContent)
	p.until(ctx, t, "the second credit", func() bool { return len(account.Credits("pay_2/1")) > 0 })
	p.until(ctx, t, "the stored answer about the first", func() bool {
		return slices.ContainsFunc(sandbox.Journal().Calls("topUpsCreate"), func(c botixtest.Call) bool { return c.Replayed })
	})
	p.stop(t)
	for _, reference := range []string{"pay_1/1", "pay_2/1"} {
		if n := len(account.Credits(reference)); n != 1 {
			t.Errorf("%s was credited %d times", reference, n)
		}
	}
	p.allDone(t)

	groups := account.GroupsOf("cust_42")
	if len(groups) != 1 {
		t.Fatalf("the customer has %d groups, want 1", len(groups))
	}
	g := groups[0]
	if g.Balance != "57.00" || g.SpendLimit == nil || *g.SpendLimit != "100.00" {
		t.Errorf("the group is %+v, want a balance of 57.00 and a limit of 100.00", g)
	}
	keys, err := filepath.Glob(filepath.Join(p.dir, "secrets", "*"))
	if err != nil || len(keys) != 1 || len(account.Keys(g.ID)) != 1 {
		t.Fatalf("%d secrets are kept of %d keys, %v; want one of one", len(keys), len(account.Keys(g.ID)), err)
	}
	kept, err := os.ReadFile(keys[0])
	if err != nil || string(kept) != account.Secret(account.Keys(g.ID)[0].ID) {
		t.Errorf("the secret that is kept is not that of the key, %v", err)
	}
	for _, want := range []string{"INFO provisioned customer=cust_42", "WARN for a person case="} {
		if !strings.Contains(p.said.String(), want) {
			t.Errorf("the program did not say %q; it said\n%s", want, &p.said)
		}
	}
}

// buildPage builds the program of a page.
func buildPage(t *testing.T, page string) (program string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```go\n")
	source, _, whole := strings.Cut(rest, "\n```")
	if !whole {
		t.Fatalf("%s has no program", page)
	}
	dir, err := os.MkdirTemp(".", "_worker") // inside the module, and hidden from ./...
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	file := filepath.Join(dir, "main.go")
	if err := os.WriteFile(file, []byte(source+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(t.TempDir(), "worker")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, file).CombinedOutput(); err != nil {
		t.Fatalf("the program of %s: %v\n%s", page, err, out)
	}
	return program
}

// pageWorker is the program of the page, which is started and stopped.
type pageWorker struct {
	program, dir string
	sandbox      *botixtest.Server

	cmd  *exec.Cmd
	url  string
	read chan error
	said bytes.Buffer // to be read when it is stopped
}

const pageSecret = "whsec_c2hvcC1zZWNyZXQtZm9yLWEtdHJpYWw="

// start returns when the program listens.
func (p *pageWorker) start(ctx context.Context, t *testing.T) {
	t.Helper()
	p.cmd = exec.CommandContext(ctx, p.program)
	p.cmd.Dir = p.dir
	p.cmd.Env = append(os.Environ(), "BOTIX_URL="+p.sandbox.URL(), "BOTIX_PARTNER_KEY="+p.sandbox.PartnerKey(),
		"SHOP_WEBHOOK_SECRET="+pageSecret, "SHOP_LISTEN=127.0.0.1:0")
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(io.TeeReader(stderr, &p.said))
	p.url = ""
	for p.url == "" {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the program does not listen: %v, %v\n%s", err, p.cmd.Wait(), &p.said)
		}
		if _, address, ok := strings.Cut(strings.TrimSpace(line), "listening on="); ok {
			p.url = "http://" + address
		}
	}
	p.read = make(chan error, 1)
	go func(ended chan<- error) {
		_, err := io.Copy(io.Discard, lines)
		ended <- err
	}(p.read)
}

// kill leaves the program no time for anything.
func (p *pageWorker) kill(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if readErr, err := <-p.read, p.cmd.Wait(); err == nil || readErr != nil {
		t.Fatalf("the program was to be killed, and has ended with %v, %v", err, readErr)
	}
}

// stop interrupts the program, which has to end well.
func (p *pageWorker) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	readErr := <-p.read // all it says is read before it is waited for
	if err := p.cmd.Wait(); err != nil || readErr != nil {
		t.Fatalf("the program ended with %v, %v; it said\n%s", err, readErr, &p.said)
	}
}

// allDone looks into the ledger that the program has left.
func (p *pageWorker) allDone(t *testing.T) {
	t.Helper()
	led, err := sqlite.Open(t.Context(), filepath.Join(p.dir, "ops.db"), ledger.Namespace("shop-prod"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := led.Close(); err != nil {
			t.Error(err)
		}
	}()
	n := 0
	for op, err := range led.All(t.Context(), ledger.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; op.Status != ledger.StatusSucceeded {
			t.Errorf("operation %s of %s is %s", op.Intent.Action, op.Intent.Customer, op.Status)
		}
	}
	if want := 6; n != want { // the workflow and its three steps, two credits
		t.Errorf("%d operations are recorded, want %d", n, want)
	}
}

func (p *pageWorker) deliver(ctx context.Context, t *testing.T, id, body string, want int) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header, err = webhookverify.StandardWebhooks().Sign(webhookverify.NewSecret(pageSecret), id, time.Now(), []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode != want {
		t.Errorf("%s was answered %d, %v, want %d", id, answer.StatusCode, err, want)
	}
}

// until waits for what the program brings about.
func (p *pageWorker) until(ctx context.Context, t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-ctx.Done():
			<-p.read // it is killed with the context
			t.Fatalf("waiting for %s: %v; the program ended with %v and said\n%s", what, context.Cause(ctx), p.cmd.Wait(), &p.said)
		case <-tick.C:
		}
	}
}
