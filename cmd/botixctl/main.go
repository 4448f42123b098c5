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
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := newTool().run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// tool is what commands take from outside of their arguments.
type tool struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	lookup         func(variable string) (value string, set bool)
	now            func() time.Time
}

func newTool() tool {
	return tool{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, lookup: os.LookupEnv, now: time.Now}
}

var commands = []command{
	{name: "sandbox", summary: "run a local copy of the public API and of the Partner API, with limits and faults on request",
		more: "It goes on until it is interrupted.\n\n" + faultHelp, prepare: tool.sandbox},
	{name: "webhook", summary: "listen for signed webhooks; verify, sign and send them", group: webhookCommands},
	{name: "inbox", summary: "look at the events that a ledger's inbox keeps, and have them worked again", group: inboxCommands},
}

// run is the whole program; ctx ends when the user wants it to stop.
func (t tool) run(ctx context.Context, args []string) (code int) {
	return t.dispatch(ctx, "botixctl", commands, args)
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
