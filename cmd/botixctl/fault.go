package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
)

const faultHelp = `A rule is an operation, conditions and faults, separated by spaces:

  -fault "messagesSend nth=2 cut-after"      do the second send and cut its answer
  -fault "* p=0.2 status=503"                one request in five is answered 503
  -fault "contactsList every=3 delay=2s"     each third list waits two seconds
  -fault "topUpsCreate status-after=500"     top up, and answer 500
  -fault "connect nth=1 refuse"              cut the first connection at once

Operations: an operationId of the public API, * for all, or connect. Of the Partner API:
            balanceGet auditEventsList transactionsList requestsList
            groupsList groupsCreate groupsGet groupsUpdate groupsDelete
            keysList keysCreate keysGet keysUpdate keysDelete
            spendLimitUpdate topUpsCreate
            projectsList projectsCreate projectKeysList projectUsageGet
Conditions: nth=N  every=K  from=N  times=N  p=PROBABILITY
Faults:     cut-before  cut-after  cut-body=BYTES  refuse
            delay=TIME  delay-after=TIME  slow=TIME
            status=CODE  status-after=CODE  limited=RETRY-AFTER
            html=CODE  html-after=CODE  redirect=URL  empty
            length=DELTA  oversized=BYTES  gzip  extra-fields  unknown-enums
            item=CODE  header=NAME:VALUE  no-limit-headers
`

// parseRule reads one -fault.
func parseRule(text string) (botixtest.Rule, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return botixtest.Rule{}, fmt.Errorf("an empty rule")
	}
	rule := botixtest.On(words[0])
	if words[0] == "connect" {
		rule = botixtest.OnConnect()
	}
	var faults []botixtest.Fault
	for _, word := range words[1:] {
		name, text, _ := strings.Cut(word, "=")
		value := &argument{text: text}
		switch condition, fault := conditions[name], faultWords[name]; {
		case condition != nil:
			rule = condition(rule, value)
		case fault != nil:
			faults = append(faults, fault(value))
		default:
			return rule, fmt.Errorf("neither a condition nor a fault: %q", word)
		}
		if value.err != nil {
			return rule, fmt.Errorf("%s: %w", word, value.err)
		}
	}
	rule = rule.Do(faults...)
	return rule, rule.Check()
}

var conditions = map[string]func(botixtest.Rule, *argument) botixtest.Rule{
	"nth":   func(r botixtest.Rule, v *argument) botixtest.Rule { return r.Nth(v.number()) },
	"every": func(r botixtest.Rule, v *argument) botixtest.Rule { return r.Every(v.number()) },
	"from":  func(r botixtest.Rule, v *argument) botixtest.Rule { return r.From(v.number()) },
	"times": func(r botixtest.Rule, v *argument) botixtest.Rule { return r.Times(v.number()) },
	"p":     func(r botixtest.Rule, v *argument) botixtest.Rule { return r.WithProbability(v.probability()) },
}

var faultWords = map[string]func(*argument) botixtest.Fault{
	"refuse":           none(botixtest.Refuse),
	"cut-before":       none(botixtest.CutBefore),
	"cut-after":        none(botixtest.CutAfter),
	"cut-body":         func(v *argument) botixtest.Fault { return botixtest.CutBody(v.number()) },
	"delay":            func(v *argument) botixtest.Fault { return botixtest.Delay(v.duration()) },
	"delay-after":      func(v *argument) botixtest.Fault { return botixtest.DelayAfter(v.duration()) },
	"slow":             func(v *argument) botixtest.Fault { return botixtest.SlowBody(v.duration()) },
	"status":           func(v *argument) botixtest.Fault { return botixtest.Status(v.status()) },
	"status-after":     func(v *argument) botixtest.Fault { return botixtest.Status(v.status()).AfterWork() },
	"limited":          func(v *argument) botixtest.Fault { return botixtest.RateLimited(v.text) },
	"html":             func(v *argument) botixtest.Fault { return botixtest.HTML(v.status()) },
	"html-after":       func(v *argument) botixtest.Fault { return botixtest.HTML(v.status()).AfterWork() },
	"redirect":         func(v *argument) botixtest.Fault { return botixtest.Redirect(http.StatusTemporaryRedirect, v.text) },
	"empty":            none(botixtest.EmptyBody),
	"length":           func(v *argument) botixtest.Fault { return botixtest.WrongLength(v.integer()) },
	"oversized":        func(v *argument) botixtest.Fault { return botixtest.Oversized(v.number()) },
	"gzip":             none(botixtest.Gzip),
	"extra-fields":     none(botixtest.ExtraFields),
	"unknown-enums":    none(botixtest.UnknownEnums),
	"item":             func(v *argument) botixtest.Fault { return botixtest.FailItems(v.text) },
	"header":           func(v *argument) botixtest.Fault { return botixtest.Unharmed().With(v.pair()) },
	"no-limit-headers": none(botixtest.WithoutLimitHeaders),
}

func none(fault func() botixtest.Fault) func(*argument) botixtest.Fault {
	return func(v *argument) botixtest.Fault {
		if v.text != "" {
			v.err = fmt.Errorf("takes no value")
		}
		return fault()
	}
}

// argument is the value of a word; it keeps what is wrong with it.
type argument struct {
	text string
	err  error
}

func (v *argument) integer() int {
	n, err := strconv.Atoi(v.text)
	if err != nil {
		v.err = fmt.Errorf("must be a whole number")
	}
	return n
}

func (v *argument) number() int {
	n := v.integer()
	if n < 1 && v.err == nil {
		v.err = fmt.Errorf("must be at least 1")
	}
	return n
}

func (v *argument) status() int {
	n := v.integer()
	if (n < 200 || n > 599) && v.err == nil {
		v.err = fmt.Errorf("must be an HTTP status from 200 to 599")
	}
	return n
}

func (v *argument) probability() float64 {
	p, err := strconv.ParseFloat(v.text, 64)
	if err != nil || !(p >= 0 && p <= 1) {
		v.err = fmt.Errorf("must be from 0 to 1")
	}
	return p
}

func (v *argument) duration() time.Duration {
	d, err := time.ParseDuration(v.text)
	if err != nil || d < 0 {
		v.err = fmt.Errorf("must be a time such as 500ms or 2s")
	}
	return d
}

func (v *argument) pair() (name, value string) {
	name, value, ok := strings.Cut(v.text, ":")
	if !ok || name == "" {
		v.err = fmt.Errorf("must be NAME:VALUE")
	}
	return name, value
}
