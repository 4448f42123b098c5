// Command botixctl is a tool for people who build on the BOTIX API.
//
//	botixctl sandbox    run a local copy of the APIs, with limits and faults on request
//	botixctl webhook    listen for signed webhooks; verify, sign and send them
//	botixctl inbox      look at the events that a ledger's inbox keeps, and have them worked again
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Exit codes, as shells and scripts expect them.
const (
	exitOK     = 0
	exitFailed = 1 // the command was understood and did not succeed
	exitUsage  = 2 // it was not understood
	exitNo     = 3 // it succeeded, and what was asked has the answer no: a signature that is refused, say
)

// command is one subcommand.
type command struct {
	name    string
	summary string
	run     func(ctx context.Context, args []string, stdout, stderr io.Writer) int
}

var commands = []command{
	{"sandbox", "run a local copy of the public API and of the Partner API, with limits and faults on request", sandbox},
	{"webhook", "listen for signed webhooks; verify, sign and send them", webhook},
	{"inbox", "look at the events that a ledger's inbox keeps, and have them worked again", inbox},
}

// run is the whole program; ctx ends when the user wants it to stop.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return dispatch(ctx, "botixctl", commands, args, stdout, stderr)
}

// dispatch runs the one of some commands that the arguments name.
func dispatch(ctx context.Context, name string, commands []command, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		usage(stderr, name, commands)
		return exitUsage
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		usage(stdout, name, commands)
		return exitOK
	}
	for _, c := range commands {
		if c.name == args[0] {
			return c.run(ctx, args[1:], stdout, stderr)
		}
	}
	fmt.Fprintf(stderr, "%s: there is no command %q\n\n", name, args[0])
	usage(stderr, name, commands)
	return exitUsage
}

func usage(w io.Writer, name string, commands []command) {
	fmt.Fprintf(w, "Usage: %s COMMAND [FLAGS]\n\n", name)
	for _, c := range commands {
		fmt.Fprintf(w, "  %-10s %s\n", c.name, c.summary)
	}
	fmt.Fprintf(w, "\n%s COMMAND -h tells the flags of a command.\n", name)
	fmt.Fprint(w, "Exit codes: 0 done, 1 failed, 2 not understood, 3 done and the answer is no (refused, not as expected, not there).\n")
}
