package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The pages show a part of what the program prints.
func TestThePagesShowWhatItPrints(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	pages, err := filepath.Glob("../../README*.md")
	if err != nil || len(pages) < 2 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	block := regexp.MustCompile("(?s)```text\n(.*?)\n```")
	pause := regexp.MustCompile(`after [\d.]+m?s`) // what is left of a second
	printed := pause.ReplaceAllString(out.String(), "after a pause")
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		shown := block.FindSubmatch(text)
		if shown == nil {
			t.Errorf("%s shows nothing", page)
			continue
		}
		for part := range strings.SplitSeq(pause.ReplaceAllString(string(shown[1]), "after a pause"), "\n\n") {
			if !strings.Contains(printed, part+"\n") {
				t.Errorf("%s shows\n%s\nand the program printed\n%s", page, part, &out)
			}
		}
	}
}
