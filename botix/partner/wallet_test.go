package partner_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/money"
	"github.com/botix-pro/sdk-go/retry"
)

// books is a group with three credits of 10.00, 20.00 and 30.00, made with a ledger.
type books struct {
	*sandbox
	led     *ledger.Ledger
	client  *partner.Client // with the ledger
	auditor *partner.Auditor
	group   partner.GroupID
}

func inBooks(t *testing.T, cfg botixtest.Config, opts []partner.Option, test func(*books)) {
	t.Helper()
	file := ledgerFile(t)
	inBubble(t, cfg, nil, func(s *sandbox) {
		s.ledger(file, func(led *ledger.Ledger) {
			b := &books{sandbox: s, led: led, group: s.group("Кофейня")}
			b.client = s.connect(s.srv.PartnerKey(), slices.Concat(exactly(tries(1)), []partner.Option{partner.WithLedger(led)}, opts)...)
			var err error
			if b.auditor, err = b.client.Auditor(); err != nil {
				s.Fatal(err)
			}
			for i, text := range []string{"10.00", "20.00", "30.00"} {
				if err := b.credit(text, fmt.Sprintf("evt_%d", i+1)); err != nil {
					s.Fatal(err)
				}
				time.Sleep(time.Minute)
			}
			test(b)
		})
	})
}

// creditUnseen is credit of which only a request id is known: a gateway answers, and no
// list can be read.
func (b *books) creditUnseen(text, event string) {
	b.Helper()
	b.srv.Script(botixtest.On("topUpsCreate").Nth(1).Do(botixtest.HTML(502).AfterWork()), botixtest.On("transactionsList").Do(botixtest.Status(503)))
	if err := b.credit(text, event); retry.OutcomeOf(err) != retry.Unknown {
		b.Fatal(err)
	}
	b.srv.ClearScript()
}

// credit tops up for a payment, whose event is the intent too.
func (b *books) credit(text, event string) error {
	_, err := b.client.TopUps.Create(b.Context(), b.group, topUp(text, event),
		botix.WithIntent(ledger.Intent{Customer: "cust_42", Action: ledger.ActionTopUpCredit, Version: event}))
	return err
}

func (b *books) wallet() *partner.Wallet {
	b.Helper()
	w, err := b.auditor.Wallet(b.Context(), b.group)
	if err != nil {
		b.Fatal(err)
	}
	return w
}

// summary is a wallet in one line, without ids: the sums, then what does not agree.
func summary(w *partner.Wallet) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s+%s=%s", w.Credited.Canonical(), w.Other.Canonical(), w.Balance.Canonical())
	for _, l := range w.Differences() {
		fmt.Fprintf(&b, " %s", l.Finding)
		if l.Reference != "" {
			fmt.Fprintf(&b, " %s", l.Reference)
		}
		fmt.Fprintf(&b, " %s", l.Difference.Canonical())
		if l.Finding == partner.WalletDrift && l.Transaction != nil {
			fmt.Fprintf(&b, " after %s", l.Transaction.Amount)
		}
	}
	return b.String()
}

// balanced fails unless the balance is what the ledger has, what else is listed, and
// the differences that are named.
func (b *books) balanced(w *partner.Wallet) {
	b.Helper()
	all := []money.Amount{w.Credited, w.Other}
	for _, l := range w.Lines {
		all = append(all, l.Difference)
	}
	if total, err := money.Sum(all...); err != nil || !total.Equal(w.Balance) {
		b.Errorf("the lines add up to %s, %v, and the balance is %s:\n%s", total, err, w.Balance, w)
	}
}

