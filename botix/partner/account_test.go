package partner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/money"
	"github.com/botix-pro/sdk-go/retry"
)

func (b *books) account(since partner.AccountPoint) *partner.Account {
	b.Helper()
	is, err := b.auditor.Account(b.Context(), since)
	if err != nil {
		b.Fatal(err)
	}
	return is
}

// told is an account in one line, as summary tells a wallet.
func told(a *partner.Account) string {
	var b strings.Builder
	start := a.Since.Balance
	if !start.IsSet() {
		start = amount("0")
	}
	fmt.Fprintf(&b, "%s-%s+%s=%s", start.Canonical(), a.Credited.Canonical(), a.Other.Canonical(), a.Balance.Canonical())
	for _, l := range a.Differences() {
		fmt.Fprintf(&b, " %s", l.Finding)
		if l.Reference != "" {
			fmt.Fprintf(&b, " %s", l.Reference)
		}
		fmt.Fprintf(&b, " %s", l.Difference.Canonical())
		if l.Event != nil {
			b.WriteString(" logged")
		}
	}
	return b.String()
}

// explained fails unless the balance is what it was, less what the ledger gave away,
// with what else is listed and the differences that are named.
func (b *books) explained(a *partner.Account) {
	b.Helper()
	all := []money.Amount{a.Other}
	if a.Since.Balance.IsSet() {
		all = append(all, a.Since.Balance)
	}
	for _, l := range a.Lines {
		all = append(all, l.Difference)
	}
	total, err := money.Sum(all...)
	if err == nil {
		total, err = total.Sub(a.Credited)
	}
	if err != nil || !total.Equal(a.Balance) {
		b.Errorf("the lines add up to %s, %v, and the balance is %s:\n%s", total, err, a.Balance, a)
	}
}

// abroad credits a group as a program without this ledger does.
func (b *books) abroad(text, event string) {
	b.Helper()
	if _, err := b.sandbox.client.TopUps.Create(b.Context(), b.group, topUp(text, event)); err != nil {
		b.Fatal(err)
	}
}

// lose credits the group, and no answer comes, whether or not it was done.
func (b *books) lose(text, event string, how botixtest.Fault) {
	b.Helper()
	b.srv.Script(botixtest.On("topUpsCreate").Nth(1).Do(how))
	if err := b.credit(text, event); retry.OutcomeOf(err) != retry.Unknown {
		b.Fatal(err)
	}
	b.srv.ClearScript()
}

