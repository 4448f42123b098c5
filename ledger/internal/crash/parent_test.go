//go:build unix

package crash_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
)

// helper is a helper process, seen from the test.
type helper struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	gone chan struct{} // closed when it has ended and all it said was read

	mu       sync.Mutex
	last     int
	waiting  map[int]chan report
	loose    []string // what it said without being asked
	finished bool
}

// startHelper starts one. It ends with the test, or earlier.
func startHelper(t testing.TB) *helper {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), inHelper+"=1", "GOMAXPROCS=2")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h := &helper{cmd: cmd, in: in, gone: make(chan struct{}), waiting: make(map[int]chan report)}
	go h.listen(out)
	t.Cleanup(func() {
		_ = in.Close()
		h.signal(syscall.SIGCONT)
		<-h.gone
	})
	return h
}

// listen hands out what the helper says, and waits for its end.
func (h *helper) listen(out io.Reader) {
	said := json.NewDecoder(out)
	for {
		var r report
		if err := said.Decode(&r); err != nil {
			break // the process has ended, perhaps in the middle of a word
		}
		h.mu.Lock()
		if ch := h.waiting[r.ID]; ch != nil {
			ch <- r
		} else {
			h.loose = append(h.loose, r.Err)
		}
		h.mu.Unlock()
	}
	_ = h.cmd.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.finished = true
	for _, ch := range h.waiting {
		close(ch)
	}
	close(h.gone)
}

// order has the helper begin something. What it reports comes over the channel,
// which is closed when the process ends.
func (h *helper) order(o order) (id int, reports <-chan report) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	o.ID = h.last
	ch := make(chan report, 4)
	if h.finished {
		close(ch)
		return o.ID, ch
	}
	h.waiting[o.ID] = ch
	h.write(o)
	return o.ID, ch
}

// goOn lets a paused order go on; it stops a load.
func (h *helper) goOn(id int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.write(order{ID: id, Do: "go"})
}

func (h *helper) write(o order) {
	line, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	_, _ = h.in.Write(append(line, '\n')) // a process that has been killed does not read
}

var errGone = errors.New("the helper process ended")

// do has an order followed to its end.
func (h *helper) do(o order) (report, error) {
	_, reports := h.order(o)
	r, ok := <-reports
	switch {
	case !ok:
		return r, errGone
	case r.Err != "":
		return r, errors.New(r.Err)
	}
	return r, nil
}

func (h *helper) signal(s syscall.Signal) { _ = h.cmd.Process.Signal(s) }

// close lets the process end.
func (h *helper) close() {
	_ = h.in.Close()
	<-h.gone
}

func (h *helper) kill() {
	h.signal(syscall.SIGKILL)
	<-h.gone
}

// killed reports whether the process ended by SIGKILL.
func (h *helper) killed() bool {
	<-h.gone
	status, ok := h.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// stage is a sandbox and the file of a ledger.
type stage struct {
	*botixtest.Server
	dir     string
	contact int64
	here    chan struct{} // a token for each request that has arrived
	decided chan struct{} // and for each whose answer is decided

	mu      sync.Mutex
	secrets []string
}

func newStage(t testing.TB, cfg botixtest.Config) *stage {
	t.Helper()
	s, err := openStage(t.TempDir(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Close()
		for _, leak := range s.leaks() {
			t.Error(leak)
		}
	})
	return s
}

func openStage(dir string, cfg botixtest.Config) (*stage, error) {
	s := &stage{dir: dir, here: make(chan struct{}, 1<<20), decided: make(chan struct{}, 1<<20)}
	if cfg.PerMinute == 0 {
		cfg.PerMinute, cfg.PerDay = botixtest.Unlimited, botixtest.Unlimited
	}
	cfg.OnCall = func(botixtest.Call) { s.decided <- struct{}{} }
	var err error
	if s.Server, err = botixtest.Start(cfg); err != nil {
		return nil, err
	}
	s.Script(botixtest.On("*").When(func(botixtest.Call) bool {
		s.here <- struct{}{}
		return false
	}).Do(botixtest.Unharmed()))
	s.contact = s.AddContact(botixtest.Contact{FirstName: "Анна", LastChannel: "telegram"})
	return s, nil
}

func (s *stage) file() string { return filepath.Join(s.dir, "ops.db") }

// order is a call against this stage.
func (s *stage) order(operation string, n int) order {
	return order{
		Do: "call", File: s.file(), URL: s.URL(), APIKey: s.APIKey(),
		Operation: operation, N: n, Contact: s.contact,
	}
}

// toContact reports whether a request is to change the stage's contact.
func (s *stage) toContact(c botixtest.Call) bool {
	return c.Method != "GET" && strings.HasPrefix(c.Path+"/", fmt.Sprintf("/public/v1/contacts/%d/", s.contact))
}

// arrived waits until n requests have reached the sandbox, and settled until it
// has decided about them.
func (s *stage) arrived(n int) error { return s.wait(n, s.here) }
func (s *stage) settled(n int) error { return s.wait(n, s.decided) }

func (s *stage) wait(n int, tokens <-chan struct{}) error {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for range n {
		select {
		case <-tokens:
		case <-limit.C:
			return fmt.Errorf("the sandbox saw %d requests, want %d", len(s.Journal().Calls()), n)
		}
	}
	return nil
}

// remember changes nothing in an answer; it learns the secret of a webhook, to
// look for it in the ledger's files.
func (s *stage) remember() botixtest.Fault {
	return botixtest.Change("remember", func(a *botixtest.Answer) {
		var envelope struct {
			Data struct {
				Secret string `json:"secret"`
			} `json:"data"`
		}
		if json.Unmarshal(a.Body, &envelope) == nil && envelope.Data.Secret != "" {
			s.keepSecret(envelope.Data.Secret)
		}
	})
}

// keepSecret has a text looked for in the ledger's files, too.
func (s *stage) keepSecret(secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secrets = append(s.secrets, secret)
}

// leaks searches the files of the ledger for what must not be in them.
func (s *stage) leaks() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	files, err := filepath.Glob(s.file() + "*")
	if err != nil || len(files) == 0 {
		return []string{fmt.Sprintf("no ledger at %s: %v", s.file(), err)}
	}
	var found []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return []string{err.Error()}
		}
		for _, secret := range append(s.secrets, s.APIKey()) {
			if strings.Contains(string(data), secret) {
				found = append(found, fmt.Sprintf("%s holds a secret: %s…", filepath.Base(file), secret[:8]))
			}
		}
	}
	return found
}
