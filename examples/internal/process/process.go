// Package process lets an example be several processes, of which one is killed.
package process

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
)

// Parts are what the processes of an example do, by name. Place is what they have
// in common: it is handed on as JSON.
type Parts[Place any] map[string]func(ctx context.Context, out io.Writer, in Place) error

// Main is an example's main function. A person starts the program without arguments,
// and it plays the story, which starts the program once more for each part.
func Main[Place any](story func(ctx context.Context, out io.Writer) error, parts Parts[Place]) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := play(ctx, os.Args[1:], story, parts); err != nil {
		log.Fatal(err)
	}
}

func play[Place any](ctx context.Context, args []string, story func(context.Context, io.Writer) error, parts Parts[Place]) error {
	if len(args) == 0 {
		return story(ctx, os.Stdout)
	}
	var in Place
	part := parts[args[0]]
	if part == nil || len(args) != 2 || json.Unmarshal([]byte(args[1]), &in) != nil {
		return errors.New("it starts its parts by itself: call it without arguments")
	}
	return part(ctx, os.Stdout, in)
}

// Process is a part at work.
type Process struct {
	part string
	cmd  *exec.Cmd
}

// Start begins a part. What it prints is told under its name.
func Start(ctx context.Context, out io.Writer, part string, in any) (*Process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	place, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, part, string(place))
	cmd.Stdout, cmd.Stderr = &told{out, part}, os.Stderr
	return &Process{part, cmd}, cmd.Start()
}

// Run runs a part to its end.
func Run(ctx context.Context, out io.Writer, part string, in any) error {
	p, err := Start(ctx, out, part, in)
	if err != nil {
		return err
	}
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("the %s: %w", part, err)
	}
	return nil
}

// KillWhen kills the process when a token comes.
func (p *Process) KillWhen(ctx context.Context, token <-chan struct{}) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 30*time.Second, fmt.Errorf("the moment to kill the %s has not come", p.part))
	defer cancel()
	var missed error
	select {
	case <-token:
	case <-ctx.Done():
		missed = context.Cause(ctx)
	}
	if err := errors.Join(missed, p.cmd.Process.Kill()); err != nil {
		return errors.Join(err, p.cmd.Wait())
	}
	if err := p.cmd.Wait(); err == nil {
		return fmt.Errorf("the %s was to be killed, and has ended by itself", p.part)
	}
	return nil
}

// AnswersLate has the sandbox do what is asked of it first by an operation, and take
// a second to answer. A token comes when it begins.
func AnswersLate(sandbox *botixtest.Server, operation string) <-chan struct{} {
	begins := make(chan struct{}, 1)
	sandbox.Script(botixtest.On(operation).Nth(1).When(func(botixtest.Call) bool {
		select {
		case begins <- struct{}{}:
		default: // it is known
		}
		return true
	}).Do(botixtest.DelayAfter(time.Second)))
	return begins
}

// told puts a name before each line.
type told struct {
	out  io.Writer
	name string
}

func (t *told) Write(p []byte) (int, error) {
	lines := bufio.NewScanner(bytes.NewReader(p))
	for lines.Scan() {
		if _, err := fmt.Fprintf(t.out, "%-8s %s\n", "["+t.name+"]", lines.Text()); err != nil {
			return 0, err
		}
	}
	return len(p), lines.Err()
}
