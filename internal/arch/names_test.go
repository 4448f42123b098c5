package arch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A name of this module's that a page mentions, in its text or in a piece of code, is
// there: only whole programs are compiled, which need no look here.
func TestNamesInPagesExist(t *testing.T) {
	exported := map[string]bool{}
	for _, pkg := range []string{"botix", "botix/partner", "botix/botixtest", "ledger", "ledger/sqlite", "money", "retry", "webhookverify"} {
		export(t, pkg, exported)
	}
	pages, err := filepath.Glob("../../*.md")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	// As programs in the pages call their values.
	values := map[string]string{"client": "Client", "led": "Ledger", "inbox": "Inbox", "machine": "Machine", "auditor": "Auditor",
		"contact": "Contact", "credit": "Transaction", "account": "Account"}
	program := regexp.MustCompile("(?s)```go\npackage main\n.*?```")
	quoted := regexp.MustCompile("(?s)```go\n.*?```|`[^`\n]+`")
	name := regexp.MustCompile(`\b([A-Za-z]\w*)\.([A-Z]\w*)\b|\b(?:With|Err)[A-Z]\w*\b`)
	looked := 0
	for _, page := range append(pages, more...) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range name.FindAllStringSubmatch(strings.Join(quoted.FindAllString(program.ReplaceAllString(string(text), ""), -1), "\n"), -1) {
			what, of, member := found[0], found[1], found[2]
			if value, is := values[of]; is {
				what = value + "." + member
			} else if of != "" && !exported[of] || strings.HasPrefix(member, "Test") {
				continue // another module's, or a test, which others look for
			}
			if looked++; !exported[what] {
				t.Errorf("%s mentions %s, which is not there", page, what)
			}
		}
	}
	if looked < 200 {
		t.Errorf("only %d names were looked for", looked)
	}
}

// export notes what a package exports: its name, its names with and without it, and
// the members of its types with the type.
func export(t *testing.T, pkg string, all map[string]bool) {
	t.Helper()
	files, err := filepath.Glob("../../" + pkg + "/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", pkg, len(files), err)
	}
	all[path.Base(pkg)] = true
	add := func(names ...*ast.Ident) {
		for _, n := range names {
			all[n.Name], all[path.Base(pkg)+"."+n.Name] = true, true
		}
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil {
					add(n.Name)
				} else {
					all[receiver(n.Recv.List[0].Type)+"."+n.Name.Name] = true
				}
				return false
			case *ast.ValueSpec:
				add(n.Names...)
			case *ast.TypeSpec:
				add(n.Name)
				members := &ast.FieldList{}
				switch of := n.Type.(type) {
				case *ast.StructType:
					members = of.Fields
				case *ast.InterfaceType:
					members = of.Methods
				}
				for _, m := range members.List {
					for _, member := range m.Names {
						all[n.Name.Name+"."+member.Name] = true
					}
				}
			}
			return true
		})
	}
}

// receiver is the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
