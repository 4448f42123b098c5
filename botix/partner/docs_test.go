package partner_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/internal/call"
)

// docs/partner.md shows the table of the Partner API, row by row and in its order.
func TestPartnerPageShowsTheOperations(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/partner.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	rows := partner.Rows()
	for _, name := range partner.Names() {
		e := rows[name]
		if e.Class == call.Safe {
			if !strings.Contains(string(page), "`"+name+"`") {
				t.Errorf("docs/partner.md does not list %s among the reads", name)
			}
			continue
		}
		fmt.Fprintf(&want, "| %s | `%s` | %s | %s | %s | %s |\n", e.Name, e.Route(), e.Class, e.Proof, code(e.Lane), code(e.Group))
	}
	if !strings.Contains(string(page), want.String()) {
		t.Errorf("docs/partner.md lacks this table:\n%s", want.String())
	}
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

// The table of errors in the package's documentation names what exists, and every
// sentinel of this package is in it, or is told of where it is returned.
func TestDocumentationNamesTheErrors(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ErrPartnerKeyRequired", "ErrInsufficientBalance", "ErrTopUpBelowMinimum", "ErrAlreadyExists", "ErrGroupNotReady",
		"ErrGroupHasLiveKeys", "ErrKeyNotLive", "ErrSecretLost", "ErrOtherTenant"} {
		if !strings.Contains(string(doc), "partner."+name) {
			t.Errorf("doc.go does not name %s", name)
		}
	}
}

// docs/reconciling.md shows what the findings about a wallet mean, and by what the
// effect of an operation is known.
func TestReconcilingPageShowsTheTables(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reconciling.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{partner.WalletFindingsTable(), partner.ReadBackTable()} {
		if !strings.Contains(string(page), want) {
			t.Errorf("docs/reconciling.md lacks this table:\n%s", want)
		}
	}
}
