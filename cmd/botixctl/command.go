package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// command is a word of the command line: a group of others, or something to do.
type command struct {
	name    string
	words   string // that it takes beside flags: "NUMBER", "[NUMBER]"; "" for none
	summary string
	more    string // what its help says besides
	prepare func(tool, *flag.FlagSet) action
	group   []command // in the place of prepare
}

// action is what a command does when its flags, which prepare declared, have been
// read. The words are those that stood between them.
type action func(ctx context.Context, words []string) error

// Exit codes, as shells and scripts expect them.
const (
	exitOK     = 0
	exitFailed = 1 // the command was understood and did not succeed
	exitUsage  = 2 // it was not understood
	exitNo     = 3 // it succeeded, and what was asked has the answer no: a signature that is refused, say
)

// What actions return when there is nothing left to say.
var (
	errUsage = errors.New("the command line was not understood")
	errNo    = errors.New("the answer is no")
)

// misuse is a command line that makes no sense.
type misuse string

func (m misuse) Error() string { return string(m) }

// dispatch runs the one of some commands that the arguments name. They are called
// name and a word.
func (t tool) dispatch(ctx context.Context, name string, commands []command, args []string) (code int) {
	if len(args) == 0 {
		list(t.stderr, name, commands)
		return exitUsage
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		list(t.stdout, name, commands)
		return exitOK
	}
	for _, c := range commands {
		switch {
		case c.name != args[0]:
		case c.group != nil:
			return t.dispatch(ctx, name+" "+c.name, c.group, args[1:])
		default:
			return t.conclude(name+" "+c.name, t.do(ctx, name+" "+c.name, c, args[1:]))
		}
	}
	fmt.Fprintf(t.stderr, "%s: there is no command %q\n\n", name, args[0])
	list(t.stderr, name, commands)
	return exitUsage
}

// list tells which commands there are.
func list(w io.Writer, name string, commands []command) {
	fmt.Fprintf(w, "Usage: %s COMMAND [FLAGS]\n\n", name)
	for _, c := range commands {
		fmt.Fprintf(w, "  %-10s %s\n", c.name, c.summary)
	}
	fmt.Fprintf(w, "\n%s COMMAND -h tells the flags of a command.\n", name)
	fmt.Fprint(w, "Exit codes: 0 done, 1 failed, 2 not understood, 3 done and the answer is no (refused, not as expected, not there).\n")
}

// do reads the flags of a command and does what it is for.
func (t tool) do(ctx context.Context, name string, c command, args []string) error {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(t.stderr)
	flags.Usage = func() {
		call := strings.TrimSuffix(name+" [FLAGS] "+c.words, " ")
		fmt.Fprintf(t.stderr, "Usage: %s\n\n%s%s.\n%s\n\n", call, strings.ToUpper(c.summary[:1]), c.summary[1:], strings.TrimSuffix(c.more, "\n"))
		flags.PrintDefaults()
	}
	act := c.prepare(t, flags)
	words, err := parse(flags, args, len(strings.Fields(c.words)))
	if err != nil {
		return err
	}
	return act(ctx, words)
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

// conclude turns the error of a command into its last words and its exit code.
func (t tool) conclude(name string, err error) (code int) {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.Is(err, errUsage):
		return exitUsage
	case errors.Is(err, errNo):
		return exitNo
	}
	fmt.Fprintf(t.stderr, "%s: %v\n", name, err)
	if _, is := errors.AsType[misuse](err); is {
		return exitUsage
	}
	return exitFailed
}
