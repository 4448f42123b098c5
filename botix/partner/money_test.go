package partner_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/money"
	"github.com/botix-pro/sdk-go/retry"
)

// recorder remembers the bodies of requests.
func recorder(s *sandbox, operation, answer string) *string {
	var body string
	s.srv.Script(botixtest.On(operation).Do(botixtest.Reply(201, nil, answer)))
	s.client = s.connect(s.srv.PartnerKey(), append(exactly(tries(1)), partner.WithoutLedger(),
		botix.WithHTTPClient(spy(s.srv, &body)))...)
	return &body
}

const noAnswer = `{"success":false,"error":{"code":"VALIDATION_ERROR","message":"no"}}`

// F082: amounts are JSON strings with the digits that the caller gave, whatever
// any package of the program sets in the decimal library.
func TestF082AmountsOnTheWireAreStrings(t *testing.T) { // not parallel: the switch is the whole program's
	decimal.MarshalJSONWithoutQuotes = true
	defer func() { decimal.MarshalJSONWithoutQuotes = false }()
	for _, text := range []string{"10.10", "12345678901234567.89", "10.00", "0.01"} {
		inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
			body := recorder(s, "topUpsCreate", noAnswer)
			_, _ = s.client.TopUps.Create(s.Context(), "grp_1", topUp(text, "evt_1"))
			if want := `{"amount":"` + text + `","reference":"evt_1"}`; *body != want {
				s.Errorf("the body is %s, want %s", *body, want)
			}
		})
		inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
			body := recorder(s, "spendLimitUpdate", noAnswer)
			_, _ = s.client.Groups.SetSpendLimit(s.Context(), "grp_1", partner.SpendLimitUpdate{Limit: botix.Set(amount(text))})
			if want := `{"spend_limit":"` + text + `"}`; *body != want {
				s.Errorf("the body is %s, want %s", *body, want)
			}
		})
	}
	if !decimal.MarshalJSONWithoutQuotes {
		t.Error("the client touched the switch")
	}
}

// F083: 10.00 stays 10.00 on the way out and back.
func TestF083AmountsComeBackAsTheyWere(t *testing.T) {
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.srv.Script(botixtest.On("balanceGet").Do(botixtest.Reply(200, nil,
			`{"success":true,"data":{"balance":"10.00","currency":"RUB","minimum_top_up":"1.000","scopes":[]}}`)))
		got, err := s.client.Balance(s.Context())
		if err != nil || got.Amount.String() != "10.00" || got.MinimumTopUp.String() != "1.000" {
			s.Fatalf("Balance = %+v, %v", got, err)
		}
		if !got.Amount.Equal(amount("10")) || got.Amount.Cmp(amount("10.001")) >= 0 {
			s.Errorf("%s does not compare as a number", got.Amount)
		}
	})
}

