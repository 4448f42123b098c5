package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
)

// sandbox serves the API until ctx ends.
func (t tool) sandbox(flags *flag.FlagSet) action {
	o := declareSandbox(flags, t.now())
	return func(ctx context.Context, _ []string) error {
		if err := o.check(); err != nil {
			return err
		}
		lines := log.New(t.stdout, "", 0) // one line at a time, whatever goroutine it comes from
		o.config.OnCall = func(call botixtest.Call) { lines.Print(callLine(call)) }
		o.config.Clock = botixtest.NewClock(nil)
		o.config.Clock.SetSkew(o.skew)

		srv, err := botixtest.Start(o.config)
		if err != nil {
			return err
		}
		contacts := srv.AddContacts(o.contacts)
		scenario := srv.AddScenario(botixtest.Scenario{Name: "Приветствие", IsActive: true, Finishes: true})
		srv.Script(o.rules...)

		lines.Printf("BOTIX sandbox\n  URL          %s\n  API key      %s\n  contacts     %s\n  scenario     %d\n  partner key  %s\n  balance      %s %s\n",
			srv.URL(), srv.APIKey(), idRange(contacts), scenario, srv.PartnerKey(), srv.Partner(1).Balance(), o.config.Partner.Currency)
		lines.Printf("curl -H 'Authorization: Bearer %s' %s/public/v1/me", srv.APIKey(), srv.URL())
		if !o.renamed {
			lines.Printf("curl -H 'Authorization: Bearer %s' %s/partner/v1/balance", srv.PartnerKey(), srv.URL())
		}
		lines.Printf("\nCtrl-C ends it.\n")

		<-ctx.Done()
		if err := srv.Close(); err != nil {
			return err
		}
		lines.Printf("stopped after %d requests", len(srv.Journal().Calls()))
		return nil
	}
}

// sandboxFlags is what the user asked for.
type sandboxFlags struct {
	config   botixtest.Config
	skew     time.Duration
	contacts int
	rules    []botixtest.Rule
	renamed  bool // the Partner API has names of its own
}

func declareSandbox(flags *flag.FlagSet, now time.Time) *sandboxFlags {
	o := new(sandboxFlags)
	flags.StringVar(&o.config.Addr, "addr", "127.0.0.1:8787", "`address` to listen on; port 0 takes a free one")
	flags.IntVar(&o.config.PerMinute, "limit", 0, "requests a minute for each key; 0 is the plan's limit, -1 none")
	flags.IntVar(&o.config.PerDay, "day-limit", 0, "requests a day for each key; 0 is the plan's limit, -1 none")
	flags.DurationVar(&o.config.Window, "window", time.Minute, "length of the rate window")
	flags.StringVar((*string)(&o.config.Plan), "plan", string(botixtest.PlanBusiness), "business, trial (read only) or start (no API)")
	flags.DurationVar(&o.skew, "skew", 0, "how far the server's clock is ahead; negative is behind")
	flags.DurationVar(&o.config.Latency, "latency", 0, "time that every request takes on its way")
	flags.DurationVar(&o.config.Lag, "lag", 0, "time until a new object is listed")
	flags.StringVar(&o.config.Partner.Balance, "balance", "1000.00", "`amount` that a partner can hand out in top-ups")
	flags.StringVar(&o.config.Partner.Currency, "currency", "RUB", "of all amounts")
	flags.Func("partner-table", "JSON `file` of other names for the Partner API: {\"prefix\": …, \"routes\": {…}, \"headers\": {…}, \"fields\": {…}, \"codes\": {…}}", func(name string) (err error) {
		o.config.Partner.Table, err = readTable(name)
		o.renamed = true
		return err
	})
	flags.BoolVar(&o.config.StoreServerErrors, "stores-errors", false, "the public API keeps a server error under its Idempotency-Key")
	choice(flags, "in-flight", "a second request under a key that is being worked on: `both` are executed, wait or refuse", &o.config.InFlight, map[string]botixtest.InFlight{
		"both": botixtest.ExecuteBoth, "wait": botixtest.WaitForFirst, "refuse": botixtest.RefuseInFlight,
	})
	choice(flags, "partner-stores", "what the Partner API keeps under a key: `final` answers, success or everything", &o.config.Partner.Storage, map[string]botixtest.Storage{
		"final": botixtest.StoreFinal, "success": botixtest.StoreSuccess, "everything": botixtest.StoreEverything,
	})
	flags.BoolVar(&o.config.Partner.Unlocked, "partner-unlocked", false, "the Partner API executes two requests under one key side by side")
	flags.Uint64Var(&o.config.Seed, "seed", 0, "of keys, ids and the probability of faults")
	flags.IntVar(&o.contacts, "contacts", 3, "how many contacts are there from the start")
	flags.Func("deprecated", "this version of the API goes on that `date`, YYYY-MM-DD", func(text string) error {
		sunset, err := time.Parse(time.DateOnly, text)
		o.config.Deprecation = &botixtest.Deprecation{Sunset: sunset, Standard: true}
		return err
	})
	flags.Func("notice", "`text` of an X-API-Notice, such as trial_quota_80pct, for a month", func(text string) error {
		o.config.Notice = &botixtest.Notice{Information: text, ExpiresAt: now.AddDate(0, 1, 0)}
		return nil
	})
	flags.Func("fault", "a `rule` for what goes wrong; may be given several times", func(text string) error {
		rule, err := parseRule(text)
		o.rules = append(o.rules, rule)
		return err
	})
	return o
}