// Each way in which a wallet can be off is found, to the last digit, and named.
func TestWallet(t *testing.T) {
	abroad := func(b *books, text, event string) { // by a program without this ledger
		if _, err := b.sandbox.client.TopUps.Create(b.Context(), b.group, topUp(text, event)); err != nil {
			b.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		cfg  botixtest.PartnerConfig
		opts []partner.Option
		then func(*books)
		want string
	}{
		"nothing is off":         {then: func(*books) {}, want: "60+0=60"},
		"and usage is no credit": {then: func(b *books) { b.behind.Spend(string(b.group), "0.07") }, want: "60+-0.07=59.93"},

		"the balance has 0.01 more": {
			then: func(b *books) { b.behind.Drift(string(b.group), "0.01") },
			want: "60+0=60.01 drift 0.01 after 30.00",
		},
		"the balance has 0.00000001 less, and went on": {
			then: func(b *books) {
				b.behind.Drift(string(b.group), "-0.00000001")
				b.behind.Spend(string(b.group), "1.00")
				b.behind.Spend(string(b.group), "2.00")
			},
			want: "60+-3=56.99999999 drift -0.00000001 after 30.00",
		},
		"the balance drifted twice": {
			then: func(b *books) {
				b.behind.Drift(string(b.group), "0.01")
				b.behind.Spend(string(b.group), "1.00")
				b.behind.Drift(string(b.group), "0.02")
				b.behind.Spend(string(b.group), "2.00")
			},
			want: "60+-3=57.03 drift 0.01 after 30.00 drift 0.02 after -1.00",
		},

		"a top-up of another program": {
			then: func(b *books) { abroad(b, "0.01", "evt_9") },
			want: "60+0=60.01 foreign evt_9 0.01",
		},
		"a payment was credited by another program too": {
			then: func(b *books) { abroad(b, "20.00", "evt_2") },
			want: "60+0=80 doubled evt_2 20",
		},
		"the server forgot a key and did it twice": {
			then: func(b *books) {
				b.srv.Script(botixtest.On("topUpsCreate").Nth(1).Do(botixtest.CutAfter()))
				if err := b.credit("5.00", "evt_4"); retry.OutcomeOf(err) != retry.Unknown {
					b.Fatal(err)
				}
				b.srv.ForgetKeys()
				if err := b.credit("5.00", "evt_4"); err != nil {
					b.Fatal(err)
				}
			},
			want: "65+0=70 doubled evt_4 5",
		},
		"one payment under two intents": {
			then: func(b *books) {
				_, err := b.client.TopUps.Create(b.Context(), b.group, topUp("30.00", "evt_3"),
					botix.WithIntent(ledger.Intent{Customer: "cust_42", Action: "gift", Version: "1"}))
				if err != nil {
					b.Fatal(err)
				}
			},
			want: "90+0=90 doubled evt_3 0",
		},

		"nobody heard whether it was done, and it was": {
			then: func(b *books) {
				b.srv.Script(botixtest.On("topUpsCreate").Nth(1).Do(botixtest.CutAfter()))
				if err := b.credit("5.00", "evt_4"); retry.OutcomeOf(err) != retry.Unknown {
					b.Fatal(err)
				}
				time.Sleep(time.Hour)
			},
			want: "60+0=65 unsettled evt_4 5",
		},
		"nobody heard whether it was done, and it was not": {
			then: func(b *books) {
				b.srv.Script(botixtest.On("topUpsCreate").Nth(1).Do(botixtest.CutBefore()))
				if err := b.credit("5.00", "evt_4"); retry.OutcomeOf(err) != retry.Unknown {
					b.Fatal(err)
				}
				time.Sleep(time.Hour)
			},
			want: "60+0=60 unsettled evt_4 0",
		},
		"it was refused, and done": {
			then: func(b *books) {
				b.srv.Script(botixtest.On("topUpsCreate").Nth(1).Do(botixtest.Refusal("TOP_UP_BELOW_MINIMUM").AfterWork()))
				if err := b.credit("5.00", "evt_4"); !errors.Is(err, partner.ErrTopUpBelowMinimum) {
					b.Fatal(err)
				}
			},
			want: "60+0=65 contradicts evt_4 5",
		},
		"of two that ask for the same one was refused, and the other may have been done": {
			then: func(b *books) {
				b.srv.Script(botixtest.On("topUpsCreate").InTurn(botixtest.Refusal("TOP_UP_BELOW_MINIMUM"), botixtest.CutAfter()))
				if err := b.credit("5.00", "evt_4"); !errors.Is(err, partner.ErrTopUpBelowMinimum) {
					b.Fatal(err)
				}
				_, err := b.client.TopUps.Create(b.Context(), b.group, topUp("5.00", "evt_4"), botix.WithIntent(intent("cust_42")))
				if retry.OutcomeOf(err) != retry.Unknown {
					b.Fatal(err)
				}
				time.Sleep(time.Hour)
			},
			want: "60+0=65 unsettled evt_4 5",
		},
		"it was refused": {
			then: func(b *books) {
				if err := b.credit("5000.00", "evt_4"); !errors.Is(err, partner.ErrInsufficientBalance) {
					b.Fatal(err)
				}
			},
			want: "60+0=60",
		},

		"a transaction is not listed any more": {
			then: func(b *books) { b.rewrite(func(tx map[string]any) bool { return tx["reference"] != "evt_2" }) },
			want: "60+0=60 drift 20 after 10.00 missing evt_2 -20",
		},
		"a transaction has another amount than was answered": {
			then: func(b *books) {
				b.rewrite(func(tx map[string]any) bool {
					if tx["reference"] == "evt_2" {
						tx["amount"] = "20.01"
					}
					return true
				})
			},
			want: "60+0=60 drift -0.01 after 10.00 differs evt_2 0.01",
		},
		"another amount was credited than was asked for": {
			then: func(b *books) {
				b.srv.Script(botixtest.On("topUpsCreate").Do(botixtest.Change("less", func(a *botixtest.Answer) {
					a.Body = []byte(strings.ReplaceAll(string(a.Body), `"5.00"`, `"4.99"`))
				})))
				if err := b.credit("5.00", "evt_4"); err != nil {
					b.Fatal(err)
				}
			},
			want: "65+0=65 differs evt_4 0",
		},

		"the list lags behind": {
			cfg: botixtest.PartnerConfig{Lags: map[string]time.Duration{"transactionsList": 30 * time.Second}},
			then: func(b *books) {
				if err := b.credit("5.00", "evt_4"); err != nil {
					b.Fatal(err)
				}
			},
			want: "65+0=65",
		},
		"answers are not kept, and prove themselves": {
			opts: []partner.Option{botix.WithKeeping(ledger.Keeping{Results: ledger.ResultIDs})},
			then: func(*books) {},
			want: "60+0=60",
		},
		"answers are not kept, and an amount is another": {
			opts: []partner.Option{botix.WithKeeping(ledger.Keeping{Results: ledger.ResultIDs})},
			then: func(b *books) {
				b.rewrite(func(tx map[string]any) bool {
					if tx["reference"] == "evt_2" {
						tx["amount"] = "20.01"
					}
					return true
				})
			},
			want: "60+0=60 drift -0.01 after 10.00 differs evt_2 0.01",
		},
		"requests and answers are erased": {
			then: func(b *books) { b.erase() },
			want: "60+0=60",
		},
		"requests and answers are erased, and a transaction is not listed any more": {
			then: func(b *books) {
				b.erase()
				b.rewrite(func(tx map[string]any) bool { return tx["reference"] != "evt_2" })
			},
			want: "60+0=60 drift 20 after 10.00 missing -20",
		},
		"they were recorded when the ledger kept no amounts": {
			then: func(b *books) { b.withoutAmounts() },
			want: "60+0=60",
		},
		"the group is gone": {
			then: func(b *books) {
				if err := b.client.Groups.Delete(b.Context(), b.group); err != nil {
					b.Fatal(err)
				}
			},
			want: "60+-60=0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tt.cfg.MinTopUp = "0.01"
			inBooks(t, botixtest.Config{Partner: tt.cfg}, tt.opts, func(b *books) {
				tt.then(b)
				before := len(b.srv.Journal().Effects())
				w := b.wallet()
				if got := summary(w); got != tt.want {
					b.Errorf("the wallet is\n\t%s, want\n\t%s\n%s", got, tt.want, w)
				}
				if agrees := !strings.Contains(tt.want, " "); w.Agrees() != agrees {
					b.Errorf("Agrees = %t", w.Agrees())
				}
				b.balanced(w)

				all := 0
				for also, err := range b.auditor.Wallets(b.Context()) {
					if all++; err != nil || summary(also) != tt.want {
						b.Errorf("in one pass over all: %v, %v", also, err)
					}
				}
				if all != 1 && !w.Gone {
					b.Errorf("%d wallets, want 1", all)
				}
				if after := len(b.srv.Journal().Effects()); after != before {
					b.Errorf("reading had %d effects", after-before)
				}
			})
		})
	}
}