// Each way in which the partner's own account can be off is found, to the last digit,
// and told apart: what the ledger has, what others did, and what nobody tells.
func TestAccount(t *testing.T) {
	for name, tt := range map[string]struct {
		lags map[string]time.Duration
		then func(*books)
		want string
	}{
		"nothing is off":            {then: func(*books) {}, want: "0-60+1000=940"},
		"and usage is the groups'":  {then: func(b *books) { b.behind.Spend(string(b.group), "0.07") }, want: "0-60+1000=940"},
		"and a wallet's drift too":  {then: func(b *books) { b.behind.Drift(string(b.group), "0.07") }, want: "0-60+1000=940"},
		"a deposit":                 {then: func(b *books) { b.behind.Deposit("0.05") }, want: "0-60+1000.05=940.05"},
		"the balance has 0.01 more": {then: func(b *books) { b.behind.Drift("", "0.01") }, want: "0-60+1000=940.01 drift 0.01"},
		"the balance has 0.00000001 less, and went on": {
			then: func(b *books) {
				b.behind.Drift("", "-0.00000001")
				b.behind.Deposit("1.00")
				if err := b.credit("2.00", "evt_4"); err != nil {
					b.Fatal(err)
				}
			},
			want: "0-62+1001=938.99999999 drift -0.00000001",
		},

		"a top-up of another program": {
			then: func(b *books) { b.abroad("1.01", "evt_9") },
			want: "0-60+1000=938.99 foreign evt_9 -1.01 logged",
		},
		"a top-up of another program, and the balance drifted": {
			then: func(b *books) {
				b.abroad("1.01", "evt_9")
				b.behind.Drift("", "0.01")
			},
			want: "0-60+1000=939 drift 0.01 foreign evt_9 -1.01 logged",
		},
		"a top-up of another program is not listed": {
			then: func(b *books) {
				b.abroad("1.01", "evt_9")
				b.rewrite(func(tx map[string]any) bool { return tx["reference"] != "evt_9" })
			},
			want: "0-60+1000=938.99 foreign evt_9 -1.01 logged",
		},
		"a payment was credited by another program too": {
			then: func(b *books) { b.abroad("20.00", "evt_2") },
			want: "0-60+1000=920 doubled evt_2 -20 logged",
		},
		"a transaction is not listed any more": {
			then: func(b *books) { b.rewrite(func(tx map[string]any) bool { return tx["reference"] != "evt_2" }) },
			want: "0-60+1000=940 drift -20 missing evt_2 20 logged",
		},
		"a transaction has another amount than was asked for": {
			then: func(b *books) {
				b.rewrite(func(tx map[string]any) bool {
					if tx["reference"] == "evt_2" {
						tx["amount"] = "20.01"
					}
					return true
				})
			},
			want: "0-60+1000=940 drift 0.01 differs evt_2 -0.01 logged",
		},

		"nobody heard whether it was done, and it was": {
			then: func(b *books) {
				b.lose("5.00", "evt_4", botixtest.CutAfter())
				time.Sleep(time.Hour)
			},
			want: "0-60+1000=935 unsettled evt_4 -5 logged",
		},
		"nobody heard whether it was done, and it was not": {
			then: func(b *books) {
				b.lose("5.00", "evt_4", botixtest.CutBefore())
				time.Sleep(time.Hour)
			},
			want: "0-60+1000=940 unsettled evt_4 0",
		},
		"it was refused": {
			then: func(b *books) {
				if err := b.credit("5000.00", "evt_4"); !errors.Is(err, partner.ErrInsufficientBalance) {
					b.Fatal(err)
				}
			},
			want: "0-60+1000=940",
		},

		"the list lags behind": {
			lags: map[string]time.Duration{"transactionsList": 30 * time.Second},
			then: func(b *books) {
				if err := b.credit("5.00", "evt_4"); err != nil {
					b.Fatal(err)
				}
			},
			want: "0-65+1000=935",
		},
		"the balance lags behind": {
			lags: map[string]time.Duration{"balanceGet": 30 * time.Second},
			then: func(b *books) {
				if err := b.credit("5.00", "evt_4"); err != nil {
					b.Fatal(err)
				}
			},
			want: "0-65+1000=935",
		},
		"requests and answers are erased":                    {then: func(b *books) { b.erase() }, want: "0-60+1000=940"},
		"they were recorded when the ledger kept no amounts": {then: func(b *books) { b.withoutAmounts() }, want: "0-60+1000=940"},
		"the group is gone, and gave back what it had": {
			then: func(b *books) {
				b.behind.Spend(string(b.group), "0.01")
				if err := b.client.Groups.Delete(b.Context(), b.group); err != nil {
					b.Fatal(err)
				}
			},
			want: "0-60+1059.99=999.99",
		},
		"two groups have a payment of one reference": {
			then: func(b *books) {
				other := b.sandbox.group("Чайная")
				_, err := b.client.TopUps.Create(b.Context(), other, topUp("20.00", "evt_2"),
					botix.WithIntent(ledger.Intent{Customer: "cust_43", Action: ledger.ActionTopUpCredit, Version: "evt_2"}))
				if err != nil {
					b.Fatal(err)
				}
			},
			want: "0-80+1000=920",
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := botixtest.Config{Partner: botixtest.PartnerConfig{Lags: tt.lags}}
			inBooks(t, cfg, nil, func(b *books) {
				tt.then(b)
				before := len(b.srv.Journal().Effects())
				is := b.account(partner.AccountPoint{})
				if got := told(is); got != tt.want {
					b.Errorf("the account is\n\t%s, want\n\t%s\n%s", got, tt.want, is)
				}
				if agrees := !strings.Contains(tt.want, " "); is.Agrees() != agrees {
					b.Errorf("Agrees = %t", is.Agrees())
				}
				b.explained(is)
				if after := len(b.srv.Journal().Effects()); after != before {
					b.Errorf("reading had %d effects", after-before)
				}
			})
		})
	}
}

