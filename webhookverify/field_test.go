package webhookverify_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/webhookverify"
)

// Failures that others met in the field; docs/field-failures.md has the sources.

func TestF066AnEmptySecretProtectsNothing(t *testing.T) {
	t.Parallel()
	var zero webhookverify.Secret
	if err := json.Unmarshal([]byte(`""`), &zero); err != nil {
		t.Fatal(err)
	}
	for _, c := range schemeCases() {
		for name, secrets := range map[string][]webhookverify.Secret{
			"nil":                 nil,
			"the zero value":      {{}},
			"empty":               {webhookverify.NewSecret("")},
			"blank":               {webhookverify.NewSecret("  ")},
			"read from empty":     {zero},
			"one of two is empty": {webhookverify.NewSecret(c.secret), webhookverify.NewSecret("")},
		} {
			if v, err := webhookverify.New(c.scheme, secrets...); err == nil || v != nil {
				t.Errorf("%s, %s: New = %v, %v, want an error", c.name, name, v, err)
			}
		}
		if _, err := c.scheme.Sign(webhookverify.NewSecret(""), "msg_1", noon, []byte("{}")); err == nil {
			t.Errorf("%s: Sign takes an empty secret", c.name)
		}
	}
	// What everybody can sign: with the empty key.
	v := newVerifier(t, webhookverify.BOTIX(), benchSecret)
	forged := http.Header{"X-Botix-Signature": {digits(hmacSHA256("", "{}"))}}
	if _, err := v.Verify(forged, []byte("{}")); !errors.Is(err, webhookverify.ErrMismatch) {
		t.Errorf("signed with the empty key: %v, want ErrMismatch", err)
	}
}

func TestF067TheClockIsCheckedBothWays(t *testing.T) {
	t.Parallel()
	const second = time.Second
	for _, c := range schemeCases() {
		if c.scheme.Signed == "" {
			continue // signs no time
		}
		scheme := c.scheme
		for name, tolerance := range map[string]time.Duration{"by default": 0, "by name": 300 * second} {
			scheme.Tolerance = tolerance
			v := newVerifier(t, scheme, c.secret)
			for _, tt := range []struct {
				signed time.Duration // after now
				want   error
			}{
				{-10 * 365 * 24 * time.Hour, webhookverify.ErrTooOld},
				{-301 * second, webhookverify.ErrTooOld},
				{-300 * second, nil},
				{-299 * second, nil},
				{299 * second, nil},
				{300 * second, nil},
				{301 * second, webhookverify.ErrTooNew},
				{10 * 365 * 24 * time.Hour, webhookverify.ErrTooNew},
			} {
				_, err := v.VerifyAt(sign(t, scheme, c.secret, noon.Add(tt.signed), []byte("{}")), []byte("{}"), noon)
				if !errors.Is(err, tt.want) {
					t.Errorf("%s, tolerance %s, signed at now%+v: %v, want %v", c.name, name, tt.signed, err, tt.want)
				}
				if refused, ok := errors.AsType[*webhookverify.Error](err); ok && refused.Age != -tt.signed {
					t.Errorf("%s, signed at now%+v: Age = %v", c.name, tt.signed, refused.Age)
				}
			}
		}
		scheme.Tolerance = -second
		if _, err := webhookverify.New(scheme, webhookverify.NewSecret(c.secret)); err == nil {
			t.Errorf("%s: a negative tolerance is taken", c.name)
		}
		scheme.Tolerance, scheme.AnyAge = 0, true // the one way to turn it off
		old := noon.AddDate(-10, 0, 0)
		if _, err := newVerifier(t, scheme, c.secret).VerifyAt(sign(t, scheme, c.secret, old, []byte("{}")), []byte("{}"), noon); err != nil {
			t.Errorf("%s, AnyAge: %v", c.name, err)
		}
	}
}