// F080, F081 and F084 in answers: what is no amount is no success. The error names
// the field, and the answer takes neither time nor memory.
func TestF080F081F084AnswersThatHoldNoAmount(t *testing.T) {
	for name, value := range map[string]string{
		"a huge exponent":       `"1e1000000000"`,
		"a tiny one":            `"1E-1000000000"`,
		"one beyond 32 bits":    `"1e2147483648"`,
		"a number":              `10.10`,
		"a number of many":      `12345678901234567890.12`,
		"a number that grows":   `1e1000000000`,
		"a hundred thousand":    `"0.` + strings.Repeat("0", 100_000) + `1"`,
		"zeros in front":        `"` + strings.Repeat("0", 100_000) + `"`,
		"a megabyte":            `"` + strings.Repeat("9", 1<<20) + `"`,
		"NaN":                   `"NaN"`,
		"an infinity":           `"-Infinity"`,
		"null":                  `null`,
		"a plus":                `"+5"`,
		"nothing":               `""`,
		"an object":             `{"value":"5"}`,
		"an escape":             `"\u0035"`,
		"separators":            `"1,000.00"`,
		"a zero that is no one": `"007.50"`,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, exactly(tries(1)), func(s *sandbox) {
				s.srv.Script(
					botixtest.On("balanceGet").Do(botixtest.Reply(200, nil, `{"success":true,"data":{"balance":`+value+`,"currency":"RUB"}}`)),
					botixtest.On("topUpsCreate").Do(botixtest.Reply(201, nil, `{"success":true,"data":{"id":"txn_1","amount":`+value+`,"currency":"RUB"}}`)),
				)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				got, err := s.client.Balance(s.Context())
				runtime.ReadMemStats(&after)
				if err == nil || got != nil {
					s.Fatalf("Balance = %+v, want an error", got)
				}
				if text := s.failed(err).Error(); !strings.Contains(text, "field data.balance is a") || len(text) > 500 {
					s.Errorf("the error is %q, want one that names the field", text)
				}
				if grown := after.TotalAlloc - before.TotalAlloc; grown > 32<<20 {
					s.Errorf("the answer took %d bytes of memory", grown)
				}

				// Of a change, such an answer leaves the outcome unknown.
				credit, err := s.client.TopUps.Create(s.Context(), "grp_1", topUp("5.00", "evt_1"))
				if credit != nil || retry.OutcomeOf(err) != retry.Unknown {
					s.Errorf("Create = %+v, %v; want the outcome unknown", credit, err)
				}
			})
		})
	}
}

// F086: what is no amount above zero is refused before anything is sent.
func TestF086OnlyAmountsAboveZeroAreToppedUp(t *testing.T) {
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		group := s.group("Кофейня")
		for _, text := range []string{
			"+5", " 5", "5 ", "1,000.00", "1_000", ".5", "5.", "0x10", "５", "--1", "1e3", "007.50", "NaN", "Inf", "",
			"-5.00", "-0.01", "0", "0.00", "-0", "-0.00", "0.000000000000000000",
		} {
			a, err := money.Parse(text)
			if err == nil {
				_, err = s.client.TopUps.Create(s.Context(), group, partner.CreateTopUp{Amount: a, Reference: "evt_1"})
			}
			if err == nil || !errors.Is(err, money.ErrInvalid) && !errors.Is(err, botix.ErrInvalidInput) {
				s.Errorf("a top-up of %q: %v, want a refusal", text, err)
			}
		}
		_, err := s.client.TopUps.Create(s.Context(), group, partner.CreateTopUp{Reference: "evt_1"})
		if !errors.Is(err, botix.ErrInvalidInput) || !strings.Contains(err.Error(), "amount is unset") {
			s.Errorf("a top-up of nothing: %v", err)
		}
		_, err = s.client.Groups.SetSpendLimit(s.Context(), group, partner.SpendLimitUpdate{Limit: botix.Set(amount("-0.01"))})
		if !errors.Is(err, botix.ErrInvalidInput) {
			s.Errorf("a limit below zero: %v", err)
		}
		if n := len(s.srv.Journal().Calls()); n != 0 {
			s.Errorf("%d requests were sent", n)
		}
	})
}

// The least of amounts above zero is one; the server judges it.
func TestTheMinimumTopUpIsTheServers(t *testing.T) {
	inBubble(t, botixtest.Config{Partner: botixtest.PartnerConfig{MinTopUp: "1.00"}}, nil, func(s *sandbox) {
		group := s.group("Кофейня")
		for text, taken := range map[string]bool{"0.01": false, "0.99": false, "0.99999999": false, "1": true, "1.00": true, "1.00000000": true, "1.00000001": true} {
			credit, err := s.client.TopUps.Create(s.Context(), group, topUp(text, "evt_"+text))
			switch {
			case taken && err == nil && credit.Amount.Equal(amount(text)):
			case !taken && errors.Is(err, partner.ErrTopUpBelowMinimum):
				var details struct {
					Minimum money.Amount `json:"minimum"`
				}
				if err := s.failed(err).Details.Decode(&details); err != nil || !details.Minimum.Equal(amount("1")) {
					s.Errorf("the refusal of %s says a minimum of %s, %v", text, details.Minimum, err)
				}
			default:
				s.Errorf("a top-up of %s: %+v, %v; want it taken: %t", text, credit, err, taken)
			}
		}
	})
}

