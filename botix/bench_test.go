package botix_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/internal/versus"
)

func TestMain(m *testing.M) { versus.Main(m, http.HandlerFunc(serveBench)) }

const benchKey = "btx_live_0123456789abcdefghijABCDEFGHIJ0123456789"

// The answers of the benchmarks' server, 300 bytes each.
var (
	contactAnswer = pad(`{"success":true,"data":{"id":42,"project_id":7,"first_name":"Anna","last_name":null,` +
		`"phone":"+79001234567","email":"anna@example.com","telegram_user_id":null,"tags":["vip"],"lead_status":"warm",` +
		`"messages_count":3,"last_channel":"telegram","created_at":"2026-01-02T03:04:05Z"}`)
	receiptAnswer = pad(`{"success":true,"data":{"id":1001,"message_id":1001,"conversation_id":501,"contact_id":42,` +
		`"channel":"telegram","status":"sent"}`)

	message = botix.SendMessage{ContactID: 42, Content: "Your order 1001 is ready. Pick it up until eight tonight."}
)

func pad(json string) []byte { return []byte(json + strings.Repeat(" ", 299-len(json)) + "}") }

// serveBench answers as the platform does, with a limit nobody reaches.
func serveBench(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	body, header := answerTo(r.Method), w.Header()
	for name, value := range limits() {
		header[name] = value
	}
	header["Content-Type"] = []string{"application/json"}
	_, _ = w.Write(body)
}

func answerTo(method string) []byte {
	if method == http.MethodPost {
		return receiptAnswer
	}
	return contactAnswer
}

// limits are the headers of the current one-minute window.
func limits() http.Header {
	minute := time.Now().Unix() / 60
	if h := limitsNow.Load(); h != nil && h.minute == minute {
		return h.header
	}
	h := http.Header{
		"X-Ratelimit-Limit":     {"1000000000"},
		"X-Ratelimit-Remaining": {"900000000"},
		"X-Ratelimit-Reset":     {strconv.FormatInt((minute+1)*60, 10)},
		"X-Request-Id":          {"req_0123456789abcdef"},
	}
	limitsNow.Store(&minuteHeader{minute, h})
	return h
}

type minuteHeader struct {
	minute int64
	header http.Header
}

var limitsNow atomic.Pointer[minuteHeader]

// inMemory answers without a network, so that only the layers above the
// transport are measured.
type inMemory struct{}

func (inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	body, header := answerTo(r.Method), make(http.Header, 6)
	for name, value := range limits() {
		header[name] = value
	}
	header["Content-Type"] = []string{"application/json"}
	header["Date"] = []string{time.Now().UTC().Format(http.TimeFormat)}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)), Request: r,
	}, nil
}

// wide is http.DefaultTransport with connections enough for all goroutines.
func wide() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 1024, 256
	return t
}

// plain is what a program without an SDK writes: net/http and encoding/json.
type plain struct {
	http *http.Client
	url  string
}

type plainEnvelope[T any] struct {
	Success bool `json:"success"`
	Data    T    `json:"data"`
}

func (p *plain) get(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/public/v1/contacts/42", nil)
	if err != nil {
		return err
	}
	var answer plainEnvelope[botix.Contact]
	if err := p.do(req, &answer); err != nil {
		return err
	}
	return checkContact(&answer.Data)
}

func (p *plain) post(ctx context.Context) error {
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/public/v1/messages", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	var answer plainEnvelope[botix.SentMessage]
	if err := p.do(req, &answer); err != nil {
		return err
	}
	return checkReceipt(&answer.Data)
}