// Times that a counter of seconds can hold and a clock cannot.
func TestF067TimesBeyondTheClock(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, webhookverify.Stripe(), benchSecret)
	for stamp, want := range map[string]error{
		"999999999999999999":   webhookverify.ErrTooNew,
		"99999999999999999999": webhookverify.ErrMalformed,
		"0":                    webhookverify.ErrTooOld,
		"-1779451200":          webhookverify.ErrMalformed,
		"+1779451200":          webhookverify.ErrMalformed,
		"1779451200.0":         webhookverify.ErrMalformed,
		"1.7794512e9":          webhookverify.ErrMalformed,
		"":                     webhookverify.ErrMissing,
	} {
		header := http.Header{"Stripe-Signature": {"t=" + stamp + ",v1=" + digits(hmacSHA256(benchSecret, stamp+".{}"))}}
		if _, err := v.VerifyAt(header, []byte("{}"), noon); !errors.Is(err, want) {
			t.Errorf("t=%s: %v, want %v", stamp, err, want)
		}
	}
}

func TestF068SecretsOverlapWhileTheyChange(t *testing.T) {
	t.Parallel()
	body := event(300)
	for _, c := range schemeCases() {
		const fresh, old, other = "whsec_ZnJlc2g=", "whsec_b2xkIG9sZA==", "whsec_b3RoZXI="
		v := newVerifier(t, c.scheme, fresh, old)
		check := func(when, secret string, want error, index int) {
			t.Helper()
			m, err := v.VerifyAt(sign(t, c.scheme, secret, noon, body), body, noon)
			if !errors.Is(err, want) || m.Index != index {
				t.Errorf("%s, %s: VerifyAt = %+v, %v, want %v", c.name, when, m, err, want)
			}
		}
		check("both hold, the new one", fresh, nil, 0)
		check("both hold, the old one", old, nil, 1)
		check("both hold, another", other, webhookverify.ErrMismatch, 0)
		if err := v.Rotate(webhookverify.NewSecret(fresh)); err != nil {
			t.Fatal(err)
		}
		check("one holds, the new one", fresh, nil, 0)
		check("one holds, the old one", old, webhookverify.ErrMismatch, 0)
	}
	// A sender that overlaps too: one signature for each of its secrets.
	for _, c := range schemeCases()[1:3] {
		v := newVerifier(t, c.scheme, c.secret)
		name := http.CanonicalHeaderKey(c.scheme.SignatureHeader)
		header := sign(t, c.scheme, "whsec_b3RoZXI=", noon, body)
		second := sign(t, c.scheme, c.secret, noon, body).Get(name)
		second = strings.TrimPrefix(second, fmt.Sprintf("t=%d,", noon.Unix()))
		header.Set(name, header.Get(name)+c.scheme.Separator+second)
		if _, err := v.VerifyAt(header, body, noon); err != nil {
			t.Errorf("%s, %s: %v, want accepted by its second signature", c.name, header.Get(name), err)
		}
	}
}

