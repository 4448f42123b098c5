package botix_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/internal/rest"
	"github.com/botix-pro/sdk-go/retry"
)

// rawServer is a sandbox behind a server that speaks HTTP/1.1 by hand, so that a
// test decides about single connections and counts what really arrived.
type rawServer struct {
	sandbox *botixtest.Server
	ln      net.Listener
	decide  func(arrival) cutting

	mu       sync.Mutex
	arrivals []arrival
	serving  sync.WaitGroup
}

// arrival is one request, read whole.
type arrival struct {
	method, path string
	key          string
	body         [sha256.Size]byte
	length       int
	onConnection int // from 1
}

// cutting is what happens to a request.
type cutting int

const (
	serve        cutting = iota // the sandbox answers it
	readAndClose                // read whole, then FIN
	readAndReset                // read whole, then RST
)

func startRaw(t *testing.T, cfg botixtest.Config, decide func(arrival) cutting) *rawServer {
	t.Helper()
	sandbox, err := botixtest.Start(cfg) // for its handler; nobody dials it
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &rawServer{sandbox: sandbox, ln: ln, decide: decide}
	r.serving.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			r.serving.Go(func() { r.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		r.serving.Wait()
		_ = sandbox.Close()
	})
	return r
}

// client makes a client with the default transport; closing it ends the
// connections that the server waits for.
func (r *rawServer) client(t *testing.T, opts ...botix.Option) *botix.Client {
	t.Helper()
	all := append([]botix.Option{botix.WithoutLedger(), botix.WithBaseURL("http://" + r.ln.Addr().String())}, opts...)
	c, err := botix.New(r.sandbox.APIKey(), all...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func (r *rawServer) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for n := 1; ; n++ {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		a := arrival{
			method: req.Method, path: req.URL.EscapedPath(), key: req.Header.Get("Idempotency-Key"),
			body: sha256.Sum256(body), length: len(body), onConnection: n,
		}
		r.mu.Lock()
		r.arrivals = append(r.arrivals, a)
		r.mu.Unlock()
		switch r.decide(a) {
		case readAndClose:
			return
		case readAndReset:
			_ = conn.(*net.TCPConn).SetLinger(0)
			return
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		w := httptest.NewRecorder()
		r.sandbox.ServeHTTP(w, req)
		if w.Result().Write(conn) != nil {
			return
		}
	}
}

// seen returns the arrivals with a method.
func (r *rawServer) seen(method string) []arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []arrival
	for _, a := range r.arrivals {
		if a.method == method {
			found = append(found, a)
		}
	}
	return found
}

// oneIntent fails unless exactly n requests with the method arrived, all the
// same under one key.
func (r *rawServer) oneIntent(t *testing.T, method string, n int) {
	t.Helper()
	found := r.seen(method)
	if len(found) != n {
		t.Errorf("%d %s requests arrived, want %d", len(found), method, n)
	}
	for _, a := range found {
		if a.key == "" || a.key != found[0].key || a.body != found[0].body || a.path != found[0].path {
			t.Errorf("%s %s arrived as (key %q, %d bytes), then as (key %q, %d bytes)", method, a.path,
				found[0].key, found[0].length, a.key, a.length)
		}
	}
}

// mutations is one call of each operation that may change something.
var mutations = map[string]func(context.Context, *botix.Client, ...botix.CallOption) error{
	"contactsCreate": func(ctx context.Context, c *botix.Client, opts ...botix.CallOption) error {
		_, err := c.Contacts.Create(ctx, botix.CreateContact{FirstName: "Анна"}, opts...)
		return err
	},
	"contactsUpdate": func(ctx context.Context, c *botix.Client, opts ...botix.CallOption) error {
		_, err := c.Contacts.Update(ctx, 7, botix.ContactUpdate{City: botix.Set("Казань")}, opts...)
		return err
	},
	"contactsDelete": func(ctx context.Context, c *botix.Client, opts ...botix.CallOption) error {
		return c.Contacts.Delete(ctx, 7, opts...)
	},
	"contactsAddTag": func(ctx context.Context, c *botix.Client, opts ...botix.CallOption) error {
		_, err := c.Contacts.AddTag(ctx, 7, "vip", opts...)
		return err
	},
	"contactsRemoveTag": func(ctx context.Context, c *botix.Client, opts ...botix.CallOption) error {
		_, err := c.Contacts.RemoveTag(ctx, 7, "vip", opts...)
		return err
	},
	"contactsBulkCreate": func(ctx context.Context, c *botix.Client, opts ...botix.CallOption) error {
		_, err := c.Contacts.BulkCreate(ctx, []botix.CreateContact{{FirstName: "Анна"}}, opts...)
		return err
	},
	"contactsBulkUpdate": func(ctx context.Context, c *botix.Client, opts ...botix.CallOption) error {
		change := botix.ContactChange{ID: 7, Fields: botix.ContactUpdate{City: botix.Set("Казань")}}
		_, err := c.Contacts.BulkUpdate(ctx, []botix.ContactChange{change}, opts...)
		return err
	},
	"messagesSend": func(ctx context.Context, c *botix.Client, opts ...botix.CallOption) error {
		_, err := c.Messages.Send(ctx, hello(7), opts...)
		return err
	},
	"messagesBulkSend": func(ctx context.Context, c *botix.Client, opts ...botix.CallOption) error {
		_, err := c.Messages.BulkSend(ctx, []botix.SendMessage{hello(7)}, opts...)
		return err
	},
	"scenariosRun": func(ctx context.Context, c *botix.Client, opts ...botix.CallOption) error {
		_, err := c.Scenarios.Run(ctx, 3, botix.RunScenario{ContactID: 7}, opts...)
		return err
	},
	"webhooksCreate": func(ctx context.Context, c *botix.Client, opts ...botix.CallOption) error {
		hook := botix.CreateWebhook{URL: "https://example.test/hook", Events: []botix.WebhookEvent{botix.EventChatClosed}}
		_, err := c.Webhooks.Create(ctx, hook, opts...)
		return err
	},
	"webhooksUpdate": func(ctx context.Context, c *botix.Client, opts ...botix.CallOption) error {
		return c.Webhooks.Update(ctx, 7, botix.WebhookUpdate{Status: botix.Set(botix.WebhookPaused)}, opts...)
	},
	"webhooksDelete": func(ctx context.Context, c *botix.Client, opts ...botix.CallOption) error {
		return c.Webhooks.Delete(ctx, 7, opts...)
	},
	"webhooksTest": func(ctx context.Context, c *botix.Client, opts ...botix.CallOption) error {
		_, err := c.Webhooks.Test(ctx, 7, opts...)
		return err
	},
}

// eachMutation runs a test for every row of the endpoint table, so that a new
// row cannot be forgotten.
func eachMutation(t *testing.T, test func(t *testing.T, ep *call.Endpoint, do func(context.Context, *botix.Client, ...botix.CallOption) error)) {
	for _, ep := range botix.Mutations() {
		do := mutations[ep.Name]
		if do == nil {
			t.Errorf("no call of %s is known here", ep.Name)
			continue
		}
		t.Run(ep.Name, func(t *testing.T) {
			t.Parallel()
			test(t, ep, do)
		})
	}
}

// Invariant 13 and F014: net/http sends a request with an Idempotency-Key again
// by itself when a kept connection breaks. Here every connection breaks under
// every request after it was read whole, and every arrival is a try of ours.
func TestNoSilentResend(t *testing.T) {
	t.Parallel()
	const attempts = 3
	eachMutation(t, func(t *testing.T, ep *call.Endpoint, do func(context.Context, *botix.Client, ...botix.CallOption) error) {
		for name, cut := range map[string]cutting{"closed": readAndClose, "reset": readAndReset} {
			t.Run(name, func(t *testing.T) {
				var idle sync.WaitGroup
				idle.Add(attempts)
				raw := startRaw(t, botixtest.Config{}, func(a arrival) cutting {
					if a.method != http.MethodGet {
						return cut
					}
					idle.Done()
					idle.Wait() // until each has a connection of its own
					return serve
				})
				client := raw.client(t, append(exactly(tries(attempts), func(p *retry.Policy) { p.Base = time.Millisecond }),
					botix.WithServerTime(time.Millisecond))...)
				var reading sync.WaitGroup
				for range attempts {
					reading.Go(func() {
						if _, err := client.Me(t.Context()); err != nil {
							t.Error(err)
						}
					})
				}
				reading.Wait()

				var info botix.Info
				err := do(t.Context(), client, botix.WithInfo(&info))
				if o := retry.OutcomeOf(err); o != retry.Unknown {
					t.Errorf("%v, outcome %v; want unknown", err, o)
				}
				want := attempts
				if ep.Class == call.Neither {
					want = 1 // what may not be repeated is not
				}
				if len(info.Attempts) != want {
					t.Errorf("%d attempts, want %d", len(info.Attempts), want)
				}
				raw.oneIntent(t, ep.Method, len(info.Attempts))
				for _, a := range info.Attempts {
					if a.Evidence.Conns != 1 {
						t.Errorf("attempt %d had %d connections, want 1", a.Number, a.Evidence.Conns)
					}
					if kept := ep.Class != call.Neither; a.Evidence.Reused != kept {
						t.Errorf("attempt %d on a kept connection: %t, want %t", a.Number, a.Evidence.Reused, kept)
					}
				}
			})
		}
	})
}

// The same under HTTP/2, where the transport repeats what a server refused or
// claims not to have seen, with or without a key.
func TestNoSilentResendOverHTTP2(t *testing.T) {
	t.Parallel()
	eachMutation(t, func(t *testing.T, ep *call.Endpoint, do func(context.Context, *botix.Client, ...botix.CallOption) error) {
		for name, refusal := range map[string][]byte{
			"REFUSED_STREAM": frame(3, 1, 0, 0, 0, 7),
			"PROTOCOL_ERROR": frame(3, 1, 0, 0, 0, 1),
			"CANCEL":         frame(3, 1, 0, 0, 0, 8),
			"GOAWAY":         frame(7, 0, 0, 0, 0, 0, 0, 0, 0, 0),
		} {
			t.Run(name, func(t *testing.T) {
				arrived, address := startRawHTTP2(t, refusal)
				protocols := new(http.Protocols)
				protocols.SetUnencryptedHTTP2(true)
				tr := rest.NewTransport(true)
				tr.Protocols = protocols
				client, err := botix.New("btx_live_x", append(exactly(tries(1)), botix.WithoutLedger(),
					botix.WithBaseURL("http://"+address), botix.WithHTTPClient(&http.Client{Transport: tr}))...)
				if err != nil {
					t.Fatal(err)
				}
				defer tr.CloseIdleConnections()
				err = do(t.Context(), client)
				if o := retry.OutcomeOf(err); o != retry.Unknown {
					t.Errorf("%v, outcome %v; want unknown", err, o)
				}
				if n := arrived.Load(); n != 1 {
					t.Errorf("%d requests arrived, want 1", n)
				}
			})
		}
	})
}

// startRawHTTP2 runs a server that counts requests and answers each, once it is
// whole, with the same frame.
func startRawHTTP2(t *testing.T, answer []byte) (arrived *atomic.Int32, address string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	arrived = new(atomic.Int32)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				_ = serveFrames(conn, answer, arrived) // until the client hangs up
			})
		}
	})
	t.Cleanup(func() { _ = ln.Close(); serving.Wait() })
	return arrived, ln.Addr().String()
}

