package partner_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

func (b *books) changes(p partner.Period) *partner.Changes {
	b.Helper()
	c, err := b.auditor.Changes(b.Context(), p)
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// limit sets the group's limit, and returns what is known of that.
func (b *books) limit(c *partner.Client, text, version string) error {
	_, err := c.Groups.SetSpendLimit(b.Context(), b.group, partner.SpendLimitUpdate{Limit: botix.Set(amount(text))},
		botix.WithIntent(ledger.Intent{Customer: "cust_42", Action: ledger.ActionSetLimit, Version: version}))
	return err
}

// Three changes by somebody else among fifty are the ones that are listed, with when
// and from where, whatever the network did to the others.
func TestForeignChanges(t *testing.T) {
	inBooks(t, botixtest.Config{}, []partner.Option{botix.WithRetry(retry.Default())}, func(b *books) {
		b.srv.Script(botixtest.On("*").When(func(c botixtest.Call) bool { return c.Method != "GET" }).Every(4).InTurn(
			slices.Repeat([]botixtest.Fault{botixtest.CutAfter(), botixtest.HTML(502).AfterWork(), botixtest.CutBefore()}, 20)...))
		began := time.Now()
		for i := range 10 {
			version := fmt.Sprintf("v%d", i)
			customer := func(action string) partner.CallOption {
				return botix.WithIntent(ledger.Intent{Customer: "cust_" + version, Action: action, Version: version})
			}
			group, err := b.client.Groups.Create(b.Context(), partner.CreateGroup{Name: "Кофейня", ExternalID: "cust_" + version}, customer("group"))
			if err != nil {
				b.Fatal(err)
			}
			var key partner.KeyID
			created, err := b.client.Keys.Create(b.Context(), group.ID, partner.CreateKey{Function: "bot"}, customer("key"))
			if lost, ok := errors.AsType[*partner.SecretLostError](err); ok {
				key = lost.Key.ID
			} else if err != nil {
				b.Fatal(err)
			} else {
				key = created.Key.ID
			}
			if _, err := b.client.Groups.Update(b.Context(), group.ID, partner.GroupUpdate{Name: botix.Set("Чайная")}, customer("name")); err != nil {
				b.Fatal(err)
			}
			if _, err := b.client.Groups.SetSpendLimit(b.Context(), group.ID, partner.SpendLimitUpdate{Limit: botix.Set(amount("10.00"))}, customer("limit")); err != nil {
				b.Fatal(err)
			}
			if err := b.client.Keys.Revoke(b.Context(), group.ID, key, customer("revoke")); err != nil {
				b.Fatal(err)
			}
			time.Sleep(time.Minute)
			if i%4 == 0 { // a console
				if _, err := b.sandbox.client.Groups.Update(b.Context(), group.ID, partner.GroupUpdate{Name: botix.Set("Ночная")}); err != nil {
					b.Fatal(err)
				}
			}
		}
		time.Sleep(time.Hour)
		c := b.changes(partner.Period{})
		if len(c.Foreign) != 3 || len(c.Unheard) != 0 || len(c.Contradicted) != 0 || c.Matched != 53 || c.Agree() {
			b.Errorf("the changes are %s, want 3 foreign and 53 matched", c)
		}
		for _, e := range c.Foreign {
			if e.Action != partner.AuditGroupUpdate || e.SourceIP == "" || e.CreatedAt.Before(began.Add(-time.Second)) ||
				!strings.Contains(c.String(), "from "+e.SourceIP+", request "+e.RequestID) {
				b.Errorf("foreign is %+v, printed in\n%s", e, c)
			}
		}
		if c := b.changes(partner.Period{To: began}); c.Matched != 3 || !c.Agree() {
			b.Errorf("before: %s, want the 3 credits", c)
		}
		if c := b.changes(partner.Period{From: time.Now().Add(-time.Minute)}); c.Matched != 0 || !c.Agree() {
			b.Errorf("afterwards: %s, want nothing", c)
		}
	})
}

// What the ledger and the log do not agree about, the other way round.
func TestChangesThatTheLogContradicts(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg  botixtest.PartnerConfig
		then func(*books)
		want string
	}{
		"all is well": {then: func(*books) {}, want: "3 matched, 0 foreign, 0 unheard, 0 contradicted"},
		"the log has lost one": {
			then: func(b *books) { b.forget(1) },
			want: "2 matched, 0 foreign, 1 unheard, 0 contradicted",
		},
		"the log lags behind": {
			cfg: botixtest.PartnerConfig{Lags: map[string]time.Duration{"auditEventsList": 30 * time.Second}},
			then: func(b *books) {
				if err := b.credit("5.00", "evt_4"); err != nil {
					b.Fatal(err)
				}
			},
			want: "3 matched, 0 foreign, 0 unheard, 0 contradicted",
		},
		"one was refused, and done": {
			then: func(b *books) {
				b.srv.Script(botixtest.On("topUpsCreate").Nth(1).Do(botixtest.Refusal("TOP_UP_BELOW_MINIMUM").AfterWork()))
				if err := b.credit("5.00", "evt_4"); retry.OutcomeOf(err) != retry.Rejected {
					b.Fatal(err)
				}
			},
			want: "3 matched, 0 foreign, 0 unheard, 1 contradicted",
		},
		"one got no answer, and was done": {
			then: func(b *books) {
				b.srv.Script(botixtest.On("spendLimitUpdate").Nth(1).Do(botixtest.CutAfter()))
				if err := b.limit(b.client, "5.00", "p1"); retry.OutcomeOf(err) != retry.Unknown {
					b.Fatal(err)
				}
			},
			want: "4 matched, 0 foreign, 0 unheard, 0 contradicted",
		},
		"one got no answer, and somebody else did another": {
			then: func(b *books) {
				b.srv.Script(botixtest.On("spendLimitUpdate").Nth(1).Do(botixtest.CutBefore()))
				if err := b.limit(b.client, "5.00", "p1"); retry.OutcomeOf(err) != retry.Unknown {
					b.Fatal(err)
				}
				if _, err := b.sandbox.client.Groups.SetSpendLimit(b.Context(), b.group, partner.SpendLimitUpdate{Limit: botix.Set(amount("5.01"))}); err != nil {
					b.Fatal(err)
				}
			},
			want: "3 matched, 1 foreign, 0 unheard, 0 contradicted",
		},
		"the same, and the log tells amounts as numbers": {
			then: func(b *books) {
				b.srv.Script(botixtest.On("spendLimitUpdate").Nth(1).Do(botixtest.CutBefore()))
				if err := b.limit(b.client, "5.00", "p1"); retry.OutcomeOf(err) != retry.Unknown {
					b.Fatal(err)
				}
				if _, err := b.sandbox.client.Groups.SetSpendLimit(b.Context(), b.group, partner.SpendLimitUpdate{Limit: botix.Set(amount("5.01"))}); err != nil {
					b.Fatal(err)
				}
				b.srv.Script(botixtest.On("auditEventsList").Do(botixtest.Change("numbers", func(a *botixtest.Answer) {
					a.Body = bytes.ReplaceAll(a.Body, []byte(`"5.01"`), []byte(`5.01`))
				})))
			},
			want: "3 matched, 1 foreign, 0 unheard, 0 contradicted",
		},
		"the server's clock is an hour ahead, and an answer was lost": {
			then: func(b *books) {
				b.srv.Clock().SetSkew(time.Hour)
				b.srv.Script(botixtest.On("spendLimitUpdate").Nth(1).Do(botixtest.HTML(502).AfterWork()))
				for range 2 {
					if err := b.limit(b.client, "5.00", "p1"); err == nil {
						return
					}
				}
				b.Fatal("it was not done")
			},
			want: "4 matched, 0 foreign, 0 unheard, 0 contradicted",
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBooks(t, botixtest.Config{Partner: tt.cfg}, nil, func(b *books) {
				tt.then(b)
				c := b.changes(partner.Period{})
				if got := c.String(); !strings.Contains(got, tt.want) {
					b.Errorf("the changes are %s, want %s", got, tt.want)
				}
			})
		})
	}
}