// Lists that are not as they should be, and those that are longer than a sender's.
func TestF069BrokenLists(t *testing.T) {
	t.Parallel()
	stripe, standard := schemeCases()[2], schemeCases()[1]
	good := "v1=" + digits(hmacSHA256(stripe.secret, "1779451200.{}"))
	wrong := "v1=" + strings.Repeat("0", 64)
	other := strings.Repeat("v0=00,", 10)
	for value, want := range map[string]error{
		"t=1779451200," + good:                                nil,
		other + "t=1779451200," + good:                        nil,
		" t=1779451200 , " + good + " ,":                      nil,
		good + ",t=1779451200":                                nil,
		"t=1779451200," + strings.Repeat(wrong+",", 7) + good: nil,
		"t=1779451200," + strings.Repeat(wrong+",", 8) + good: webhookverify.ErrMalformed,
		"t=1779451200,t=1779451200," + good:                   webhookverify.ErrMalformed,
		"t=1779451199,t=1779451200," + good:                   webhookverify.ErrMalformed,
		strings.Repeat(other, 70) + "t=1779451200," + good:    webhookverify.ErrMalformed,
		"t=1779451200,v1=," + good:                            webhookverify.ErrMalformed,
		"t=1779451200,v0=" + good[3:]:                         webhookverify.ErrMalformed,
		"t=1779451200":                                        webhookverify.ErrMalformed,
		good:                                                  webhookverify.ErrMissing,
		",":                                                   webhookverify.ErrMalformed,
	} {
		_, err := newVerifier(t, stripe.scheme, stripe.secret).VerifyAt(http.Header{"Stripe-Signature": {value}}, []byte("{}"), noon)
		if !errors.Is(err, want) {
			t.Errorf("Stripe-Signature: %.100s: %v, want %v", value, err, want)
		}
	}
	v := newVerifier(t, standard.scheme, standard.secret)
	header := sign(t, standard.scheme, standard.secret, noon, []byte("{}"))
	signature := header.Get("Webhook-Signature")
	for value, want := range map[string]error{
		"v1a,bm90IG91cnM= " + signature:                      nil,
		signature + "  ":                                     nil,
		"v1," + b64(make([]byte, 31)) + " " + signature:      webhookverify.ErrMalformed,
		"v1," + b64(make([]byte, 64)):                        webhookverify.ErrMalformed,
		"v1," + b64(make([]byte, 1000)):                      webhookverify.ErrMalformed,
		strings.TrimSuffix(signature, "="):                   webhookverify.ErrMalformed,
		signature[:20] + "\n" + signature[20:]:               webhookverify.ErrMalformed,
		strings.NewReplacer("v1,", "v2,").Replace(signature): webhookverify.ErrMalformed,
		"v1," + b64(make([]byte, 32)):                        webhookverify.ErrMismatch,
	} {
		header.Set("Webhook-Signature", value)
		if _, err := v.VerifyAt(header, []byte("{}"), noon); !errors.Is(err, want) {
			t.Errorf("Webhook-Signature: %.100q: %v, want %v", value, err, want)
		}
	}
}

func TestF070LettersPrefixesAndBlanks(t *testing.T) {
	t.Parallel()
	const body = "{}"
	right := digits(hmacSHA256(benchSecret, body))
	mixed := strings.ToUpper(right[:32]) + right[32:]
	anyCase := webhookverify.BOTIX()
	anyCase.Encoding = webhookverify.Hex
	strict := webhookverify.BOTIX()
	strict.Prefix, strict.PrefixOptional = "", false
	botix, github := webhookverify.BOTIX(), webhookverify.GitHub()
	malformed := webhookverify.ErrMalformed
	for _, tt := range []struct {
		what   string
		scheme webhookverify.Scheme
		value  string
		want   error
	}{
		{"BOTIX, as sent", botix, right, nil},
		{"BOTIX, blanks around", botix, " \t" + right + " ", nil},
		{"BOTIX, with a prefix", botix, "sha256=" + right, nil},
		{"BOTIX, blank and prefix", botix, " sha256=" + right + "\t", nil},
		{"BOTIX, another prefix", botix, "SHA256=" + right, malformed},
		{"BOTIX, prefix twice", botix, "sha256=sha256=" + right, malformed},
		{"BOTIX, blank within", botix, "sha256= " + right, malformed},
		{"BOTIX, upper case", botix, strings.ToUpper(right), malformed},
		{"BOTIX, upper case, by option", anyCase, strings.ToUpper(right), nil},
		{"BOTIX, mixed case, by option", anyCase, mixed, nil},
		{"BOTIX, the prefix turned off", strict, "sha256=" + right, malformed},
		{"GitHub, as sent", github, "sha256=" + right, nil},
		{"GitHub, upper case", github, "sha256=" + strings.ToUpper(right), nil},
		{"GitHub, mixed case", github, "sha256=" + mixed, nil},
		{"GitHub, blanks around", github, "  sha256=" + right + " ", nil},
		{"GitHub, without a prefix", github, right, malformed},
		{"GitHub, another prefix", github, "SHA256=" + right, malformed},
		{"GitHub, SHA-1's prefix", github, "sha1=" + right, malformed},
	} {
		v := newVerifier(t, tt.scheme, benchSecret)
		name := http.CanonicalHeaderKey(tt.scheme.SignatureHeader)
		if _, err := v.Verify(http.Header{name: {tt.value}}, []byte(body)); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.what, err, tt.want)
		}
		// Not every gateway writes names of headers as net/http does.
		if _, err := v.Verify(http.Header{strings.ToLower(name): {tt.value}}, []byte(body)); !errors.Is(err, tt.want) {
			t.Errorf("%s, header in lower case: %v, want %v", tt.what, err, tt.want)
		}
		both := http.Header{name: {tt.value, tt.value}}
		if _, err := v.Verify(both, []byte(body)); !errors.Is(err, malformed) {
			t.Errorf("%s, sent twice: %v, want ErrMalformed", tt.what, err)
		}
	}
}

