package main

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/webhookverify"
)

// webhookCommands have to do with webhooks on their way; inboxCommands, with those
// that were stored.
var webhookCommands = []command{
	{name: "listen", summary: "print each delivery that comes, with the verdict on its signature",
		more: "It goes on until it is interrupted. It shows no secret, and bodies only when asked.", prepare: tool.listen},
	{name: "verify", summary: "check a delivery that was captured in files",
		more: "It says why a signature does not hold. Exit code 3: it does not.", prepare: tool.verify},
	{name: "sign", summary: "print the headers that a sender would deliver a body with",
		more: "\n  botixctl webhook sign -body event.json | curl -H @- --data-binary @event.json http://127.0.0.1:8080/hook", prepare: tool.sign},
	{name: "send", words: "URL", summary: "send signed test events to an endpoint, and check its answers",
		more: "What is genuine has to be taken, and the rest refused. Exit code 3: an answer is not the one that it should be.\n\n" + scenarioHelp(), prepare: tool.send},
}

// maxInput is how large a body in a file may be, in bytes: what an inbox takes.
const maxInput = 16 << 20

// signer is a known way to sign.
type signer struct {
	name   string
	scheme func() webhookverify.Scheme
	// example is a secret that everybody may know, for fixtures of tests; stranger
	// is one that no receiver should have.
	example, stranger string
}

var signers = []signer{
	{"botix", webhookverify.BOTIX, strings.Repeat("0123456789abcdef", 4), strings.Repeat("f", 64)},
	{"standard", webhookverify.StandardWebhooks, "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", "whsec_c3RyYW5nZXIgc3RyYW5nZXIgc3RyYW5nZXI="},
	{"stripe", webhookverify.Stripe, "whsec_0123456789abcdef0123456789abcdef", "whsec_stranger"},
	{"github", webhookverify.GitHub, "0123456789abcdef0123456789abcdef", "stranger"},
}

func signerNames() string {
	names := make([]string, len(signers))
	for i, s := range signers {
		names[i] = s.name
	}
	return strings.Join(names, ", ")
}

// signing is how a sender signs, and with what, as flags say it.
type signing struct {
	signer
	sources []source
}

// source is where a secret comes from: a file, or else a variable.
type source struct {
	name string
	file bool
}

const defaultVariable = "BOTIX_WEBHOOK_SECRET"

// declareSigning makes the flags of a scheme and of secrets. None takes a secret
// itself: other users of the machine can read the arguments of a process.
func declareSigning(flags *flag.FlagSet) *signing {
	s := &signing{signer: signers[0]}
	flags.Func("scheme", "how the sender signs: "+signerNames()+" (default "+s.name+")", func(name string) error {
		for _, known := range signers {
			if known.name == name {
				s.signer = known
				return nil
			}
		}
		return fmt.Errorf("it is one of %s", signerNames())
	})
	flags.Func("secret-env", "environment `variable` that holds the secret; may be given several times (default "+defaultVariable+")", func(name string) error {
		s.sources = append(s.sources, source{name, false})
		return nil
	})
	flags.Func("secret-file", "`file` that holds the secret and nothing else; may be given several times", func(name string) error {
		s.sources = append(s.sources, source{name, true})
		return nil
	})
	return s
}

// declareTime makes the flag that says when something happened; default now.
func (t tool) declareTime(flags *flag.FlagSet, what string) *time.Time {
	at := t.now()
	flags.Func("at", what+", as 2026-05-28T20:26:40Z, for schemes that sign a time (default now)", func(text string) (err error) {
		at, err = time.Parse(time.RFC3339, text)
		return err
	})
	return &at
}

// secrets reads the secrets. Each is called as where it comes from.
func (t tool) secrets(s *signing) ([]webhookverify.Secret, error) {
	sources := s.sources
	if len(sources) == 0 {
		sources = []source{{defaultVariable, false}}
	}
	var secrets []webhookverify.Secret
	for _, from := range sources {
		text, err := t.secret(from)
		if err != nil {
			return nil, err
		}
		name := from.name
		if from.file {
			name = filepath.Base(name)
		}
		secrets = append(secrets, webhookverify.NewSecret(text).Named(name))
	}
	return secrets, nil
}

func (t tool) secret(from source) (string, error) {
	if !from.file {
		text, set := t.lookup(from.name)
		if !set {
			return "", misuse(fmt.Sprintf("the environment has no %s: set it to the secret, or name a variable (-secret-env) or a file (-secret-file)", from.name))
		}
		return text, nil
	}
	content, err := t.readInput(from.name, 4096)
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r"), nil // as editors end a file
}

// verifier checks what the flags say.
func (t tool) verifier(s *signing) (*webhookverify.Verifier, error) {
	secrets, err := t.secrets(s)
	if err != nil {
		return nil, err
	}
	return webhookverify.New(s.scheme(), secrets...)
}

// oneSecret is the secret to sign with.
func (t tool) oneSecret(s *signing) (webhookverify.Secret, error) {
	secrets, err := t.secrets(s)
	if err != nil {
		return webhookverify.Secret{}, err
	}
	if len(secrets) > 1 {
		return webhookverify.Secret{}, misuse("one secret signs: give one -secret-env or one -secret-file")
	}
	return secrets[0], nil
}
