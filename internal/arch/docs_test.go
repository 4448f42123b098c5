package arch_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