// erase blanks what the ledger has of the customer in words.
func (b *books) erase() {
	b.Helper()
	if e, err := b.led.Erase(b.Context(), "cust_42", ledger.Decision{Who: "dpo", Why: "request 17"}); err != nil || e.Erased != 3 {
		b.Fatalf("Erase = %+v, %v", e, err)
	}
}

// withoutAmounts makes the ledger one of an earlier schema, which had none.
func (b *books) withoutAmounts() {
	b.Helper()
	for _, query := range []string{"DROP TRIGGER ledger_amounts_delete", "DELETE FROM ledger_amounts"} {
		err := b.led.InTx(b.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, query)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// rewrite changes what the list of transactions says from now on; those for which
// change returns false are left out.
func (b *books) rewrite(change func(tx map[string]any) bool) {
	b.srv.Script(botixtest.On("transactionsList").Do(botixtest.Change("another list", func(a *botixtest.Answer) {
		var page struct {
			Success bool             `json:"success"`
			Data    []map[string]any `json:"data"`
			Meta    any              `json:"meta"`
		}
		if err := json.Unmarshal(a.Body, &page); err != nil {
			b.Error(err)
		}
		page.Data = slices.DeleteFunc(page.Data, func(tx map[string]any) bool { return !change(tx) })
		body, err := json.Marshal(page)
		if err != nil {
			b.Error(err)
		}
		a.Body = body
	})))
}

// Whatever happens to a wallet, the differences that are named explain the balance
// to the last digit, and an untouched wallet has none.
func TestDifferencesOfAWalletAddUp(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 5))
			inBooks(t, botixtest.Config{}, nil, func(b *books) {
				touched := false
				for i := range 20 {
					event, text := fmt.Sprintf("rnd_%d", i), fmt.Sprintf("%d.%02d", 1+random.IntN(9), random.IntN(100))
					switch random.IntN(8) {
					case 0:
						fault := []botixtest.Fault{botixtest.CutAfter(), botixtest.CutBefore(), botixtest.HTML(502).AfterWork()}[random.IntN(3)]
						b.srv.Script(botixtest.On("topUpsCreate").Nth(1).Times(1).Do(fault), botixtest.On("transactionsList").Do(botixtest.Status(503)))
						if err := b.credit(text, event); retry.OutcomeOf(err) != retry.Unknown {
							b.Fatal(err)
						}
						b.srv.ClearScript()
						for _, op := range b.open() { // later ones wait for it
							if _, err := b.led.Decide(b.Context(), op.ID, ledger.Verdict{Kind: ledger.VerdictGiveUp}, ledger.Decision{Who: "tester", Why: "to go on"}); err != nil {
								b.Fatal(err)
							}
						}
						touched = true
					case 1:
						b.behind.Drift(string(b.group), []string{"0.01", "-0.01", "3.00"}[random.IntN(3)])
						touched = true
					case 2:
						if _, err := b.sandbox.client.TopUps.Create(b.Context(), b.group, topUp(text, event)); err != nil {
							b.Fatal(err)
						}
						touched = true
					case 3, 4:
						b.behind.Spend(string(b.group), "0."+fmt.Sprintf("%02d", random.IntN(100)))
					default:
						if err := b.credit(text, event); err != nil {
							b.Fatal(err)
						}
					}
					time.Sleep(time.Duration(random.IntN(90)) * time.Second)
				}
				time.Sleep(2 * time.Minute)
				w := b.wallet()
				b.balanced(w)
				if !touched && !w.Agrees() {
					b.Errorf("nothing was done to it:\n%s", w)
				}
			})
		})
	}
}

