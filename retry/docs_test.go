package retry_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/botix-pro/sdk-go/retry"
)

// docs/outcomes.md shows the table that decides, row by row and in its order.
func TestOutcomesPageShowsTheTable(t *testing.T) {
	page, err := os.ReadFile("../docs/outcomes.md")
	if err != nil {
		t.Fatal(err)
	}
	rest := string(page)
	for _, r := range retry.Rules() {
		outcome := r.Outcome.String()
		if r.Name == "code" {
			outcome = "as that row says"
		}
		row := fmt.Sprintf("| %s | %s | %s |\n", r.Name, r.When, outcome)
		_, after, found := strings.Cut(rest, row)
		if !found {
			t.Errorf("docs/outcomes.md lacks, or has out of order: %s", row)
			continue
		}
		rest = after
	}
}
