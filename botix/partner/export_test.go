package partner

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/ledger"
)

// Mutations are the operations that may change something.
func Mutations() (names []string) {
	for name, ep := range Rows() {
		if ep.Mutates() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Rows are the rows of the default contract.
func Rows() map[string]*call.Endpoint {
	contract := DefaultContract()
	rows := map[string]*call.Endpoint{}
	for name, ep := range maps.All(contract.rows(nil)) {
		rows[name] = &ep.Endpoint
	}
	return rows
}

// Names are those of the operations, in the order of the table.
func Names() (names []string) {
	for i := range operations {
		names = append(names, operations[i].name)
	}
	return names
}

// WalletFindingsTable is the table of findings as the pages show it.
func WalletFindingsTable() string {
	var b strings.Builder
	b.WriteString("| finding | what it means | what follows |\n|---|---|---|\n")
	for _, row := range walletFindings {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", row.Finding, row.Meaning, row.Next)
	}
	return b.String()
}

// ReadBackTable is how effects are found, as the pages show it.
func ReadBackTable() string {
	var b strings.Builder
	b.WriteString("| operation | known by |\n|---|---|\n")
	for i := range operations {
		if op := &operations[i]; op.find != nil {
			fmt.Fprintf(&b, "| %s | %s |\n", op.name, op.known)
		}
	}
	return b.String()
}

// Count counts the operations that an auditor is handed by its ledger.
func (a *Auditor) Count(n *int) { a.records = counted{a.records, n} }

type counted struct {
	records
	n *int
}

func (c counted) All(ctx context.Context, f ledger.Filter) iter.Seq2[*ledger.Operation, error] {
	return func(yield func(*ledger.Operation, error) bool) {
		for op, err := range c.records.All(ctx, f) {
			if *c.n++; !yield(op, err) {
				return
			}
		}
	}
}