// open are the operations that may have had their effect.
func (b *books) open() (all []*ledger.Operation) {
	b.Helper()
	for op, err := range b.led.All(b.Context(), ledger.Filter{Statuses: []ledger.Status{ledger.StatusReconciling}}) {
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, op)
	}
	return all
}

// Wallets that agree are compared in one pass: none of them is read by itself, and
// nothing is waited for.
func TestAllWalletsInOnePass(t *testing.T) {
	inBooks(t, botixtest.Config{}, nil, func(b *books) {
		other := b.sandbox.group("Чайная")
		_, err := b.client.TopUps.Create(b.Context(), other, topUp("7.00", "evt_7"),
			botix.WithIntent(ledger.Intent{Customer: "cust_43", Action: ledger.ActionTopUpCredit, Version: "evt_7"}))
		if err != nil {
			b.Fatal(err)
		}
		b.sent("groupsGet", 0)
		start, all := time.Now(), map[string]bool{}
		for w, err := range b.auditor.Wallets(b.Context()) {
			if err != nil {
				b.Fatal(err)
			}
			all[summary(w)] = true
		}
		b.sent("groupsGet", 0)
		if want := map[string]bool{"60+0=60": true, "7+0=7": true}; !reflect.DeepEqual(all, want) || time.Since(start) > 0 {
			b.Errorf("the wallets are %v after %v, want %v at once", all, time.Since(start), want)
		}
	})
}

