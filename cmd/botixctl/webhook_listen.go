package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/botix-pro/sdk-go/webhookverify"
)

// inspector is an endpoint that tells what comes.
type inspector struct {
	now      func() time.Time
	out      *log.Logger // a delivery at a time, whatever goroutine it comes from
	verifier *webhookverify.Verifier
	gate     http.Handler
	most     int64  // bytes of a body
	bodies   bool   // are printed
	save     string // folder for deliveries; "" for none
	stop     int    // after so many; 0 for never

	mu      sync.Mutex
	count   int
	repeats int
	refused int
	failed  error
	known   map[string]int // number of the first delivery, by identity
	order   []string       // of known, the oldest first
	end     func()         // when stop was reached, or something failed
}

// maxKnown bounds what the inspector remembers of deliveries.
const maxKnown = 10_000

// listen prints deliveries until ctx ends.
func (t tool) listen(flags *flag.FlagSet) action {
	in := &inspector{now: t.now, out: log.New(t.stdout, "", 0), known: map[string]int{}}
	s := declareSigning(flags)
	addr := flags.String("addr", "127.0.0.1:8788", "`address` to listen on; port 0 takes a free one")
	status := flags.Int("status", http.StatusNoContent, "what deliveries are answered whose signature holds; 503 lets a sender come again")
	flags.Int64Var(&in.most, "max-body", webhookverify.DefaultMaxBody, "`bytes` that a body may have")
	flags.BoolVar(&in.bodies, "body", false, "print bodies too; they hold personal data")
	flags.StringVar(&in.save, "save", "", "`folder` to keep each delivery in, as botixctl webhook verify -request reads it")
	flags.IntVar(&in.stop, "n", 0, "end after so many deliveries; 0 is never")
	return func(ctx context.Context, _ []string) (err error) {
		if *status < 200 || *status > 599 || in.stop < 0 {
			return misuse("-status is from 200 to 599, and -n not negative")
		}
		if in.verifier, err = t.verifier(s); err != nil {
			return err
		}
		if err := in.stand(*status); err != nil {
			return err
		}
		if in.save != "" {
			if err := os.MkdirAll(in.save, 0o700); err != nil {
				return err
			}
		}
		socket, err := new(net.ListenConfig).Listen(ctx, "tcp", *addr)
		if err != nil {
			return err
		}
		var names []string
		for _, use := range in.verifier.Uses() {
			names = append(names, plain(use.Secret))
		}
		in.out.Printf("listening for %s on http://%s, under %s\nCtrl-C ends it.\n", in.verifier.Scheme().Name, socket.Addr(), strings.Join(names, ", "))
		return in.serve(ctx, socket)
	}
}

// stand builds the gate, behind which what is verified is answered with a status.
func (in *inspector) stand(status int) error {
	verify, err := webhookverify.Middleware(in.verifier,
		webhookverify.WithClock(in.now), webhookverify.WithMaxBody(in.most), webhookverify.WithRefusalFunc(noteRefusal))
	if err != nil {
		return err
	}
	in.gate = verify(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen := seenIn(r.Context())
		seen.delivery, _ = webhookverify.DeliveryOf(r.Context())
		seen.status = status
		w.WriteHeader(status)
	}))
	return nil
}

// serve takes deliveries until ctx ends or there were enough of them.
func (in *inspector) serve(ctx context.Context, socket net.Listener) error {
	server := &http.Server{Handler: in, ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0)}
	listening, end := context.WithCancel(ctx)
	defer end()
	in.end = end
	served := make(chan error, 1)
	go func() { served <- server.Serve(socket) }()
	select {
	case err := <-served:
		return err
	case <-listening.Done():
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := server.Shutdown(within); err != nil { // somebody takes his time
		_ = server.Close()
	}
	<-served
	in.mu.Lock()
	defer in.mu.Unlock()
	in.out.Printf("stopped after %s: %d verified, %d of them repeats; %d refused", counted(in.count, "delivery"), in.count-in.refused, in.repeats, in.refused)
	return in.failed
}

// seen is a request, as the inspector comes to know it.
type seen struct {
	at       time.Time
	body     []byte // as much of it as is read
	status   int    // that it was answered
	delivery *webhookverify.Delivery
	refusal  webhookverify.Refusal
}

type seenKey struct{}

func seenIn(ctx context.Context) *seen { return ctx.Value(seenKey{}).(*seen) }

func noteRefusal(ctx context.Context, r webhookverify.Refusal) {
	s := seenIn(ctx)
	s.refusal, s.status = r, r.Status
}

// readAhead reads a body up to a byte more than is allowed, also one that will be
// refused for its headers, and returns a reader that meets the same end. The time
// for it is that of every receiver.
func readAhead(w http.ResponseWriter, r *http.Request, most int64) (body []byte, again io.Reader, err error) {
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Now().Add(webhookverify.DefaultReadTimeout)); err != nil {
		return nil, nil, err
	}
	body, broken := io.ReadAll(io.LimitReader(r.Body, most+1))
	again = bytes.NewReader(body)
	if broken != nil {
		return body, io.MultiReader(again, failingReader{broken}), nil
	}
	return body, again, control.SetReadDeadline(time.Time{})
}

