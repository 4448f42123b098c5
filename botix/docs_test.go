package botix

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/botix-pro/sdk-go/internal/call"
)

// docs/guarantees.md shows the endpoint table, row by row and in its order.
func TestGuaranteesPageShowsTheEndpoints(t *testing.T) {
	page, err := os.ReadFile("../docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, e := range endpoints {
		if e.Class != call.Safe {
			target := cmp.Or(e.Lane, "–")
			if e.Group != "" {
				target = "group " + e.Group
			}
			fmt.Fprintf(&want, "| %s | `%s` | %s | %s | %s |\n", e.Name, e.Route(), e.Class, e.Proof, target)
		}
	}
	if !strings.Contains(string(page), want.String()) {
		t.Errorf("docs/guarantees.md lacks this table:\n%s", want.String())
	}
}

// What can be looked up is looked up: a row that says so has its read-back.
func TestRowsWithALookHaveOne(t *testing.T) {
	looked := map[*call.Endpoint]bool{
		messagesSend: true, messagesBulkSend: true, contactsCreate: true, contactsBulkCreate: true, scenariosRun: true,
	}
	for _, e := range endpoints {
		if (e.Proof == call.ProofLook) != looked[e] {
			t.Errorf("%s has proof %v", e.Name, e.Proof)
		}
		if (e.Class == call.HonoursKeys) != (e.Retention > 0) && e != contactsBulkUpdate {
			t.Errorf("%s is %v and has retention %v", e.Name, e.Class, e.Retention)
		}
	}
}