// While usage goes on, balance and list are of different moments: that is said, and
// no drift is made of it.
func TestAMovingWalletIsNoDrift(t *testing.T) {
	inBooks(t, botixtest.Config{}, nil, func(b *books) {
		b.srv.Script(botixtest.On("transactionsList").When(func(botixtest.Call) bool {
			b.behind.Spend(string(b.group), "0.01")
			return false
		}).Do(botixtest.Unharmed()))
		w := b.wallet()
		if !w.Moving || w.Agrees() || len(w.Differences()) != 0 || !strings.Contains(w.String(), "changed while it was read") {
			b.Errorf("the wallet is\n%s\nwant it moving, without differences", w)
		}
	})
}

// What is spent all the time is ahead of a list that lags: that is no drift. One that
// is there beside it stays where it was, and is found.
func TestABusyWalletWhoseListLags(t *testing.T) {
	cfg := botixtest.PartnerConfig{Lags: map[string]time.Duration{"transactionsList": 30 * time.Second}}
	for name, tt := range map[string]struct {
		drift string
		until time.Duration // is spent; the wallet is read from 2 min on
		want  string
	}{
		"nothing is off":                   {"", 5 * time.Minute, ""},
		"0.02 are":                         {"0.02", 5 * time.Minute, "drift 0.02 after 30.00"},
		"nothing is, and it comes to rest": {"", 2*time.Minute + 5*time.Second, ""},
		"0.02 are, and it comes to rest":   {"0.02", 2*time.Minute + 5*time.Second, "drift 0.02 after 30.00"},
	} {
		t.Run(name, func(t *testing.T) {
			inBooks(t, botixtest.Config{Partner: cfg}, nil, func(b *books) {
				if tt.drift != "" {
					b.behind.Drift(string(b.group), tt.drift)
				}
				start, spent := time.Now(), make(chan struct{})
				go func() {
					defer close(spent)
					for time.Since(start) < tt.until {
						time.Sleep(10 * time.Second)
						b.behind.Spend(string(b.group), "0.01")
					}
				}()
				time.Sleep(2*time.Minute + time.Second)
				w := b.wallet()
				var found []string
				for _, l := range w.Differences() {
					found = append(found, fmt.Sprintf("%s %s after %s", l.Finding, l.Difference.Canonical(), l.Transaction.Amount))
				}
				rests := tt.until < 3*time.Minute
				if got := strings.Join(found, ", "); got != tt.want || w.Moving == rests || w.Agrees() != (rests && tt.want == "") {
					b.Errorf("the wallet is %s\nwant %q, moving %t", w, tt.want, !rests)
				}
				<-spent
			})
		})
	}
}

