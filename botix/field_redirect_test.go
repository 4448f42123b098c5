package botix_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/retry"
)

// F016: whatever kind of redirect, to whatever host, by whichever method:
// nothing of the request goes there, and the error names the host only. Real
// sockets, since the case is about hosts, ports and schemes.
func TestF016NothingFollowsARedirect(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	elsewhere := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) })
	secure, plain := httptest.NewTLSServer(elsewhere), httptest.NewServer(elsewhere)
	t.Cleanup(func() { // after the subtests
		secure.Close()
		plain.Close()
		if n := reached.Load(); n != 0 {
			t.Errorf("%d requests followed a redirect", n)
		}
	})
	port := func(u string) string { return u[strings.LastIndex(u, ":"):] }
	for name, target := range map[string]string{
		"another name":       "https://user:hunter2@localhost" + port(secure.URL) + "/steal?token=hunter2",
		"another port":       secure.URL + "/steal?token=hunter2",
		"http, not https":    plain.URL + "/steal?token=hunter2",
		"a host in the path": "//127.0.0.1" + port(secure.URL) + "/steal?token=hunter2",
	} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			t.Run(name+" "+strconv.Itoa(status), func(t *testing.T) {
				t.Parallel()
				var arrived atomic.Int32
				api := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					arrived.Add(1)
					w.Header().Set("Location", target)
					w.WriteHeader(status)
				}))
				defer api.Close()
				client, err := botix.New("btx_live_0123456789abcdef", botix.WithoutLedger(),
					botix.WithBaseURL(api.URL), botix.WithHTTPClient(api.Client()))
				if err != nil {
					t.Fatal(err)
				}
				defer client.Close()
				u, err := url.Parse(target)
				if err != nil {
					t.Fatal(err)
				}
				_, read := client.Me(t.Context())
				_, write := client.Messages.Send(t.Context(), hello(7))
				remove := client.Contacts.Delete(t.Context(), 7)
				for call, err := range map[string]error{"read": read, "mutation": write, "mutation without body": remove} {
					e, ok := errors.AsType[*botix.Error](err)
					if !ok || !errors.Is(err, botix.ErrRedirect) || e.Status != status || e.RedirectHost != u.Host {
						t.Errorf("%s: %v, want ErrRedirect to %s", call, err, u.Host)
						continue
					}
					if e.Outcome() != retry.Unknown || len(e.Attempts) != 1 {
						t.Errorf("%s: outcome %v after %d attempts, want unknown after 1", call, e.Outcome(), len(e.Attempts))
					}
					if text := err.Error(); strings.Contains(text, "hunter2") || strings.Contains(text, "steal") {
						t.Errorf("%s: the error shows more than the host: %s", call, text)
					}
				}
				if n := arrived.Load(); n != 3 {
					t.Errorf("%d requests arrived, want 3", n)
				}
			})
		}
	}
}

// F017: the answer of a list is never taken for the answer of a POST.
func TestF017RedirectedPostIsNoGet(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
				s.contact("Анна") // so that the list is not empty
				s.srv.Script(botixtest.On("contactsCreate").Do(botixtest.Redirect(status, "/public/v1/contacts")))
				got, err := s.client.Contacts.Create(s.Context(), botix.CreateContact{FirstName: "Пётр"})
				if got != nil || !errors.Is(err, botix.ErrRedirect) || retry.OutcomeOf(err) != retry.Unknown {
					s.Errorf("Create = %v, %v; want an unexpected redirect of unknown outcome", got, err)
				}
				if want := fmt.Sprintf("botix: contactsCreate: unexpected redirect (status %d); ", status); !strings.HasPrefix(fmt.Sprint(err), want) {
					s.Errorf("the error is %q, want it to begin with %q", err, want)
				}
				if calls := s.srv.Journal().Calls(); len(calls) != 1 || calls[0].Method != http.MethodPost {
					s.Errorf("%d requests arrived, want the POST only", len(calls))
				}
			})
		})
	}
}
