package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
)

// sandboxFlags is what the user asked for.
type sandboxFlags struct {
	config   botixtest.Config
	skew     time.Duration
	contacts int
	rules    []botixtest.Rule
	renamed  bool // the Partner API has names of its own
}

// sandbox serves the API until ctx ends.
func sandbox(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	options, err := parseSandbox(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage // the flag package has said why
	}
	lines := log.New(stdout, "", 0) // one line at a time, whatever goroutine it comes from
	options.config.OnCall = func(call botixtest.Call) { lines.Print(callLine(call)) }
	options.config.Clock = botixtest.NewClock(nil)
	options.config.Clock.SetSkew(options.skew)

	srv, err := botixtest.Start(options.config)
	if err != nil {
		fmt.Fprintf(stderr, "botixctl sandbox: %v\n", err)
		return exitFailed
	}
	contacts := srv.AddContacts(options.contacts)
	scenario := srv.AddScenario(botixtest.Scenario{Name: "Приветствие", IsActive: true, Finishes: true})
	srv.Script(options.rules...)

	lines.Printf("BOTIX sandbox\n  URL          %s\n  API key      %s\n  contacts     %s\n  scenario     %d\n  partner key  %s\n  balance      %s %s\n",
		srv.URL(), srv.APIKey(), idRange(contacts), scenario, srv.PartnerKey(), srv.Partner(1).Balance(), options.config.Partner.Currency)
	lines.Printf("curl -H 'Authorization: Bearer %s' %s/public/v1/me", srv.APIKey(), srv.URL())
	if !options.renamed {
		lines.Printf("curl -H 'Authorization: Bearer %s' %s/partner/v1/balance", srv.PartnerKey(), srv.URL())
	}
	lines.Printf("\nCtrl-C ends it.\n")

	<-ctx.Done()
	if err := srv.Close(); err != nil {
		fmt.Fprintf(stderr, "botixctl sandbox: %v\n", err)
		return exitFailed
	}
	lines.Printf("stopped after %d requests", len(srv.Journal().Calls()))
	return exitOK
}

// parseSandbox reads the flags; what is wrong with them is written to stderr.
func parseSandbox(args []string, stderr io.Writer) (sandboxFlags, error) {
	var o sandboxFlags
	flags := flag.NewFlagSet("botixctl sandbox", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, "Usage: botixctl sandbox [FLAGS]\n\nRuns a local copy of the BOTIX public API, and of the Partner API, until it is interrupted.\n\n")
		flags.PrintDefaults()
		fmt.Fprint(stderr, "\n", faultHelp)
	}
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
	flags.Uint64Var(&o.config.Seed, "seed", 0, "of keys, ids and the probability of faults")
	flags.IntVar(&o.contacts, "contacts", 3, "how many contacts are there from the start")
	flags.Func("deprecated", "this version of the API goes on that `date`, YYYY-MM-DD", func(text string) error {
		sunset, err := time.Parse(time.DateOnly, text)
		o.config.Deprecation = &botixtest.Deprecation{Sunset: sunset, Standard: true}
		return err
	})
	flags.Func("notice", "`text` of an X-API-Notice, such as trial_quota_80pct, for a month", func(text string) error {
		o.config.Notice = &botixtest.Notice{Information: text, ExpiresAt: time.Now().AddDate(0, 1, 0)}
		return nil
	})
	flags.Func("fault", "a `rule` for what goes wrong; may be given several times", func(text string) error {
		rule, err := parseRule(text)
		o.rules = append(o.rules, rule)
		return err
	})
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	problem := ""
	switch {
	case flags.NArg() > 0:
		problem = fmt.Sprintf("unexpected argument %q", flags.Arg(0))
	case o.config.Plan != botixtest.PlanBusiness && o.config.Plan != botixtest.PlanTrial && o.config.Plan != botixtest.PlanNoAPI:
		problem = fmt.Sprintf("there is no plan %q", o.config.Plan)
	case o.contacts < 0, o.config.Window <= 0, o.config.Latency < 0, o.config.Lag < 0:
		problem = "-contacts, -latency and -lag must not be negative, -window must be more than zero"
	}
	if problem != "" {
		fmt.Fprintf(stderr, "botixctl sandbox: %s\n", problem)
		return o, errors.New(problem)
	}
	return o, nil
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
