package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// tool is what commands take from outside of their arguments.
type tool struct {
	stdin  io.Reader
	lookup func(variable string) (value string, set bool)
	now    func() time.Time
}

func newTool() tool { return tool{stdin: os.Stdin, lookup: os.LookupEnv, now: time.Now} }

// What commands return when there is nothing left to say.
var (
	errUsage = errors.New("the command line was not understood")
	errNo    = errors.New("the answer is no")
)

// misuse is a command line that makes no sense.
type misuse string

func (m misuse) Error() string { return string(m) }

// failing is a command that says by an error how it ended.
type failing func(ctx context.Context, args []string, stdout, stderr io.Writer) error

// concluding turns the error of a command into its last words and its exit code.
func concluding(name string, do failing) func(context.Context, []string, io.Writer, io.Writer) int {
	return func(ctx context.Context, args []string, stdout, stderr io.Writer) int {
		err := do(ctx, args, stdout, stderr)
		switch {
		case err == nil, errors.Is(err, flag.ErrHelp):
			return exitOK
		case errors.Is(err, errUsage):
			return exitUsage
		case errors.Is(err, errNo):
			return exitNo
		}
		fmt.Fprintf(stderr, "botixctl %s: %v\n", name, err)
		if _, is := errors.AsType[misuse](err); is {
			return exitUsage
		}
		return exitFailed
	}
}

// newFlags makes the flags of a command, whose help begins with how it is called
// and what it does.
func newFlags(stderr io.Writer, call, what string) *flag.FlagSet {
	name, _, _ := strings.Cut(call, " [")
	flags := flag.NewFlagSet("botixctl "+name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintf(stderr, "Usage: botixctl %s\n\n%s\n\n", call, what)
		flags.PrintDefaults()
	}
	return flags
}

// parse reads flags and the words between them, of which there may be so many.
func parse(flags *flag.FlagSet, args []string, most int) (words []string, err error) {
	for {
		switch err := flags.Parse(args); {
		case errors.Is(err, flag.ErrHelp):
			return nil, err
		case err != nil:
			return nil, errUsage // the flag package has said why
		case flags.NArg() == 0:
			return words, nil
		case len(words) == most:
			return nil, misuse(fmt.Sprintf("unexpected argument %q", flags.Arg(0)))
		}
		words, args = append(words, flags.Arg(0)), flags.Args()[1:]
	}
}

// plain is text of others as it may stand on a terminal: in one line, and without
// what would steer the terminal or turn the direction of writing.
func plain(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// brief is plain text of at most so many characters.
func brief(text string, most int) string {
	runes := []rune(plain(text))
	if len(runes) <= most {
		return string(runes)
	}
	return string(runes[:most-1]) + "…"
}

// counted is a number of things: "1 event", "2 events", "2 deliveries".
func counted(n int, thing string) string {
	stem, y := strings.CutSuffix(thing, "y")
	switch {
	case n == 1:
		return "1 " + thing
	case y:
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// readInput reads a file, or standard input for "-", up to so many bytes.
func (t tool) readInput(name string, most int64) (content []byte, err error) {
	in := t.stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close() // it was only read
		in = file
	}
	content, err = io.ReadAll(io.LimitReader(in, most+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", name, err)
	case int64(len(content)) > most:
		return nil, fmt.Errorf("%s has more than %d bytes", name, most)
	}
	return content, nil
}