// A key that was replaced because its secret was lost is in the log, and the ledger
// knows: nobody is to say anything of it.
func TestChangesOfAReplacedKey(t *testing.T) {
	for name, opts := range map[string][]partner.Option{"by a person": nil, "by the machine": {partner.WithLostKeysReplaced()}} {
		t.Run(name, func(t *testing.T) {
			file := ledgerFile(t)
			inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
				s.ledger(file, func(led *ledger.Ledger) {
					s.srv.Script(botixtest.On("keysCreate").Nth(1).Do(botixtest.CutAfter()))
					vault := &safe{}
					c := s.reseller(led, vault, opts...)
					p, err := c.Provision(s.Context(), cafe())
					if lost := s.lostAt(led, p); lost != nil {
						if _, err := c.ReplaceLostKey(s.Context(), lost.ID, ann); err != nil {
							s.Fatal(err)
						}
						p, err = c.Provision(s.Context(), cafe())
					}
					if err != nil {
						s.Fatal(err)
					}
					s.ready(p, vault)
					s.effects("keysDelete", 1)
					time.Sleep(time.Hour)
					auditor, err := c.Auditor()
					if err != nil {
						s.Fatal(err)
					}
					if is, err := auditor.Changes(s.Context(), partner.Period{}); err != nil || !is.Agree() || is.Matched != 4+len(cafe().KeyFunctions) {
						s.Errorf("the changes are %s, %v", is, err)
					}
				})
			})
		})
	}
}

// forget takes an event out of the audit log, by its place.
func (b *books) forget(n int) {
	b.srv.Script(botixtest.On("auditEventsList").Do(botixtest.Change("one event less", func(a *botixtest.Answer) {
		var page struct {
			Success bool              `json:"success"`
			Data    []json.RawMessage `json:"data"`
			Meta    json.RawMessage   `json:"meta"`
		}
		if err := json.Unmarshal(a.Body, &page); err != nil {
			b.Error(err)
		}
		page.Data = slices.Delete(page.Data, n, n+1)
		body, err := json.Marshal(page)
		if err != nil {
			b.Error(err)
		}
		a.Body = body
	})))
}