// The few frames of RFC 9113 that a request and its refusal take.
const (
	frameData      = 0
	frameHeaders   = 1
	frameSettings  = 4
	framePing      = 6
	flagEndStream  = 1
	flagAck        = 1
	clientPreface  = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	frameHeaderLen = 9
)

// frame makes a frame without flags.
func frame(kind, stream byte, payload ...byte) []byte {
	return append([]byte{0, 0, byte(len(payload)), kind, 0, 0, 0, 0, stream}, payload...)
}

func serveFrames(conn net.Conn, answer []byte, arrived *atomic.Int32) error {
	in := bufio.NewReader(conn)
	if _, err := io.ReadFull(in, make([]byte, len(clientPreface))); err != nil {
		return err
	}
	if _, err := conn.Write(frame(frameSettings, 0)); err != nil {
		return err
	}
	for {
		var header [frameHeaderLen]byte
		if _, err := io.ReadFull(in, header[:]); err != nil {
			return err
		}
		payload := make([]byte, binary.BigEndian.Uint32(header[:4])>>8)
		if _, err := io.ReadFull(in, payload); err != nil {
			return err
		}
		kind, flags := header[3], header[4]
		var reply []byte
		switch {
		case (kind == frameSettings || kind == framePing) && flags&flagAck == 0:
			if reply = frame(kind, 0, payload...); kind == frameSettings {
				reply = frame(kind, 0)
			}
			reply[4] = flagAck
		case kind == frameHeaders:
			arrived.Add(1)
			fallthrough
		case kind == frameData:
			if flags&flagEndStream == 0 {
				continue
			}
			reply = bytes.Clone(answer)
			if stream := header[5:]; reply[3] == 3 {
				copy(reply[5:], stream)
			}
		default:
			continue
		}
		if _, err := conn.Write(reply); err != nil {
			return fmt.Errorf("answering: %w", err)
		}
	}
}