// The comparisons of what depends on a secret take constant time: nothing in the
// package compares bytes or texts in another way than these.
func TestF071SignaturesAreComparedInConstantTime(t *testing.T) {
	t.Parallel()
	fast := map[string]bool{
		"bytes.Equal": true, "bytes.Compare": true, "bytes.EqualFold": true, "strings.EqualFold": true, "strings.Compare": true,
		"reflect.DeepEqual": true, "slices.Equal": true, "slices.Compare": true, "maps.Equal": true, "cmp.Compare": true,
	}
	constant := 0
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				x, _ := n.X.(*ast.Ident)
				if x == nil {
					return true
				}
				if fast[x.Name+"."+n.Sel.Name] {
					t.Errorf("%s uses %s.%s", name, x.Name, n.Sel.Name)
				}
				if x.Name+"."+n.Sel.Name == "subtle.ConstantTimeCompare" {
					constant++
				}
			case *ast.BinaryExpr: // sums and keys are slices or arrays of bytes; an array would compile
				for _, side := range []ast.Expr{n.X, n.Y} {
					if text := named(side); (n.Op == token.EQL || n.Op == token.NEQ) && (text == "sum" || text == "sums" || text == "material") {
						t.Errorf("%s compares %s with %s", name, text, n.Op)
					}
				}
			}
			return true
		})
	}
	if constant != 2 {
		t.Errorf("%d comparisons in constant time, want 2: of sums, and of secrets when they change", constant)
	}

	v := newVerifier(t, webhookverify.BOTIX(), benchSecret)
	right := digits(hmacSHA256(benchSecret, "{}"))
	flip := func(i int) string {
		return right[:i] + string("0123456789abcdef"[(strings.IndexByte("0123456789abcdef", right[i])+1)%16]) + right[i+1:]
	}
	for what, tt := range map[string]struct {
		value string
		want  error
	}{
		"right but for the last digit":  {flip(63), webhookverify.ErrMismatch},
		"right but for the first digit": {flip(0), webhookverify.ErrMismatch},
		"a prefix of the right one":     {right[:62], webhookverify.ErrMalformed},
		"longer than the right one":     {right + "00", webhookverify.ErrMalformed},
		"as long as one of SHA-512":     {right + right, webhookverify.ErrMalformed},
	} {
		if _, err := v.Verify(http.Header{"X-Botix-Signature": {tt.value}}, []byte("{}")); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", what, err, tt.want)
		}
	}
}

// named is the last name of an expression: sums of c.sums[i].
func named(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.IndexExpr:
		return named(e.X)
	case *ast.SliceExpr:
		return named(e.X)
	}
	return ""
}