// A comparison goes on from where another ended: what that has counted it does not
// count again, and what was known only later is not missing.
func TestAnAccountSinceAPoint(t *testing.T) {
	inBooks(t, botixtest.Config{}, nil, func(b *books) {
		b.behind.Drift("", "0.01") // explained by then
		b.lose("5.00", "evt_4", botixtest.CutAfter())
		time.Sleep(time.Hour)
		first := b.account(partner.AccountPoint{})
		if got, want := told(first), "0-60+1000=935.01 drift 0.01 unsettled evt_4 -5 logged"; got != want {
			b.Fatalf("the account is\n%s, want\n%s", got, want)
		}
		kept, err := json.Marshal(first.Next)
		if err != nil {
			b.Fatal(err)
		}
		var point partner.AccountPoint
		if err := json.Unmarshal(kept, &point); err != nil || !reflect.DeepEqual(point, first.Next) {
			b.Fatalf("the point is %s and reads back as %+v, %v", kept, point, err)
		}
		if got, want := told(b.account(point)), "935.01-0+0=935.01 unsettled evt_4 0"; got != want {
			b.Errorf("at once it is\n%s, want\n%s", got, want)
		}

		// What was unknown is known; it was done before the point.
		between := time.Now().Add(-30 * time.Minute)
		for _, op := range b.open() {
			if r, err := b.client.Reconcile(b.Context(), op.ID); err != nil || r.Operation.Status != ledger.StatusSucceeded {
				b.Fatalf("Reconcile = %+v, %v", r, err)
			}
		}
		time.Sleep(time.Hour)
		if err := b.credit("7.00", "evt_5"); err != nil {
			b.Fatal(err)
		}
		b.behind.Deposit("0.50")
		b.abroad("1.00", "evt_9")
		second := b.account(point)
		if got, want := told(second), "935.01-7+0.5=927.51 foreign evt_9 -1 logged"; got != want {
			b.Errorf("the account is\n%s, want\n%s", got, want)
		}
		b.explained(second)

		// Somebody writes a point by hand, from a statement.
		byHand := partner.AccountPoint{At: time.Now().Add(-30 * time.Minute), Balance: amount("935.01")}
		if got, want := told(b.account(byHand)), told(second); got != want {
			b.Errorf("from a statement it is\n%s, want\n%s", got, want)
		}
		byHand.Balance = amount("935")
		if got, want := told(b.account(byHand)), "935-7+0.5=927.51 drift 0.01 foreign evt_9 -1 logged"; got != want {
			b.Errorf("from a wrong one it is\n%s, want\n%s", got, want)
		}
		// Of what was known after this one, the list tells that it was done before.
		byHand = partner.AccountPoint{At: between, Balance: amount("935.01")}
		if got, want := told(b.account(byHand)), told(second); got != want {
			b.Errorf("from before it was known it is\n%s, want\n%s", got, want)
		}
		b.rewrite(func(tx map[string]any) bool { return tx["reference"] != "evt_5" })
		if got, want := told(b.account(point)), "935.01-7+0.5=927.51 drift -7 missing evt_5 7 logged foreign evt_9 -1 logged"; got != want {
			b.Errorf("without a transaction it is\n%s, want\n%s", got, want)
		}
	})
}

// What is erased of old operations does not make them new ones, also where the server
// lists no more what was done before the point.
func TestAnAccountSinceAPointAndAnErasure(t *testing.T) {
	inBooks(t, botixtest.Config{}, nil, func(b *books) {
		time.Sleep(time.Hour)
		if err := b.credit("5.00", "evt_4"); err != nil { // the point's time is that of the newest
			b.Fatal(err)
		}
		point := b.account(partner.AccountPoint{}).Next
		time.Sleep(time.Hour)
		if _, err := b.led.Erase(b.Context(), "cust_42", ledger.Decision{Who: "dpo", Why: "request 17"}); err != nil {
			b.Fatal(err)
		}
		b.rewrite(func(tx map[string]any) bool { return tx["reference"] == "evt_4" })
		if got, want := told(b.account(point)), "935-0+0=935"; got != want {
			b.Errorf("the account is %s, want %s", got, want)
		}
	})
}