// choice declares a flag that takes one of some words.
func choice[T any](flags *flag.FlagSet, name, usage string, to *T, of map[string]T) {
	flags.Func(name, usage, func(word string) error {
		value, ok := of[word]
		if !ok {
			return fmt.Errorf("it takes %s", strings.Join(slices.Sorted(maps.Keys(of)), ", "))
		}
		*to = value
		return nil
	})
}

// check says what is wrong with the flags.
func (o *sandboxFlags) check() error {
	switch c := o.config; {
	case c.Plan != botixtest.PlanBusiness && c.Plan != botixtest.PlanTrial && c.Plan != botixtest.PlanNoAPI:
		return misuse(fmt.Sprintf("there is no plan %q", c.Plan))
	case o.contacts < 0, c.Window <= 0, c.Latency < 0, c.Lag < 0:
		return misuse("-contacts, -latency and -lag must not be negative, -window must be more than zero")
	}
	return nil
}

// readTable reads a table of names; what it leaves out stays as it is.
func readTable(name string) (table botixtest.PartnerTable, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return table, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	return table, decoder.Decode(&table)
}

// callLine tells one request in a line.
func callLine(c botixtest.Call) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s #%d %s %s", c.ServerTime.Format("15:04:05.000"), c.N, c.Method, c.Path)
	if c.Query != "" {
		b.WriteString("?" + c.Query)
	}
	if c.Status == 0 {
		b.WriteString(" → no answer")
	} else {
		fmt.Fprintf(&b, " → %d", c.Status)
	}
	if c.Code != "" {
		b.WriteString(" " + c.Code)
	}
	if c.IdempotencyKey != "" {
		fmt.Fprintf(&b, "  key=%q attempt=%d", c.IdempotencyKey, c.Attempt)
	}
	if c.Replayed {
		b.WriteString(" replayed")
	}
	if c.Fault != "" {
		fmt.Fprintf(&b, "  fault: %s", c.Fault)
	}
	if c.Fault != "" && c.Executed {
		b.WriteString(" (the work was done)")
	}
	return b.String()
}

func idRange(ids []int64) string {
	switch len(ids) {
	case 0:
		return "none"
	case 1:
		return fmt.Sprint(ids[0])
	}
	return fmt.Sprintf("%d–%d", ids[0], ids[len(ids)-1])
}