// A server that does not tell the balance after each transaction gives a drift no place.
// What is spent by the same amount all the time is no drift there either.
func TestABusyWalletWhoseListLagsAndTellsNoBalances(t *testing.T) {
	cfg := botixtest.PartnerConfig{Lags: map[string]time.Duration{"transactionsList": 30 * time.Second}}
	for name, tt := range map[string]struct {
		drift  string
		until  time.Duration
		want   string
		moving bool
	}{
		"nothing is off":           {"", 5 * time.Minute, "", true},
		"it comes to rest":         {"", 2*time.Minute + 5*time.Second, "", false},
		"it rests, and 0.02 are":   {"0.02", time.Minute, "drift 0.02", false},
		"it goes on, and 0.02 are": {"0.02", 5 * time.Minute, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			inBooks(t, botixtest.Config{Partner: cfg}, nil, func(b *books) {
				b.rewrite(func(tx map[string]any) bool { delete(tx, "balance_after"); return true })
				if tt.drift != "" {
					b.behind.Drift(string(b.group), tt.drift)
				}
				wait := b.moved(tt.until, func(string) { b.behind.Spend(string(b.group), "0.01") })
				time.Sleep(2*time.Minute + time.Second)
				w := b.wallet()
				var found []string
				for _, l := range w.Differences() {
					found = append(found, fmt.Sprintf("%s %s", l.Finding, l.Difference.Canonical()))
				}
				if got := strings.Join(found, ", "); got != tt.want || w.Moving != tt.moving {
					b.Errorf("the wallet has %q, moving %t; want %q, %t:\n%s", got, w.Moving, tt.want, tt.moving, w)
				}
				wait()
			})
		})
	}
}

// What was credited while the reading took its time is recent, however long that was.
func TestAReadingThatTakesLong(t *testing.T) {
	slow := []partner.Option{botix.WithSettle(2 * time.Second)}
	inBooks(t, botixtest.Config{}, slow, func(b *books) {
		n := 0
		var credits sync.WaitGroup
		credit := func(botixtest.Call) bool { // each time the list has been read
			n++
			if event := fmt.Sprint("evt_9_", n); n%2 == 0 {
				credits.Go(func() {
					time.Sleep(time.Second) // while that answer takes its time
					if err := b.credit("1.00", event); err != nil {
						b.Error(err)
					}
				})
			}
			return n%2 == 0
		}
		for _, after := range []string{"groupsGet", "groupsList", "balanceGet"} {
			b.srv.ClearScript()
			b.srv.Script(botixtest.On(after).When(credit).Do(botixtest.Delay(5 * time.Second)))
			var findings []partner.WalletLine
			var moving bool
			switch after {
			case "groupsGet":
				w := b.wallet()
				findings, moving = w.Differences(), w.Moving
			case "groupsList":
				for w, err := range b.auditor.Wallets(b.Context()) {
					if err != nil {
						b.Fatal(err)
					}
					findings, moving = w.Differences(), true // it is read by itself the second time
				}
			default:
				is := b.account(partner.AccountPoint{})
				findings, moving = is.Differences(), is.Moving
			}
			credits.Wait()
			if len(findings) != 0 || !moving {
				b.Errorf("with a slow %s: moving %t, %v", after, moving, findings)
			}
			time.Sleep(time.Minute)
		}
	})
}