// What is booked and listed a little later than something younger falls between no two
// points.
func TestATransactionThatIsListedLate(t *testing.T) {
	inBooks(t, botixtest.Config{}, nil, func(b *books) {
		b.behind.Deposit("1.00")
		b.behind.Drift("", "-1.00") // it is not booked yet
		b.rewrite(func(tx map[string]any) bool { return tx["type"] != "deposit" || tx["amount"] != "1.00" })
		time.Sleep(30 * time.Second)
		if err := b.credit("5.00", "evt_4"); err != nil {
			b.Fatal(err)
		}
		first := b.account(partner.AccountPoint{})
		if got, want := told(first), "0-65+1000=935"; got != want {
			b.Fatalf("the account is %s, want %s", got, want)
		}
		b.behind.Drift("", "1.00")
		b.srv.ClearScript()
		if got, want := told(b.account(first.Next)), "935-0+1=936"; got != want {
			b.Errorf("from there on it is %s, want %s", got, want)
		}
	})
}

// Whatever happens, point after point: the differences that are named explain each
// balance to the last digit, nothing is counted twice or left out between two points,
// and an untouched account has no differences.
func TestPointsOfAnAccountMeet(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 7))
			inBooks(t, botixtest.Config{}, nil, func(b *books) {
				var point partner.AccountPoint
				drift := amount("0")
				for day := range 6 {
					foreign := false
					for i := range random.IntN(6) {
						event, text := fmt.Sprintf("rnd_%d_%d", day, i), fmt.Sprintf("%d.%02d", 1+random.IntN(9), random.IntN(100))
						switch random.IntN(6) {
						case 0:
							b.behind.Deposit(text)
						case 1:
							b.behind.Spend(string(b.group), "0.01")
						case 2:
							b.abroad(text, event)
							foreign = true
						case 3:
							b.behind.Drift("", "0.01")
							var err error
							if drift, err = drift.Add(amount("0.01")); err != nil {
								b.Fatal(err)
							}
							foreign = true
						default:
							if err := b.credit(text, event); err != nil {
								b.Fatal(err)
							}
						}
						time.Sleep(time.Duration(random.IntN(40)) * time.Second)
					}
					is := b.account(point)
					b.explained(is)
					if is.Agrees() == foreign {
						b.Errorf("day %d: Agrees = %t:\n%s", day, is.Agrees(), is)
					}
					point = is.Next
					time.Sleep(time.Duration(random.IntN(300)) * time.Second)
				}
				all := b.account(partner.AccountPoint{})
				b.explained(all)
				for _, l := range all.Differences() {
					if l.Finding == partner.WalletDrift && !l.Difference.Equal(drift) {
						b.Errorf("from the beginning the drift is %s, want %s:\n%s", l.Difference, drift, all)
					}
				}
			})
		})
	}
}

// While money moves, balance and list are of different moments: that is said, no drift
// is made of it, and there is nothing to go on from.
func TestAMovingAccountIsNoDrift(t *testing.T) {
	inBooks(t, botixtest.Config{}, nil, func(b *books) {
		b.srv.Script(botixtest.On("transactionsList").When(func(botixtest.Call) bool {
			b.behind.Deposit("0.01")
			return false
		}).Do(botixtest.Unharmed()))
		is := b.account(partner.AccountPoint{})
		if !is.Moving || is.Agrees() || len(is.Differences()) != 0 || !reflect.DeepEqual(is.Next, partner.AccountPoint{}) ||
			!strings.Contains(is.String(), "changed while it was read") {
			b.Errorf("the account is\n%s\nwant it moving, without differences", is)
		}
	})
}

// moved moves money every ten seconds for a while, and returns what waits for its end.
func (b *books) moved(d time.Duration, move func(event string)) (wait func()) {
	start, end := time.Now(), make(chan struct{})
	go func() {
		defer close(end)
		for time.Since(start) < d {
			time.Sleep(10 * time.Second)
			move(fmt.Sprint("busy_", time.Since(start)))
		}
	}()
	return func() { <-end }
}