func (p *plain) do(req *http.Request, answer any) error {
	req.Header.Set("Authorization", "Bearer "+benchKey)
	resp, err := p.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	if err := json.NewDecoder(resp.Body).Decode(answer); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

func checkContact(c *botix.Contact) error {
	if c.ID != 42 || c.LastChannel == nil || *c.LastChannel != "telegram" {
		return fmt.Errorf("wrong contact %+v", c)
	}
	return nil
}

func checkReceipt(m *botix.SentMessage) error {
	if m.ID != 1001 || m.Status != botix.SendStatusSent {
		return fmt.Errorf("wrong receipt %+v", m)
	}
	return nil
}

const nowhere = "http://127.0.0.1:1" // where nothing is sent

const (
	plainly     = "plain"
	withTimeout = "plain + timeout"
	withBotix   = "botix"
)

// contenders are three ways to make the same call of the server at url, each
// with a transport of its own: in memory, or this package's default and the same
// pool for the others.
func contenders(tb testing.TB, url string, memory, post bool) []versus.Contender {
	tb.Helper()
	ctx := context.Background()
	opts := []botix.Option{botix.WithoutLedger(), botix.WithBaseURL(url)}
	transport := wide
	if memory {
		opts = append(opts, botix.WithHTTPClient(&http.Client{Transport: inMemory{}}))
		transport = func() http.RoundTripper { return inMemory{} }
	}
	client, err := botix.New(benchKey, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(client.Close)
	bare := &plain{&http.Client{Transport: transport()}, url}
	bounded := &plain{&http.Client{Transport: transport(), Timeout: 30 * time.Second}, url}
	if post {
		return []versus.Contender{
			{Name: plainly, Call: func() error { return bare.post(ctx) }},
			{Name: withTimeout, Call: func() error { return bounded.post(ctx) }},
			{Name: withBotix, Call: func() error {
				sent, err := client.Messages.Send(ctx, message)
				if err != nil {
					return err
				}
				return checkReceipt(sent)
			}},
		}
	}
	return []versus.Contender{
		{Name: plainly, Call: func() error { return bare.get(ctx) }},
		{Name: withTimeout, Call: func() error { return bounded.get(ctx) }},
		{Name: withBotix, Call: func() error {
			contact, err := client.Contacts.Get(ctx, 42)
			if err != nil {
				return err
			}
			return checkContact(contact)
		}},
	}
}

// BenchmarkCall tells what the client adds to a call, in one run that alternates
// between plain net/http with encoding/json, the same with http.Client.Timeout,
// and this package. An iteration is one round of them. The published figures,
// with their goals, are in docs/benchmarks.md; they are the medians of
//
//	go test ./botix -run '^$' -bench Call -benchtime 300x
func BenchmarkCall(b *testing.B) {
	for _, post := range []bool{false, true} {
		method := "get"
		if post {
			method = "post"
		}
		b.Run("layers/"+method, func(b *testing.B) {
			all := contenders(b, nowhere, true, post)
			report(b, versus.Run(b, 1, all...))
		})
		for _, goroutines := range []int{1, 32} {
			b.Run(fmt.Sprintf("loopback/%s/g%d", method, goroutines), func(b *testing.B) {
				all := contenders(b, versus.Server(b), false, post)
				report(b, versus.Run(b, goroutines, all...))
			})
		}
	}
}

func report(b *testing.B, t *versus.Table) {
	b.Helper()
	b.ReportMetric(t.Ratio(withBotix, withTimeout), "x-timeout")
	b.ReportMetric(float64(t.Over(withBotix, withTimeout))/1e3, "µs-over")
	b.ReportMetric(t.Allocs(withBotix)-t.Allocs(withTimeout), "allocs-over")
	if b.N > 1 { // the go command runs each benchmark once before it counts
		b.Log("\n" + t.Text(withTimeout))
	}
}

// TestCallAllocations holds the goal of docs/benchmarks.md that can be counted.
func TestCallAllocations(t *testing.T) {
	const goal = 15
	for _, post := range []bool{false, true} {
		all := contenders(t, nowhere, true, post)
		allocs := make([]float64, len(all))
		for i, c := range all {
			allocs[i] = testing.AllocsPerRun(200, func() {
				if err := c.Call(); err != nil {
					t.Fatal(err)
				}
			})
		}
		t.Logf("post %t: %s %v, %s %v, %s %v", post,
			all[0].Name, allocs[0], all[1].Name, allocs[1], all[2].Name, allocs[2])
		if over := allocs[2] - allocs[1]; over > goal {
			t.Errorf("post %t: %v allocations above %s, the goal is %v", post, over, withTimeout, goal)
		}
	}
}
