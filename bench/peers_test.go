// Package bench measures the client beside libraries of others. It is a module
// of its own, so that nobody who uses the client compiles them.
package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/go-resty/resty/v2"
	"github.com/hashicorp/go-retryablehttp"
	"github.com/stripe/stripe-go/v85"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/internal/versus"
)

func TestMain(m *testing.M) { versus.Main(m, http.HandlerFunc(serve)) }

const key = "btx_live_0123456789abcdefghijABCDEFGHIJ0123456789"

// The two answers hold the same fields and values and are 300 bytes long each.
// The platform wraps what it answers; stripe-go's API does not.
var (
	fields = `"id":%s,"project_id":7,"first_name":"Anna","last_name":null,"phone":"+79001234567",` +
		`"email":"anna@example.com","telegram_user_id":null,"tags":["vip"],"lead_status":"warm","messages_count":3,` +
		`"last_channel":"telegram","created_at":"2026-01-02T03:04:05Z"`
	wrapped = pad(`{"success":true,"data":{` + fmt.Sprintf(fields, "42") + `}`)
	naked   = pad(`{` + fmt.Sprintf(fields, "42"))
	// What stripe-go's own type of a customer knows, with an id of text.
	customer = pad(`{"id":"cus_42","object":"customer","balance":0,"created":1760000000,"currency":"usd",` +
		`"delinquent":false,"description":"","email":"anna@example.com","invoice_prefix":"ABCDEF12","livemode":false,` +
		`"name":"Anna","phone":"+79001234567","preferred_locales":["ru"],"tax_exempt":"none"`)
)

func pad(json string) []byte { return []byte(json + strings.Repeat(" ", 299-len(json)) + "}") }

const (
	contactPath  = "/public/v1/contacts/42"
	nakedPath    = "/v1/contacts/42"
	customerPath = "/v1/customers/cus_42"
)

// serve answers with the platform's headers, and a limit nobody reaches.
func serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h["Content-Type"] = []string{"application/json"}
	h["X-Request-Id"] = []string{"req_0123456789abcdef"}
	h["X-Ratelimit-Limit"] = []string{"1000000000"}
	h["X-Ratelimit-Remaining"] = []string{"900000000"}
	h["X-Ratelimit-Reset"] = []string{strconv.FormatInt(time.Now().Unix()/60*60+60, 10)}
	switch r.URL.Path {
	case contactPath:
		_, _ = w.Write(wrapped)
	case nakedPath:
		_, _ = w.Write(naked)
	case customerPath:
		_, _ = w.Write(customer)
	default:
		http.NotFound(w, r)
	}
}

// transport is what every contender gets: http.DefaultTransport with connections
// enough for all goroutines, so that no default of a library decides.
func transport() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 1024, 256
	return t
}

const timeout = 30 * time.Second

type envelope struct {
	Success bool          `json:"success"`
	Data    botix.Contact `json:"data"`
}

func check(c *botix.Contact) error {
	if c.ID != 42 || c.LastChannel == nil || *c.LastChannel != "telegram" {
		return fmt.Errorf("wrong contact %+v", c)
	}
	return nil
}

// decode reads an answer that came without a layer's own decoding.
func decode(resp *http.Response) error {
	defer resp.Body.Close()
	var e envelope
	if err := json.NewDecoder(resp.Body).Decode(&e); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	return check(&e.Data)
}

// overHTTP is the call by net/http, through whatever its transport adds.
func overHTTP(c *http.Client, url string) func() error {
	return func() error {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url+contactPath, nil)
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+key)
		resp, err := c.Do(req)
		if err != nil {
			return err
		}
		return decode(resp)
	}
}

func viaBotix(b *testing.B, url string) func() error {
	b.Helper()
	client, err := botix.New(key, botix.WithoutLedger(), botix.WithBaseURL(url))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(client.Close)
	return func() error {
		contact, err := client.Contacts.Get(context.Background(), 42)
		if err != nil {
			return err
		}
		return check(contact)
	}
}