// What goes on all the time, by the same amount each time, is always ahead of a list
// that lags, or of a balance that does: that is no drift. One that is there beside it is
// found, among top-ups of the ledger's own at once, and else when the others rest.
func TestABusyAccountWhereSomethingLags(t *testing.T) {
	const lag, reads, rests, goesOn = 30 * time.Second, 2*time.Minute + time.Second, 2*time.Minute + 5*time.Second, 10 * time.Minute
	lists := map[string]time.Duration{"transactionsList": lag}
	listAndLog := map[string]time.Duration{"transactionsList": lag, "auditEventsList": lag}
	balance := map[string]time.Duration{"balanceGet": lag}
	all := map[string]time.Duration{"transactionsList": lag, "auditEventsList": lag, "balanceGet": lag}
	ours := func(b *books, event string) {
		if err := b.credit("1.00", event); err != nil {
			b.Error(err)
		}
	}
	theirs := func(b *books, event string) {
		if _, err := b.sandbox.client.TopUps.Create(b.Context(), b.group, topUp("1.00", event)); err != nil {
			b.Error(err)
		}
	}
	deposits := func(b *books, _ string) { b.behind.Deposit("1.00") }
	for name, tt := range map[string]struct {
		lags   map[string]time.Duration
		move   func(*books, string)
		until  time.Duration // they move
		drift  string
		found  string // of drifts
		moving bool
	}{
		"our own, nothing lags":               {nil, ours, goesOn, "", "", false},
		"our own, and 0.02 are off":           {nil, ours, goesOn, "0.02", "0.02", false},
		"our own, the list lags":              {lists, ours, goesOn, "", "", false},
		"our own, it lags, and 0.02 are off":  {lists, ours, goesOn, "0.02", "0.02", false},
		"our own, list and log lag":           {listAndLog, ours, goesOn, "0.02", "0.02", false},
		"our own, the balance lags":           {balance, ours, goesOn, "", "", true},
		"our own, and the balance comes up":   {balance, ours, rests, "", "", false},
		"our own, the balance lags, and 0.02": {balance, ours, time.Minute, "-0.02", "-0.02", false},
		"our own, 0.02, and it comes up":      {balance, ours, rests, "-0.02", "", true}, // another the first time
		"our own, everything lags":            {all, ours, goesOn, "", "", true},
		"another program's, the list lags":    {lists, theirs, goesOn, "", "", false},
		"another program's, list and log lag": {listAndLog, theirs, goesOn, "", "", true},
		"it comes to rest":                    {listAndLog, theirs, rests, "", "", false},
		"it comes to rest, and 0.02 are off":  {listAndLog, theirs, rests, "0.02", "", true}, // another the first time
		"it rests, and 0.02 are off":          {listAndLog, theirs, time.Minute, "0.02", "0.02", false},
		"deposits, the list lags":             {lists, deposits, goesOn, "", "", true},
		"deposits come to rest":               {lists, deposits, rests, "", "", false},
		"deposits rest, and 0.02 are off":     {lists, deposits, time.Minute, "-0.02", "-0.02", false},
	} {
		t.Run(name, func(t *testing.T) {
			inBooks(t, botixtest.Config{Partner: botixtest.PartnerConfig{Lags: tt.lags}}, nil, func(b *books) {
				if tt.drift != "" {
					b.behind.Drift("", tt.drift)
				}
				wait := b.moved(tt.until, func(event string) { tt.move(b, event) })
				time.Sleep(reads)
				is := b.account(partner.AccountPoint{})
				var drifts []string
				for _, l := range is.Differences() {
					if l.Finding == partner.WalletDrift {
						drifts = append(drifts, l.Difference.Canonical())
					}
				}
				if got := strings.Join(drifts, ", "); got != tt.found || is.Moving != tt.moving {
					b.Errorf("drifts of %q, moving %t; want %q, %t:\n%s", got, is.Moving, tt.found, tt.moving, is)
				}
				if !is.Moving {
					b.explained(is)
				}
				if is.Moving == !reflect.DeepEqual(is.Next, partner.AccountPoint{}) {
					b.Errorf("moving %t, and it goes on from %+v", is.Moving, is.Next)
				}
				wait()
			})
		})
	}
}

// An answer that was lost a moment ago, of a top-up that the log has and the list not
// yet, makes no foreign one; and what has been unknown for long is no drift.
func TestAnAccountWithATopUpUnderWay(t *testing.T) {
	lags := botixtest.PartnerConfig{Lags: map[string]time.Duration{"transactionsList": 30 * time.Second}}
	inBooks(t, botixtest.Config{Partner: lags}, nil, func(b *books) {
		b.abroad("1.01", "evt_9") // has the account read twice
		other := b.sandbox.group("Чайная")
		wait := make(chan struct{})
		go func() {
			defer close(wait)
			time.Sleep(50 * time.Second) // before the second reading
			b.srv.Script(botixtest.On("topUpsCreate").Nth(1).Do(botixtest.CutAfter()))
			_, err := b.client.TopUps.Create(b.Context(), other, topUp("5.00", "evt_4"), botix.WithIntent(intent("cust_43")))
			if retry.OutcomeOf(err) != retry.Unknown {
				b.Error(err)
			}
		}()
		is := b.account(partner.AccountPoint{})
		<-wait
		if got, want := told(is), "0-60+1000=933.99 foreign evt_9 -1.01 logged"; got != want {
			b.Errorf("the account is\n%s, want\n%s\n%s", got, want, is)
		}
		b.explained(is)
		time.Sleep(time.Hour)
		is = b.account(partner.AccountPoint{})
		if got, want := told(is), "0-60+1000=933.99 foreign evt_9 -1.01 logged unsettled evt_4 -5 logged"; got != want {
			b.Errorf("an hour later the account is\n%s, want\n%s\n%s", got, want, is)
		}
		b.explained(is)
	})
}