// A list that grows at its beginning may show the end of a page on the next once more:
// that is one transaction, one change, one object.
func TestListsThatRepeatThemselves(t *testing.T) {
	inBooks(t, botixtest.Config{}, nil, func(b *books) {
		b.abroad("1.01", "evt_9")
		again := botixtest.Change("all of it once more", func(a *botixtest.Answer) {
			var page struct {
				Success bool  `json:"success"`
				Data    []any `json:"data"`
				Meta    any   `json:"meta"`
			}
			err := json.Unmarshal(a.Body, &page)
			page.Data = append(page.Data, page.Data...)
			if err == nil {
				a.Body, err = json.Marshal(page)
			}
			if err != nil {
				b.Error(err)
			}
		})
		for _, list := range []string{"transactionsList", "auditEventsList", "groupsList"} {
			b.srv.Script(botixtest.On(list).Do(again))
		}
		if w := b.wallet(); summary(w) != "60+0=61.01 foreign evt_9 1.01" || len(w.Lines) != 4 {
			b.Errorf("the wallet is\n%s", w)
		}
		n := 0
		for w, err := range b.auditor.Wallets(b.Context()) {
			if n++; err != nil || summary(w) != "60+0=61.01 foreign evt_9 1.01" {
				b.Errorf("among all it is %v, %v", w, err)
			}
		}
		if is := b.account(partner.AccountPoint{}); told(is) != "0-60+1000=938.99 foreign evt_9 -1.01 logged" || len(is.Lines) != 4 {
			b.Errorf("the account is\n%s", is)
		}
		changes, err := b.auditor.Changes(b.Context(), partner.Period{})
		if err != nil || len(changes.Foreign) != 1 || changes.Matched != 3 || n != 1 {
			b.Errorf("%d wallets, and the changes are\n%v, %v", n, changes, err)
		}
		plan, err := b.auditor.PlanRebuild(b.Context(), partner.Naming{TopUp: naming.TopUp})
		if err != nil || len(plan.Restore) != 4 {
			b.Errorf("the plan is\n%v, %v", plan, err)
		}
	})
}

// Two drifts that cancel each other out are two customers' differences, whatever the
// sum over all is; and a wallet may be overdrawn.
func TestDriftsThatCancelEachOtherOut(t *testing.T) {
	inBooks(t, botixtest.Config{}, nil, func(b *books) {
		other := b.sandbox.group("Чайная")
		_, err := b.client.TopUps.Create(b.Context(), other, topUp("7.00", "evt_7"),
			botix.WithIntent(ledger.Intent{Customer: "cust_43", Action: ledger.ActionTopUpCredit, Version: "evt_7"}))
		if err != nil {
			b.Fatal(err)
		}
		b.behind.Drift(string(b.group), "7.01")
		b.behind.Drift(string(other), "-7.01")
		all := map[string]bool{}
		for w, err := range b.auditor.Wallets(b.Context()) {
			if err != nil {
				b.Fatal(err)
			}
			all[summary(w)] = true
			b.balanced(w)
		}
		if want := map[string]bool{"60+0=67.01 drift 7.01 after 30.00": true, "7+0=-0.01 drift -7.01 after 7.00": true}; !reflect.DeepEqual(all, want) {
			b.Errorf("the wallets are %v, want %v", all, want)
		}
		if is := b.account(partner.AccountPoint{}); !is.Agrees() {
			b.Errorf("the partner's own account is\n%s", is)
		}
	})
}

// Groups of one partner may have their money in several currencies: each wallet is added
// by itself, and the whole is not.
func TestWalletsOfTwoCurrencies(t *testing.T) {
	contract := partner.DefaultContract()
	contract.Currency = ""
	inBooks(t, botixtest.Config{}, []partner.Option{partner.WithContract(contract)}, func(b *books) {
		other := b.sandbox.group("Чайная")
		_, err := b.client.TopUps.Create(b.Context(), other, topUp("7.00", "evt_7"),
			botix.WithIntent(ledger.Intent{Customer: "cust_43", Action: ledger.ActionTopUpCredit, Version: "evt_7"}))
		if err != nil {
			b.Fatal(err)
		}
		b.rewrite(func(tx map[string]any) bool {
			if tx["group_id"] == string(other) {
				tx["currency"] = "KZT"
			}
			return true
		})
		all := map[string]string{}
		for w, err := range b.auditor.Wallets(b.Context()) {
			if err != nil {
				b.Fatal(err)
			}
			all[w.Currency] = summary(w)
		}
		if want := map[string]string{"RUB": "60+0=60", "KZT": "7+0=7"}; !reflect.DeepEqual(all, want) {
			b.Errorf("the wallets are %v, want %v", all, want)
		}
		if is, err := b.auditor.Account(b.Context(), partner.AccountPoint{}); err == nil || !strings.Contains(err.Error(), "cannot be added") {
			b.Errorf("Account = %v, %v", is, err)
		}
	})
}