func viaRetryable(url string) func() error {
	c := retryablehttp.NewClient()
	c.Logger = nil
	c.HTTPClient = &http.Client{Transport: transport(), Timeout: timeout}
	return func() error {
		req, err := retryablehttp.NewRequestWithContext(context.Background(), http.MethodGet, url+contactPath, nil)
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+key)
		resp, err := c.Do(req)
		if err != nil {
			return err
		}
		return decode(resp)
	}
}

func viaFailsafe(url string) func() error {
	policy := failsafehttp.NewRetryPolicyBuilder().WithMaxRetries(4).WithBackoff(time.Second, 30*time.Second).WithJitterFactor(.2).Build()
	return overHTTP(&http.Client{Transport: failsafehttp.NewRoundTripper(transport(), policy), Timeout: timeout}, url)
}

func viaResty(url string) func() error {
	c := resty.NewWithClient(&http.Client{Transport: transport(), Timeout: timeout}).SetRetryCount(4)
	return func() error {
		var e envelope
		_, err := c.R().SetContext(context.Background()).SetAuthToken(key).SetResult(&e).Get(url + contactPath)
		if err != nil {
			return err
		}
		return check(&e.Data)
	}
}

func stripeBackend(url string) stripe.Backend {
	return stripe.GetBackendWithConfig(stripe.APIBackend, &stripe.BackendConfig{
		URL:             stripe.String(url),
		HTTPClient:      &http.Client{Transport: transport(), Timeout: timeout},
		LeveledLogger:   &stripe.LeveledLogger{Level: stripe.LevelNull},
		EnableTelemetry: stripe.Bool(false),
	})
}

func viaStripeCustomer(url string) func() error {
	c := stripe.NewClient(key, stripe.WithBackends(&stripe.Backends{API: stripeBackend(url)}))
	return func() error {
		customer, err := c.V1Customers.Retrieve(context.Background(), "cus_42", nil)
		if err != nil {
			return err
		}
		if customer.Name != "Anna" {
			return fmt.Errorf("wrong customer %+v", customer)
		}
		return nil
	}
}

// viaStripe is stripe-go's engine with our type of a contact.
func viaStripe(url string) func() error {
	backend := stripeBackend(url)
	return func() error {
		var answer struct {
			stripe.APIResource
			botix.Contact
		}
		params := &stripe.CustomerRetrieveParams{Params: stripe.Params{Context: context.Background()}}
		if err := backend.Call(http.MethodGet, nakedPath, key, params, &answer); err != nil {
			return err
		}
		return check(&answer.Contact)
	}
}

// BenchmarkPeers reads a contact of a server in a second process through each
// library, all with the same time-out and the same wide pool of connections. An
// iteration is one round of them. The published figures are the medians of
//
//	cd bench && go test -run '^$' -bench Peers -benchtime 100x
func BenchmarkPeers(b *testing.B) {
	const (
		plain  = "plain + timeout"
		ours   = "botix"
		stripe = "stripe-go"
	)
	for _, goroutines := range []int{1, 32} {
		b.Run(fmt.Sprintf("g%d", goroutines), func(b *testing.B) {
			url := versus.Server(b)
			t := versus.Run(b, goroutines,
				versus.Contender{Name: plain, Call: overHTTP(&http.Client{Transport: transport(), Timeout: timeout}, url)},
				versus.Contender{Name: ours, Call: viaBotix(b, url)},
				versus.Contender{Name: "go-retryablehttp", Call: viaRetryable(url)},
				versus.Contender{Name: "failsafe-go", Call: viaFailsafe(url)},
				versus.Contender{Name: "resty", Call: viaResty(url)},
				versus.Contender{Name: "stripe-go, our type", Call: viaStripe(url)},
				versus.Contender{Name: stripe, Call: viaStripeCustomer(url)},
			)
			b.ReportMetric(t.Ratio(ours, plain), "x-timeout")
			b.ReportMetric(t.Allocs(ours)/t.Allocs(stripe), "x-stripe-allocs")
			b.ReportMetric(t.Bytes(ours)/t.Bytes(stripe), "x-stripe-bytes")
			if b.N > 1 {
				b.Log("\n" + t.Text(plain))
			}
		})
	}
}