// The same lines whether they end with a page, or begin another.
func TestAnAccountOfManyPages(t *testing.T) {
	inBooks(t, botixtest.Config{}, nil, func(b *books) {
		want := 60
		for n := 3; n <= 201; n++ {
			if n > 3 {
				want++
				if err := b.credit("1.00", fmt.Sprint("evt_", n)); err != nil {
					b.Fatal(err)
				}
			}
			if n%100 > 1 && n%100 < 98 {
				continue
			}
			is := b.account(partner.AccountPoint{})
			if got := told(is); got != fmt.Sprintf("0-%d+1000=%d", want, 1000-want) || len(is.Lines) != n {
				b.Errorf("of %d top-ups the account is %s with %d lines", n, got, len(is.Lines))
			}
			if got := summary(b.wallet()); got != fmt.Sprintf("%d+0=%d", want, want) {
				b.Errorf("of %d top-ups the wallet is %s", n, got)
			}
		}
	})
}

// An account that nothing was done with agrees, and so does the next comparison; it may
// be overdrawn, which is told to the digit.
func TestAnAccountAtTheEdges(t *testing.T) {
	inBubble(t, botixtest.Config{Partner: botixtest.PartnerConfig{Balance: "0.00"}}, nil, func(s *sandbox) {
		s.ledger(ledgerFile(t), func(led *ledger.Ledger) {
			c := s.connect(s.srv.PartnerKey(), append(exactly(tries(1)), partner.WithLedger(led))...)
			auditor, err := c.Auditor()
			if err != nil {
				s.Fatal(err)
			}
			b := &books{sandbox: s, led: led, client: c, auditor: auditor}
			is := b.account(partner.AccountPoint{})
			if got := told(is); got != "0-0+0=0" || !is.Agrees() {
				s.Errorf("an empty account is %s", is)
			}
			if is = b.account(is.Next); told(is) != "0-0+0=0" || !is.Agrees() {
				s.Errorf("and from there on %s", is)
			}
			b.behind.Drift("", "-2000.01")
			is = b.account(is.Next)
			if got, want := told(is), "0-0+0=-2000.01 drift -2000.01"; got != want {
				s.Errorf("an overdrawn account is %s, want %s", got, want)
			}
			if is = b.account(is.Next); told(is) != "-2000.01-0+0=-2000.01" || !is.Agrees() {
				s.Errorf("and from there on %s", is)
			}
			b.behind.Deposit("2000.02")
			if is = b.account(is.Next); told(is) != "-2000.01-0+2000.02=0.01" || !is.Agrees() {
				s.Errorf("and with a deposit %s", is)
			}
		})
	})
}

// The wait for a second reading ends with its context, and the first is handed out.
func TestASecondReadingOfTheAccountHeedsTheContext(t *testing.T) {
	inBooks(t, botixtest.Config{}, nil, func(b *books) {
		b.behind.Drift("", "0.01")
		ctx, cancel := context.WithTimeout(b.Context(), 10*time.Second)
		defer cancel()
		is, err := b.auditor.Account(ctx, partner.AccountPoint{})
		if !errors.Is(err, context.DeadlineExceeded) || is == nil || told(is) != "0-60+1000=940.01 drift 0.01" {
			b.Errorf("Account = %v, %v; want the first reading at once", is, err)
		}
	})
}

