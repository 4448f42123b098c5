package ledger_test

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/botix-pro/sdk-go/ledger"
)

// docs/statuses.md shows the tables that decide, whole and in their order. When
// this fails after a change of a table, put what it prints into the page.
func TestStatusesPageShowsTheTables(t *testing.T) {
	page, err := os.ReadFile("../docs/statuses.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, table := range map[string]string{
		"diagram": diagram(), "table of statuses after an attempt": attemptTable(), "table of changes": transitionTable(),
	} {
		if !strings.Contains(string(page), "\n\n"+table+"\n") {
			t.Errorf("docs/statuses.md lacks this %s:\n%s", name, table)
		}
	}
}

func attemptTable() string {
	var b strings.Builder
	b.WriteString("| row | evidence | status | next step |\n|---|---|---|---|\n")
	for _, r := range ledger.AttemptRules() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.Name, r.When, r.Status, cmp.Or(r.Next, "none"))
	}
	return b.String()
}

func transitionTable() string {
	var b strings.Builder
	b.WriteString("| from | cause | to | possibly sent | when | who |\n|---|---|---|---|---|---|\n")
	for _, r := range ledger.Transitions() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", cmp.Or(r.From, "–"), r.Cause, r.To, r.PossiblySent, r.When, r.Who)
	}
	return b.String()
}

// diagram draws the changes from one status to another, with their causes.
func diagram() string {
	type edge struct{ from, to ledger.Status }
	var edges []edge
	causes := map[edge][]string{}
	for _, r := range ledger.Transitions() {
		e := edge{r.From, r.To}
		if r.From == r.To {
			continue
		}
		if causes[e] == nil {
			edges = append(edges, e)
		}
		causes[e] = append(causes[e], string(r.Cause))
	}
	var b strings.Builder
	b.WriteString("```mermaid\nstateDiagram-v2\n")
	for _, e := range edges {
		fmt.Fprintf(&b, "    %s --> %s: %s\n", cmp.Or(string(e.from), "[*]"), e.to, strings.Join(causes[e], ", "))
	}
	b.WriteString("```\n")
	return b.String()
}

// docs/runbook.md has every entry of the runbook, as it is in the code.
func TestRunbookPageShowsTheEntries(t *testing.T) {
	page, err := os.ReadFile("../docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range ledger.Runbook() {
		if want := runbookEntry(e); !strings.Contains(string(page), want) {
			t.Errorf("docs/runbook.md lacks this entry:\n%s", want)
		}
		if len(e.Checks) == 0 || len(e.Safe) == 0 || len(e.Unsafe) == 0 {
			t.Errorf("the entry %s does not say what to check, what is safe, and what is not", e.State)
		}
	}
}

func runbookEntry(e ledger.Entry) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s\n\n*When:* %s.\n*Meaning:* %s\n", e.State, e.When, e.Meaning)
	for _, list := range []struct {
		title string
		lines []string
	}{{"Check", e.Checks}, {"Safe", e.Safe}, {"Safe while the key counts", e.Resend}, {"Do not", e.Unsafe}} {
		if len(list.lines) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s:\n\n", list.title)
		for _, line := range list.lines {
			fmt.Fprintf(&b, "- %s\n", line)
		}
	}
	return b.String()
}
