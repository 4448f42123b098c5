package arch_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Programs in the pages compile.
func TestProgramsInPagesCompile(t *testing.T) {
	pages, err := filepath.Glob("../../*.md")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	program := regexp.MustCompile("(?s)```go\n(package main\n.*?)```")
	found := 0
	// A folder inside the module, so that its imports resolve; the underscore
	// hides it from ./... patterns.
	dir, err := os.MkdirTemp(".", "_pages")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	for _, page := range append(pages, more...) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range program.FindAllSubmatch(text, -1) {
			found++
			file := filepath.Join(dir, fmt.Sprintf("p%d", found), "main.go")
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, block[1], 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command("go", "vet", file).CombinedOutput(); err != nil {
				t.Errorf("a program in %s: %v\n%s", page, err, out)
			}
		}
	}
	if found < 2 {
		t.Errorf("%d programs found in the pages, want those of both READMEs at least", found)
	}
}

// A translation names what the page names, and leads where it leads.
func TestTranslationsNameTheSame(t *testing.T) {
	translations, err := filepath.Glob("../../README.*.md")
	if err != nil || len(translations) == 0 {
		t.Fatalf("%d translations, %v", len(translations), err)
	}
	original := named(t, "../../README.md")
	for _, page := range translations {
		translated := named(t, page)
		for what := range original {
			if !translated[what] {
				t.Errorf("%s leaves out %s", page, what)
			}
		}
		for what := range translated {
			if !original[what] {
				t.Errorf("%s has %s, which README.md has not", page, what)
			}
		}
	}
}

// named is what stands in backquotes in a page, and where its links lead; but for
// the links from one language to the other.
func named(t *testing.T, page string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	prose := regexp.MustCompile("(?s)```.*?```").ReplaceAll(text, nil)
	all := map[string]bool{}
	for _, found := range regexp.MustCompile("`[^`\n]+`|\\]\\([^)]+\\)").FindAllString(string(prose), -1) {
		if !strings.HasPrefix(found, "](README") {
			all[found] = true
		}
	}
	return all
}