// Amounts of two currencies are not added.
func TestAnAccountInAnotherCurrency(t *testing.T) {
	contract := partner.DefaultContract()
	contract.Currency = "USD"
	inBooks(t, botixtest.Config{}, []partner.Option{partner.WithContract(contract)}, func(b *books) {
		if is, err := b.auditor.Account(b.Context(), partner.AccountPoint{}); err == nil || !strings.Contains(err.Error(), "Contract.Currency") {
			b.Errorf("Account = %v, %v", is, err)
		}
		if w, err := b.auditor.Wallet(b.Context(), b.group); err == nil || !strings.Contains(err.Error(), "in RUB and in USD") {
			b.Errorf("Wallet = %v, %v", w, err)
		}
	})
	contract.Currency = ""
	inBooks(t, botixtest.Config{}, []partner.Option{partner.WithContract(contract)}, func(b *books) {
		if is := b.account(partner.AccountPoint{}); !is.Agrees() || is.Currency != "RUB" {
			b.Errorf("the account is\n%s", is)
		}
	})
}

// What somebody reads who has to act on it.
func TestAnAccountPrintsWhatIsOff(t *testing.T) {
	inBooks(t, botixtest.Config{}, nil, func(b *books) {
		if is := b.account(partner.AccountPoint{}); !strings.Contains(is.String(), "all 3 lines agree") || !strings.Contains(is.String(), "since its beginning") {
			b.Errorf("it prints\n%s", is)
		}
		b.abroad("1.01", "evt_9")
		text := b.account(partner.AccountPoint{}).String()
		for _, want := range []string{"credited, by the ledger             60.00 RUB", "balance                            938.99 RUB", "foreign", "-1.01", "evt_9", "by key ", "… from ", "Auditor.Changes"} {
			if !strings.Contains(text, want) {
				b.Errorf("it lacks %q:\n%s", want, text)
			}
		}
	})
}

// What is done and not listed yet is in the balance that the next comparison starts
// from, and makes no drift there; also where nothing was listed before.
func TestAPointBeforeTheListHasCaughtUp(t *testing.T) {
	lags := botixtest.PartnerConfig{Lags: map[string]time.Duration{"transactionsList": 30 * time.Second}}
	goesOn := func(b *books, start partner.AccountPoint) {
		for _, event := range []string{"evt_7", "evt_8"} {
			if err := b.credit("5.00", event); err != nil {
				b.Fatal(err)
			}
			is := b.account(start)
			if !is.Agrees() {
				b.Fatalf("at once: %s", is)
			}
			time.Sleep(24 * time.Hour)
			if is = b.account(is.Next); !is.Agrees() {
				b.Fatalf("the next day: %s", is)
			}
			start = is.Next
		}
	}
	inBooks(t, botixtest.Config{Partner: lags}, nil, func(b *books) {
		time.Sleep(time.Hour)
		goesOn(b, b.account(partner.AccountPoint{}).Next)
	})
	lags.Balance = "0.00"
	inBubble(t, botixtest.Config{Partner: lags}, nil, func(s *sandbox) {
		s.ledger(ledgerFile(t), func(led *ledger.Ledger) {
			c := s.connect(s.srv.PartnerKey(), append(exactly(tries(1)), partner.WithLedger(led))...)
			auditor, err := c.Auditor()
			if err != nil {
				s.Fatal(err)
			}
			b := &books{sandbox: s, led: led, client: c, auditor: auditor, group: s.group("Кофейня")}
			b.behind.Drift("", "100.00") // no transaction tells it
			empty := b.account(partner.AccountPoint{})
			goesOn(b, empty.Next)
		})
	})
}

// Another program's top-up is told once: when only the log has it, and not again when
// it is listed.
func TestAPointAfterATopUpThatIsOnlyLogged(t *testing.T) {
	lags := botixtest.PartnerConfig{Lags: map[string]time.Duration{"transactionsList": time.Hour}}
	inBooks(t, botixtest.Config{Partner: lags}, nil, func(b *books) {
		time.Sleep(2 * time.Hour)
		start := b.account(partner.AccountPoint{})
		b.abroad("1.01", "evt_9")
		time.Sleep(10 * time.Minute)
		is := b.account(start.Next)
		if got, want := len(is.Differences()), 1; got != want || is.Moving {
			b.Fatalf("at once: %d differences, want %d:\n%s", got, want, is)
		}
		time.Sleep(24 * time.Hour)
		if next := b.account(is.Next); !next.Agrees() {
			b.Errorf("the next day: %s", next)
		}
	})
}