// A contract may know the minimum; then nothing smaller is sent.
func TestAContractsMinimumTopUp(t *testing.T) {
	contract := partner.DefaultContract()
	contract.MinimumTopUp = amount("1.00")
	inBubble(t, botixtest.Config{}, []partner.Option{partner.WithContract(contract)}, func(s *sandbox) {
		group := s.group("Кофейня")
		for _, text := range []string{"0.01", "0.99", "0.999999999999999999"} {
			_, err := s.client.TopUps.Create(s.Context(), group, topUp(text, "evt_1"))
			if !errors.Is(err, botix.ErrInvalidInput) || !strings.Contains(err.Error(), "below the minimum of 1.00") {
				s.Errorf("a top-up of %s: %v, want a refusal", text, err)
			}
		}
		for i, text := range []string{"1", "1.0", "1.000"} {
			if _, err := s.client.TopUps.Create(s.Context(), group, topUp(text, fmt.Sprint("evt_", i))); err != nil {
				s.Errorf("a top-up of %s: %v", text, err)
			}
		}
		s.effects("topUpsCreate", 3)
	})
}

// A limit goes up, down, to nothing and away; each is what was sent, to the digit.
func TestSpendLimitTransitions(t *testing.T) {
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		group := s.group("Кофейня")
		for version, to := range []botix.Opt[money.Amount]{
			botix.Set(amount("100.00")), botix.Set(amount("250.00")), botix.Set(amount("99.99")), botix.Set(amount("99.990")),
			botix.Set(amount("0")), botix.Null[money.Amount](), botix.Set(amount("0.00000001")),
		} {
			set, err := s.client.Groups.SetSpendLimit(s.Context(), group, partner.SpendLimitUpdate{Limit: to})
			if err != nil {
				s.Fatal(err)
			}
			got, err := s.client.Groups.Get(s.Context(), group)
			if err != nil {
				s.Fatal(err)
			}
			want, _ := to.Get()
			for _, is := range []botix.Opt[money.Amount]{set.Limit, got.SpendLimit} {
				if a, _ := is.Get(); is.IsNull() != to.IsNull() || !a.Equal(want) {
					s.Errorf("after change %d the limit is %s, want %s", version+1, limit(is), limit(to))
				}
			}
			if set.PolicyVersion != int64(version+1) || got.PolicyVersion != set.PolicyVersion {
				s.Errorf("change %d made version %d, the group has %d", version+1, set.PolicyVersion, got.PolicyVersion)
			}
		}
	})
}

// F092: no limit, a limit of nothing and no word on it are three things.
func TestF092LimitZeroNullAndAbsent(t *testing.T) {
	for answer, want := range map[string]string{
		`,"spend_limit":null`: "none", `,"spend_limit":"0"`: "0", `,"spend_limit":"0.00"`: "0.00", ``: "not told",
	} {
		inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
			s.srv.Script(botixtest.On("groupsGet").Do(botixtest.Reply(200, nil,
				`{"success":true,"data":{"id":"grp_1","name":"a","balance":"0","spent":"0"`+answer+`}}`)))
			got, err := s.client.Groups.Get(s.Context(), "grp_1")
			if err != nil || limit(got.SpendLimit) != want {
				s.Errorf("%s: the limit is %s, %v; want %s", answer, limit(got.SpendLimit), err, want)
			}
		})
	}
	for want, change := range map[string]func(*sandbox) error{
		`{"spend_limit":"0"}`: func(s *sandbox) error {
			_, err := s.client.Groups.SetSpendLimit(s.Context(), "grp_1", partner.SpendLimitUpdate{Limit: botix.Set(amount("0"))})
			return err
		},
		`{"spend_limit":null}`: func(s *sandbox) error {
			_, err := s.client.Groups.SetSpendLimit(s.Context(), "grp_1", partner.SpendLimitUpdate{Limit: botix.Null[money.Amount]()})
			return err
		},
		`{"name":"Кофейня"}`: func(s *sandbox) error {
			_, err := s.client.Groups.Update(s.Context(), "grp_1", partner.GroupUpdate{Name: botix.Set("Кофейня")})
			return err
		},
		`{"external_id":null,"status":"active"}`: func(s *sandbox) error {
			_, err := s.client.Groups.Update(s.Context(), "grp_1", partner.GroupUpdate{ExternalID: botix.Null[string](), Status: botix.Set(partner.GroupActive)})
			return err
		},
	} {
		inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
			operation := "groupsUpdate"
			if strings.Contains(want, "spend_limit") {
				operation = "spendLimitUpdate"
			}
			body := recorder(s, operation, noAnswer)
			if err := change(s); retry.OutcomeOf(err) == retry.Succeeded {
				s.Errorf("%v", err)
			}
			if *body != want {
				s.Errorf("the body is %s, want %s", *body, want)
			}
		})
	}
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		_, err := s.client.Groups.SetSpendLimit(s.Context(), "grp_1", partner.SpendLimitUpdate{})
		if !errors.Is(err, botix.ErrInvalidInput) {
			s.Errorf("a limit that is not given: %v, want a refusal", err)
		}
	})
}

