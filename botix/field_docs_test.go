package botix_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	fieldRow  = regexp.MustCompile(`^\| (F\d{3}) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$`)
	fieldTest = regexp.MustCompile("`([\\w/]+)\\.(Test\\w+)`")
	fieldID   = regexp.MustCompile(`^F\d{3}`)
)

// docs/field-failures.md lists all situations in order, names tests that exist,
// and every test that is named after a situation.
func TestFieldFailuresPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/field-failures.md")
	if err != nil {
		t.Fatal(err)
	}
	exists := testsOf(t, "..")
	listed := map[string]bool{} // "F001 botix.TestF001…"
	n := 0
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "| F") {
			continue
		}
		n++
		row := fieldRow.FindStringSubmatch(strings.TrimSpace(line))
		if row == nil || row[1] != fmt.Sprintf("F%03d", n) {
			t.Errorf("row %d is %q", n, line)
			continue
		}
		if !strings.Contains(row[3], "](https://") {
			t.Errorf("%s names no source", row[1])
		}
		tests := fieldTest.FindAllStringSubmatch(row[4], -1)
		if len(tests) == 0 && !strings.HasPrefix(row[4], "arrives with ") {
			t.Errorf("%s has no test and does not say what it waits for", row[1])
		}
		for _, test := range tests {
			name := test[1] + "." + test[2]
			listed[row[1]+" "+name] = true
			if !exists[name] {
				t.Errorf("%s names %s, which does not exist", row[1], name)
			}
			if ids := situations(test[2]); len(ids) > 0 && !slices.Contains(ids, row[1]) {
				t.Errorf("%s names %s, which is of another situation", row[1], name)
			}
		}
	}
	if n != 100 {
		t.Errorf("%d situations, want 100", n)
	}
	for name := range exists {
		_, test, _ := strings.Cut(name, ".")
		for _, id := range situations(test) {
			if !listed[id+" "+name] {
				t.Errorf("%s is not on the page, at %s", name, id)
			}
		}
	}
}

// docs/guarantees.md says which test fails without which guard; they exist.
func TestGuardsPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	exists := testsOf(t, "..")
	tests := fieldTest.FindAllStringSubmatch(string(page), -1)
	for _, test := range tests {
		if name := test[1] + "." + test[2]; !exists[name] {
			t.Errorf("docs/guarantees.md names %s, which does not exist", name)
		}
	}
	if len(tests) < 20 {
		t.Errorf("only %d tests are named", len(tests))
	}
}

// situations are those that a test's name begins with: F080 and F081 of
// TestF080F081HugeNumbers.
func situations(test string) (ids []string) {
	rest := strings.TrimPrefix(test, "Test")
	for fieldID.MatchString(rest) {
		ids, rest = append(ids, rest[:4]), rest[4:]
	}
	return ids
}

// testsOf returns the tests below dir as "internal/rest.TestDo".
func testsOf(t *testing.T, dir string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == ".git"):
			return fs.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		pkg, err := filepath.Rel(dir, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				found[filepath.ToSlash(pkg)+"."+f.Name.Name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
