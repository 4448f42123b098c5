package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares what was printed with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("it differs from %s; if that is meant, run with -update:\n%s", file, got)
	}
}

// noon is when the tools of these tests believe to run.
var noon = time.Date(2026, 5, 28, 12, 0, 0, 0, time.UTC)

// secrets of these tests. None of them may ever be printed.
const (
	ourSecret    = "5bd7ac5e2f1b4d3c9a8e7f60112233445566778899aabbccddeeff0011223344"
	oldSecret    = "00dd00cc00bb00aa009988776655443322110099887766554433221100ffeedd"
	stripeSecret = "whsec_test_9f8e7d6c5b4a39281706"
	secondSecret = "whsec_c2VjcmV0IG9mIHRoZSBzdGFuZGFyZCBzY2hlbWU="
)

// testTool has a clock that stands still and an environment of its own.
func testTool(stdin string) tool {
	environment := map[string]string{
		"BOTIX_WEBHOOK_SECRET": ourSecret, "OLD_SECRET": oldSecret, "STRIPE_SECRET": stripeSecret, "STANDARD_SECRET": secondSecret,
		"BLANK_SECRET": "", "BROKEN_SECRET": "whsec_*not base64*",
	}
	return tool{
		stdin: strings.NewReader(stdin),
		now:   func() time.Time { return noon },
		lookup: func(name string) (string, bool) {
			value, set := environment[name]
			return value, set
		},
	}
}

// ran is what came of a command.
type ran struct {
	code           int
	stdout, stderr string
}

// execute runs a command, and checks that it showed no secret.
func execute(t *testing.T, tool tool, command string, args ...string) ran {
	t.Helper()
	var stdout, stderr bytes.Buffer
	tool.stdout, tool.stderr = &stdout, &stderr
	args = append(strings.Fields(command), args...)
	r := ran{tool.run(t.Context(), args), stdout.String(), stderr.String()}
	for _, secret := range []string{ourSecret, oldSecret, stripeSecret, secondSecret, "*not base64*"} {
		if strings.Contains(r.stdout+r.stderr, secret) {
			t.Errorf("%q shows a secret:\n%s%s", args, r.stdout, r.stderr)
		}
	}
	return r
}

// check compares the code of a command, and looks for words in what it printed.
func (r ran) check(t *testing.T, what string, code int, stdout, stderr string) {
	t.Helper()
	if r.code != code || !strings.Contains(r.stdout, stdout) || !strings.Contains(r.stderr, stderr) {
		t.Errorf("%s: code %d, want %d with %q and %q in\n%s---\n%s", what, r.code, code, stdout, stderr, r.stdout, r.stderr)
	}
}

func writeTemp(t *testing.T, name, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestPlainSteersNoTerminal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"message.received":        "message.received",
		"привет, мир":             "привет, мир",
		"\x1b[2Jgone\r\nnext":     `\x1b[2Jgone\r\nnext`,
		"a\u202eb\u200bc\x00\x7f": `a\u202eb\u200bc\x00\x7f`,
	} {
		if got := plain(text); got != want {
			t.Errorf("plain(%q) = %q, want %q", text, got, want)
		}
	}
	if got := brief(strings.Repeat("ж", 100), 10); got != strings.Repeat("ж", 9)+"…" {
		t.Errorf("brief = %q", got)
	}
}

// things are the commands that do something, as they are called.
func things(before string, commands []command) (all []string) {
	for _, c := range commands {
		if c.group != nil {
			all = append(all, things(before+c.name+" ", c.group)...)
		} else {
			all = append(all, before+c.name)
		}
	}
	return all
}

// Every command says what it does and with which flags, and what it does not
// understand ends with code 2.
func TestHelpOfEveryCommand(t *testing.T) {
	t.Parallel()
	tool := testTool("")
	for _, command := range things("", commands) {
		help := execute(t, tool, command, "-h")
		help.check(t, command+" -h", exitOK, "", "Usage: botixctl "+command+" [FLAGS]")
		if strings.HasPrefix(command, "webhook") || command == "inbox fixture" {
			help.check(t, command+" -h", exitOK, "", "-secret-file")
		}
		if strings.HasPrefix(command, "inbox") {
			help.check(t, command+" -h", exitOK, "", "$BOTIX_LEDGER")
		}
		execute(t, tool, command, "-wings").check(t, command+" -wings", exitUsage, "", "-wings")
		execute(t, tool, command, "1", "2").check(t, command+" 1 2", exitUsage, "", "unexpected argument")
	}
	for _, group := range []string{"webhook", "inbox"} {
		execute(t, tool, group).check(t, group, exitUsage, "", "Usage: botixctl "+group+" COMMAND")
		execute(t, tool, group, "help").check(t, group, exitOK, "3 done and the answer is no", "")
		execute(t, tool, group, "fly").check(t, group, exitUsage, "", `there is no command "fly"`)
	}
	execute(t, tool, "help").check(t, "help", exitOK, "inbox", "")
}

// docs/botixctl.md names every command, scenario and exit code.
func TestThePageNamesEverything(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/botixctl.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, command := range things("", commands) {
		rows = append(rows, "| `botixctl "+command+"` | ")
	}
	for _, s := range scenarios {
		rows = append(rows, "| `"+s.name+"` | ")
	}
	for _, code := range []int{exitOK, exitFailed, exitUsage, exitNo} {
		rows = append(rows, fmt.Sprintf("\n| %d | ", code))
	}
	for _, row := range rows {
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/botixctl.md has no row that begins %q", row)
		}
	}
	if len(rows) < 19 {
		t.Errorf("only %d rows are looked for: %q", len(rows), rows)
	}
}

// No flag takes a secret: whoever may list processes would read it.
func TestNoFlagTakesASecret(t *testing.T) {
	t.Parallel()
	for _, command := range things("", commands) {
		execute(t, testTool(""), command, "-secret", "x").check(t, command, exitUsage, "", "not defined: -secret")
	}
}