// A wallet is compared with what the ledger has of its group: the operations of others,
// however many, stay in the database.
func TestAWalletReadsItsOwnOperations(t *testing.T) {
	inBooks(t, botixtest.Config{}, nil, func(b *books) {
		other := b.sandbox.group("Чайная")
		for i := range 120 { // more than a page
			_, err := b.client.TopUps.Create(b.Context(), other, topUp("1.00", fmt.Sprint("oth_", i)), botix.WithIntent(intent(fmt.Sprint("cust_", i))))
			if err != nil {
				b.Fatal(err)
			}
		}
		n := 0
		b.auditor.Count(&n)
		if w := b.wallet(); summary(w) != "60+0=60" || n != 3 {
			b.Errorf("of %d operations, the wallet is %s; want 3", n, summary(w))
		}
	})
}

// Other programs' operations in one database, and those at another server, are not
// of this wallet.
func TestAWalletIsOfOneServer(t *testing.T) {
	inBooks(t, botixtest.Config{}, nil, func(b *books) {
		other, err := botixtest.StartInMemory(botixtest.Config{})
		if err != nil {
			b.Fatal(err)
		}
		defer func() {
			if err := other.Close(); err != nil {
				b.Error(err)
			}
		}()
		c, err := partner.New(other.PartnerKey(), append(exactly(), partner.WithLedger(b.led),
			partner.WithBaseURL("http://localhost:1"),
			botix.WithHTTPClient(&http.Client{Transport: other.Transport()}))...)
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		group := partner.GroupID(other.Partner(1).AddGroup(botixtest.Group{Name: "Чайная"}))
		if group != b.group {
			b.Fatalf("the groups are %s and %s: the same seed is to give the same id", group, b.group)
		}
		if _, err := c.TopUps.Create(b.Context(), group, topUp("7.00", "evt_7"), botix.WithIntent(ledger.Intent{Customer: "cust_7", Action: "top-up", Version: "7"})); err != nil {
			b.Fatal(err)
		}
		if got, want := summary(b.wallet()), "60+0=60"; got != want {
			b.Errorf("the wallet is %s, want %s", got, want)
		}
	})
}

// The wait for a second reading ends with its context, and the first is handed out.
func TestASecondReadingHeedsTheContext(t *testing.T) {
	inBooks(t, botixtest.Config{}, nil, func(b *books) {
		b.behind.Drift(string(b.group), "0.01")
		ctx, cancel := context.WithTimeout(b.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		w, err := b.auditor.Wallet(ctx, b.group)
		if !errors.Is(err, context.DeadlineExceeded) || w == nil || summary(w) != "60+0=60.01 drift 0.01 after 30.00" || time.Since(start) > time.Second {
			b.Errorf("Wallet = %v, %v after %v; want the first reading at once", w, err, time.Since(start))
		}
	})
}

func TestAnAuditorNeedsALedger(t *testing.T) {
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		if _, err := s.client.Auditor(); err == nil || !strings.Contains(err.Error(), "WithoutLedger") {
			s.Errorf("Auditor = %v, want an error that names WithoutLedger", err)
		}
	})
}

// What somebody reads who has to act on it.
func TestAWalletPrintsWhatIsOff(t *testing.T) {
	inBooks(t, botixtest.Config{Partner: botixtest.PartnerConfig{MinTopUp: "0.01"}}, nil, func(b *books) {
		if w := b.wallet(); !strings.Contains(w.String(), "all 3 lines agree") {
			b.Errorf("it prints\n%s", w)
		}
		if _, err := b.sandbox.client.TopUps.Create(b.Context(), b.group, topUp("0.01", "evt_9")); err != nil {
			b.Fatal(err)
		}
		text := b.wallet().String()
		for _, want := range []string{"credited, by the ledger             60.00 RUB", "balance                             60.01 RUB", "foreign", "0.01", "evt_9", "Auditor.Changes"} {
			if !strings.Contains(text, want) {
				b.Errorf("it lacks %q:\n%s", want, text)
			}
		}
	})
}
