package idemkey_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/botix-pro/sdk-go/internal/idemkey"
)

// labelled reads testdata/keys.txt: on each line what is wrong with a key, or
// "good", and the key.
func labelled(t *testing.T) (labels, keys []string) {
	t.Helper()
	file, err := os.ReadFile("testdata/keys.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(file)) {
		label, key, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !ok {
			t.Fatalf("testdata/keys.txt has the line %q", line)
		}
		labels, keys = append(labels, label), append(keys, key)
	}
	return labels, keys
}

// The linter judges by looks, so it may err. How often is measured on keys that
// people really use.
func TestLintIsRightAboutLabelledKeys(t *testing.T) {
	t.Parallel()
	labels, keys := labelled(t)
	if len(keys) < 200 {
		t.Fatalf("%d labelled keys, want 200", len(keys))
	}
	var caught, missed, accused int
	for i, key := range keys {
		found := idemkey.Lint(key)
		named := slices.ContainsFunc(found, func(f idemkey.Finding) bool { return string(f.Rule) == labels[i] })
		switch bad := labels[i] != "good"; {
		case bad && named:
			caught++
		case bad:
			missed++
			t.Logf("missed: %s %.80q, found %v", labels[i], key, found)
		case len(found) > 0:
			accused++
			t.Logf("accused: %.80q, found %v", key, found)
		}
	}
	precision := float64(caught) / float64(caught+accused)
	recall := float64(caught) / float64(caught+missed)
	t.Logf("%d keys: precision %.3f, recall %.3f", len(keys), precision, recall)
	if precision < 0.95 || recall < 0.95 {
		t.Errorf("precision %.3f and recall %.3f, want 0.95 of both", precision, recall)
	}
}

func TestFindingsExplainAndRepeatNothing(t *testing.T) {
	t.Parallel()
	labels, keys := labelled(t)
	for i, key := range keys {
		for _, f := range idemkey.Lint(key) {
			if f.Why == "" || len(key) > 4 && strings.Contains(f.Why, key) {
				t.Errorf("%s %q: the finding is %+v", labels[i], key, f)
			}
		}
	}
}

// What a key must not be to be sent at all.
func TestProblem(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"order-1024": "", "a b": "", "~!@#$%^&*()": "", strings.Repeat("k", 255): "",
		"": "is empty", "   ": "is empty", strings.Repeat("k", 256): "has 256 characters, at most 255 are taken",
		"ключ": "not visible ASCII", "a\nb": "not visible ASCII", "a\x7f": "not visible ASCII", " a": "begins or ends with a blank", "a ": "begins or ends with a blank",
	} {
		got := idemkey.Problem(key)
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("Problem(%.20q) = %q, want %q", key, got, want)
		}
		if found := idemkey.Lint(key); (want != "") != (len(found) == 1 && found[0].Rule == idemkey.RuleUnusable) {
			t.Errorf("Lint(%.20q) = %v, want it unusable: %t", key, found, want != "")
		}
	}
}

// A key that this package builds is a good one, also where it is shortened or
// hides its customer.
func TestLintAcceptsWhatJoinBuilds(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("account-", 25)
	for _, key := range []string{
		idemkey.Join(idemkey.Open("shop"), idemkey.Open("top-up"), idemkey.Open("cust_42"), idemkey.Open("pay_1")),
		idemkey.Join(idemkey.Open("shop"), idemkey.Open("top-up"), idemkey.Blind("+79001234567", []byte("a secret of 20 bytes")), idemkey.Open("pay_1")),
		idemkey.Join(idemkey.Open("shop"), idemkey.Open(long), idemkey.Open(long)),
	} {
		if found := idemkey.Lint(key); len(found) > 0 {
			t.Errorf("Lint(%q) = %v, want nothing", key, found)
		}
	}
}

func FuzzLint(f *testing.F) {
	f.Add("order-1024")
	f.Add("top-up:ivan%40example.com:2026-05-22T10:00:00Z")
	f.Add("%zz%4")
	f.Fuzz(func(t *testing.T, key string) {
		for _, finding := range idemkey.Lint(key) {
			if finding.Why == "" {
				t.Errorf("Lint(%q) does not explain %q", key, finding.Rule)
			}
		}
	})
}
