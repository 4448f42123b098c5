package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// send plays a scenario to an endpoint.
func (t tool) send(flags *flag.FlagSet) action {
	s, chosen, e := declareSigning(flags), declareScenario(flags), events{now: t.now()}
	flags.IntVar(&e.n, "n", 50, "how many events a burst has")
	flags.StringVar(&e.kind, "type", "", "of the events (default message.received for botix, payment.succeeded for others)")
	file := flags.String("body", "", "`file` with a body to send instead of one that is made up, in the scenarios once, duplicate and tampered")
	timeout := flags.Duration("timeout", 10*time.Second, "how long an answer may take")
	return func(ctx context.Context, words []string) error {
		switch {
		case len(words) == 0:
			return misuse("where to? Give the URL of an endpoint")
		case e.n < 1 || e.n > 10_000:
			return misuse("-n is from 1 to 10000")
		case *file != "" && !chosen.anyBody:
			return misuse("-body has one event, and scenario " + chosen.name + " needs several")
		}
		target, err := url.Parse(words[0])
		if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
			return misuse("the endpoint has to be an http or https URL")
		}
		if e.secret, err = t.oneSecret(s); err != nil {
			return err
		}
		if *file != "" {
			if e.given, err = t.readInput(*file, maxInput); err != nil {
				return err
			}
		}
		e.signer = s.signer
		rounds := chosen.rounds(&e)
		if e.err != nil {
			return e.err
		}
		transport := &http.Transport{MaxConnsPerHost: 64, MaxIdleConnsPerHost: 64}
		defer transport.CloseIdleConnections()
		p := &player{
			tool: t, url: target.String(),
			client: &http.Client{
				Transport: transport, Timeout: *timeout,
				CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // a redirect is no 2xx
			},
		}
		return p.play(ctx, rounds)
	}
}

// declareScenario makes the flag that chooses one.
func declareScenario(flags *flag.FlagSet) *scenario {
	chosen := scenarios[0]
	flags.Func("scenario", "what is sent, see above (default "+chosen.name+")", func(name string) error {
		for _, known := range scenarios {
			if known.name == name {
				chosen = known
				return nil
			}
		}
		return fmt.Errorf("there is no scenario %q", name)
	})
	return &chosen
}

// want is what a receiver should make of a delivery.
type want int

const (
	taken   want = iota // 2xx: it is genuine, and stored or known
	refused             // 4xx: it is not
	either              // a matter of the receiver's policy
)

func (w want) met(status int) bool {
	switch w {
	case taken:
		return status/100 == 2
	case refused:
		return status/100 == 4
	}
	return status/100 == 2 || status/100 == 4
}

func (w want) String() string {
	return [...]string{"2xx", "4xx", "2xx or 4xx"}[w]
}

// shot is one delivery.
type shot struct {
	what   string
	header http.Header
	body   []byte
	want   want
}

// player delivers shots and looks at the answers.
type player struct {
	tool
	url    string
	client *http.Client

	sent, wrong int
}

// answered is what came of a shot.
type answered struct {
	status int // 0: no answer
	err    error
	took   time.Duration
}

// play delivers rounds one after the other, and the shots of a round at once.
func (p *player) play(ctx context.Context, rounds [][]shot) error {
	for _, round := range rounds {
		answers := make([]answered, len(round))
		var wg sync.WaitGroup
		for i, s := range round {
			wg.Go(func() { answers[i] = p.deliver(ctx, s) })
		}
		wg.Wait()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		p.tell(round, answers)
	}
	if p.wrong > 0 {
		fmt.Fprintf(p.stdout, "%s, %d answered as it should not be\n", counted(p.sent, "delivery"), p.wrong)
		return errNo
	}
	fmt.Fprintf(p.stdout, "%s, all answered as it should be\n", counted(p.sent, "delivery"))
	return nil
}

func (p *player) deliver(ctx context.Context, s shot) answered {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(s.body))
	if err != nil {
		return answered{err: err}
	}
	request.Header = s.header
	begin := p.now()
	response, err := p.client.Do(request)
	if err != nil {
		return answered{err: err}
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20))
	return answered{response.StatusCode, err, p.now().Sub(begin)}
}

// fewShots is how many shots of a round are told one by one.
const fewShots = 8

func (p *player) tell(round []shot, answers []answered) {
	outcomes, slowest, order := map[string]int{}, time.Duration(0), []string(nil)
	for i, s := range round {
		p.sent++
		a := answers[i]
		outcome := fmt.Sprint(a.status)
		switch {
		case a.status == 0:
			outcome = "no answer: " + plain(noURL(a.err))
		case a.err != nil:
			outcome += ", cut off"
		}
		if !s.want.met(a.status) {
			p.wrong++
			outcome += fmt.Sprintf("  WRONG, it should be %s", s.want)
		}
		slowest = max(slowest, a.took)
		if len(round) <= fewShots {
			fmt.Fprintf(p.stdout, "%-66s → %s\n", s.what, outcome)
			continue
		}
		if outcomes[outcome] == 0 {
			order = append(order, outcome)
		}
		outcomes[outcome]++
	}
	for _, outcome := range order {
		fmt.Fprintf(p.stdout, "%-66s → %d × %s\n", round[0].what, outcomes[outcome], outcome)
	}
	if len(order) > 0 {
		fmt.Fprintf(p.stdout, "the slowest answer took %v\n", slowest.Round(time.Millisecond))
	}
}

// noURL is an error of the HTTP client without the address, which may hold a token.
func noURL(err error) string {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err.Error()
	}
	return fmt.Sprint(err)
}