func TestF074AnEventThatWaitedIsAsOldAsWhenItCame(t *testing.T) {
	t.Parallel()
	body := event(300)
	for _, c := range schemeCases() {
		v := newVerifier(t, c.scheme, c.secret)
		header, received := sign(t, c.scheme, c.secret, noon, body), noon.Add(2*time.Second)
		worked := received.Add(20 * time.Minute)
		if _, err := v.VerifyAt(header, body, received); err != nil {
			t.Errorf("%s: checked with the time of receipt: %v", c.name, err)
		}
		_, err := v.VerifyAt(header, body, worked)
		if signsTime := c.scheme.Signed != ""; errors.Is(err, webhookverify.ErrTooOld) != signsTime {
			t.Errorf("%s: checked with the time of work: %v, want too old where a time is signed", c.name, err)
		}
	}
}

func TestF089LargeIntegersOfAnEventKeepEveryDigit(t *testing.T) {
	t.Parallel()
	const big = 9007199254740993 // 2^53 + 1
	body := fmt.Appendf(nil, `{"event":"contact.created","project_id":%[1]d,"data":{"id":%[1]d,"telegram_user_id":%[1]d,"unknown":%[1]d}}`, int64(big))
	e, err := webhookverify.ParseEvent(nil, body)
	if err != nil || e.ProjectID != big {
		t.Fatalf("ParseEvent = %v, %v, want project %d", e, err, int64(big))
	}
	payload, err := e.Payload()
	if c, ok := payload.(*webhookverify.Contact); err != nil || !ok || c.ID != big || *c.TelegramUserID != big {
		t.Errorf("Payload = %+v, %v, want every digit of %d", payload, err, int64(big))
	}
	if want := fmt.Sprintf(`"unknown":%d`, int64(big)); !strings.Contains(string(e.Data), want) {
		t.Errorf("Data = %s, want %s as it was sent", e.Data, want)
	}
}

// F099: whatever prints a value that holds a secret, the secret is not in it.
func TestF099PrintingAVerifierShowsNoSecret(t *testing.T) {
	t.Parallel()
	const text = "0123456789abcdef0123456789abcdef"
	secret := webhookverify.NewSecret(text).Named("may")
	v, err := webhookverify.New(webhookverify.BOTIX(), secret)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := v.Begin(sign(t, webhookverify.BOTIX(), text, noon, []byte("{}")))
	if err != nil {
		t.Fatal(err)
	}
	type hidden struct {
		secret webhookverify.Secret
		list   []webhookverify.Secret
		v      *webhookverify.Verifier
	}
	for name, value := range map[string]any{
		"the secret": secret, "a pointer to it": &secret, "a list": []webhookverify.Secret{secret},
		"the verifier": v, "a stream": stream, "a struct": hidden{secret, []webhookverify.Secret{secret}, v},
		"uses": v.Uses(), "the scheme": v.Scheme(),
	} {
		var out bytes.Buffer
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T"} {
			fmt.Fprintf(&out, verb+"\n", value)
		}
		slog.New(slog.NewTextHandler(&out, nil)).Info("m", "v", value)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("m", "v", value)
		if err := json.NewEncoder(&out).Encode(value); err != nil {
			t.Errorf("%s: json: %v", name, err)
		}
		func() {
			defer func() { fmt.Fprintln(&out, recover()) }()
			panic(value)
		}()
		for _, form := range []string{text, text[:12], fmt.Sprintf("%x", text), fmt.Sprintf("%X", text), fmt.Sprint([]byte(text)), fmt.Sprintf("%#v", []byte(text))} {
			if strings.Contains(out.String(), form) {
				t.Errorf("%s shows %q", name, form)
			}
		}
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		if got := fmt.Sprintf(verb, secret); got != "[redacted]" {
			t.Errorf("Sprintf(%q) = %q, want [redacted]", verb, got)
		}
	}
	_, err = webhookverify.New(webhookverify.StandardWebhooks(), webhookverify.NewSecret("whsec_"+text+"!"))
	if err == nil || strings.Contains(err.Error(), text[:8]) {
		t.Errorf("New with a secret that is no base64 = %v, want an error without it", err)
	}
}