// failingReader is the end of a body that broke off.
type failingReader struct{ err error }

func (f failingReader) Read([]byte) (int, error) { return 0, f.err }

func (in *inspector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := &seen{at: in.now()}
	inner := r.WithContext(context.WithValue(r.Context(), seenKey{}, s))
	body, again, err := readAhead(w, r, in.most)
	if err != nil {
		return // the connection is gone
	}
	s.body, inner.Body = body[:min(int64(len(body)), in.most)], io.NopCloser(again)
	in.gate.ServeHTTP(w, inner)

	in.mu.Lock()
	defer in.mu.Unlock()
	in.count++
	in.out.Print(in.line(r, s))
	if in.bodies && len(s.body) > 0 {
		in.out.Print(indented(s.body))
	}
	if in.save != "" && in.failed == nil {
		in.failed = in.keep(r, s)
	}
	if in.count == in.stop || in.failed != nil {
		in.end()
	}
}

// line tells one delivery. It is called with mu held.
func (in *inspector) line(r *http.Request, s *seen) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s #%d %s %s → %d  ", s.at.UTC().Format("15:04:05.000"), in.count, brief(r.Method, 10), brief(r.URL.Path, 60), s.status)
	d := s.delivery
	if d == nil {
		in.refused++
		fmt.Fprintf(&b, "REFUSED: %s", reason(s.refusal.Err))
		fmt.Fprintf(&b, "  %d bytes", len(s.body))
		for _, hint := range hints(in.verifier, s.refusal.Err, r.Header, s.body, r.ContentLength, s.at) {
			b.WriteString("  HINT: " + hint)
		}
		return b.String()
	}
	event, err := d.Event()
	if err != nil {
		fmt.Fprintf(&b, "(%s)", unread(err))
	} else {
		b.WriteString(brief(string(event.Type), 60))
	}
	fmt.Fprintf(&b, "  %d bytes  under %s  %s", len(d.Body), plain(d.Match.Secret), shortIdentity(d.Identity()))
	if first, again := in.known[d.Identity()]; again {
		in.repeats++
		fmt.Fprintf(&b, "  repeat of #%d", first)
	} else {
		in.remember(d.Identity())
	}
	for _, note := range notes(event, s.at) {
		b.WriteString("  NOTE: " + note)
	}
	return b.String()
}

// unread is why a body is no event. Senders other than BOTIX need not have a type
// in it.
func unread(err error) string {
	return strings.TrimPrefix(err.Error(), webhookverify.ErrBadEvent.Error()+": ")
}

// notes are what a receiver should know about an event that was verified.
func notes(event webhookverify.Event, at time.Time) (all []string) {
	if event.HeaderDiffers() {
		all = append(all, fmt.Sprintf("the unsigned X-Botix-Event says %s", brief(string(event.HeaderType), 60)))
	}
	if event.CreatedAt.IsZero() {
		return all
	}
	when := event.CreatedAt.Format(time.RFC3339)
	switch err := event.CheckAge(at, webhookverify.RetryWindow+webhookverify.DefaultTolerance); {
	case errors.Is(err, webhookverify.ErrTooOld):
		all = append(all, "it happened "+when+", longer ago than BOTIX repeats")
	case err != nil:
		all = append(all, "it happens "+when+", in the future")
	}
	return all
}

func (in *inspector) remember(identity string) {
	in.known[identity] = in.count
	in.order = append(in.order, identity)
	if len(in.order) > maxKnown {
		delete(in.known, in.order[0])
		in.order = in.order[1:]
	}
}

// keep writes a delivery to a file for its owner only.
func (in *inspector) keep(r *http.Request, s *seen) error {
	file, err := os.OpenFile(filepath.Join(in.save, fmt.Sprintf("%s-%d.http", s.at.UTC().Format("20060102T150405.000"), in.count)), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	header := r.Header.Clone()
	header.Del("Authorization") // what lets the sender in is none of a capture's
	header.Del("Cookie")
	err = writeRequest(file, r.Method, r.URL.EscapedPath(), r.Host, header, s.body)
	return errors.Join(err, file.Close())
}

// reason is why a delivery was refused, without the names of package and scheme.
func reason(err error) string {
	if e, ok := errors.AsType[*webhookverify.Error](err); ok {
		return strings.TrimPrefix(e.Error(), "webhookverify: "+e.Scheme+": ")
	}
	return plain(err.Error())
}

// shortIdentity is as much of an identity as tells events apart on a screen.
func shortIdentity(identity string) string {
	if digest, is := strings.CutPrefix(identity, "sha256:"); is {
		return "sha256:" + digest[:12]
	}
	return brief(identity, 60)
}

// indented is a body as it may stand on a terminal.
func indented(body []byte) string {
	lines := strings.Split(strings.TrimSuffix(string(body), "\n"), "\n")
	for i, line := range lines {
		lines[i] = "    " + plain(line)
	}
	return strings.Join(lines, "\n")
}