// What the wallet holds is the sum of its transactions, to the last digit.
func TestWalletsAddUp(t *testing.T) {
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		group := s.group("Кофейня")
		for i, text := range []string{"1.10", "1.20", "12.3456", "99.99"} {
			if _, err := s.client.TopUps.Create(s.Context(), group, topUp(text, fmt.Sprint("evt_", i))); err != nil {
				s.Fatal(err)
			}
		}
		s.behind.Spend(string(group), "0.03")
		sum := amount("0")
		for tx, err := range s.client.Transactions.All(s.Context(), partner.ListTransactions{GroupID: group, Limit: 2}) {
			if err != nil {
				s.Fatal(err)
			}
			if sum, err = sum.Add(tx.Amount); err != nil || !sum.Equal(tx.BalanceAfter) {
				s.Errorf("after %s the sum is %s, the server says %s", tx.ID, sum, tx.BalanceAfter)
			}
		}
		got, err := s.client.Groups.Get(s.Context(), group)
		if err != nil || !sum.Equal(got.Balance) || !got.Spent.Equal(amount("0.03")) {
			s.Errorf("the wallet holds %s, its transactions add up to %s; %v", got.Balance, sum, err)
		}
		s.behind.Drift(string(group), "0.01")
		if got, err = s.client.Groups.Get(s.Context(), group); err != nil {
			s.Fatal(err)
		}
		if by, err := got.Balance.Sub(sum); err != nil || by.Canonical() != "0.01" {
			s.Errorf("a wallet that drifted differs by %s, %v; want 0.01", by, err)
		}
	})
}

// What a program keeps of an answer as JSON reads back as it was, amounts to the
// digit.
func TestAnswersReadBackFromJSON(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"id":"grp_1","name":"a","external_id":"c","project_id":7,"status":"active","balance":"10.00","spent":"0.10","spend_limit":null,"policy_version":3,"created_at":"2026-05-22T10:00:00Z","updated_at":"2026-05-22T10:00:00Z"}`,
		`{"id":"grp_1","name":"a","external_id":null,"project_id":null,"status":"frozen","spend_limit":"100.00","policy_version":0,"created_at":"2026-05-22T10:00:00Z","updated_at":"2026-05-22T10:00:00Z"}`,
		`{"id":"grp_1","name":"a","external_id":null,"project_id":null,"status":"active","balance":"-0","policy_version":0,"created_at":"2026-05-22T10:00:00Z","updated_at":"2026-05-22T10:00:00Z"}`,
	} {
		var group partner.Group
		if err := json.Unmarshal([]byte(body), &group); err != nil {
			t.Fatal(err)
		}
		if again, err := json.Marshal(group); err != nil || string(again) != body {
			t.Errorf("in  %s\nout %s, %v", body, again, err)
		}
	}
}
