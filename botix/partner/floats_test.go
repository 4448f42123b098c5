package partner_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// No amount ever passes through binary floating point. On its whole way, from the
// program to the wire and into the ledger, no code has such a type, or reads JSON into
// something that would hold one; and no type of those that hold amounts leads to one.
func TestNoFloatNearMoney(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{
		"money", "botix/partner", // these hold amounts
		"internal/answer", "internal/call", "internal/canonical", "internal/rest", "ledger", "ledger/internal/store", "ledger/sqlite",
	} {
		path := "github.com/botix-pro/sdk-go/" + dir
		fset, dir := token.NewFileSet(), filepath.Join("../..", dir)
		files := parseDir(t, fset, dir)
		pkg, info, err := typeCheck(fset, path, files, importer.ForCompiler(fset, "gc", exportData(t, dir)))
		if err != nil {
			t.Fatal(err)
		}
		leaks := slices.Concat(expressions(fset, info), decoded(fset, files, info))
		if pkg.Name() == "money" || pkg.Name() == "partner" {
			leaks = append(leaks, reachable(pkg)...)
		}
		for _, leak := range leaks {
			t.Errorf("%s: %s", path, leak)
		}
		if len(info.Types) < 100 {
			t.Errorf("%s: only %d expressions were looked at", path, len(info.Types))
		}
	}
}

// The look above finds each of these.
func TestFloatsAreFound(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{
		"a field":               `type Price struct { Amount float64 }`,
		"a field deep inside":   `type Price struct { inner []map[string]*struct{ f [2]float32 } }`,
		"a named type":          `type Amount float64`,
		"a result":              `type Price struct{}; func (Price) Value() float64 { return 0 }`,
		"a parameter":           `type Price struct{}; func (*Price) Set(f float32) {}`,
		"a function":            `func Parse(text string) (f float64, err error) { return }`,
		"a type argument":       `type Opt[T any] struct { v T }; type Price struct { Amount Opt[float64] }`,
		"a conversion":          `func Cents(n int) int { return int(float64(n) * 100) }`,
		"a constant":            `func Tax(n int) int { const rate = 1.5; return n * int(2 * rate) }`,
		"a complex number":      `func half(n int) int { return int(real(complex(1, 0))) * n }`,
		"a variable of a func":  `func F() { var g func(float64); _ = g }`,
		"an interface's method": `type Pricer interface { Price() float64 }`,
		"JSON read into any":    unmarshal + `func F(b []byte) { var v any; Unmarshal(b, &v) }`,
		"JSON read into a map":  unmarshal + `func F(b []byte) { var v map[string]any; Unmarshal(b, &v) }`,
		"JSON read into a list": unmarshal + `type all []any; func F(b []byte) { var v map[string]all; Unmarshal(b, &v) }`,
	} {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "planted.go", "package planted\n"+source, 0)
		if err != nil {
			t.Fatal(err)
		}
		pkg, info, err := typeCheck(fset, "planted", []*ast.File{file}, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if leaks := slices.Concat(expressions(fset, info), decoded(fset, []*ast.File{file}, info), reachable(pkg)); len(leaks) == 0 {
			t.Errorf("%s is not found", name)
		}
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "clean.go", `package clean
		type Amount struct { text string }
		type Price struct { Amount Amount; next *Price }
		`+unmarshal+`func (p *Price) read(b []byte, into any) { Unmarshal(b, &p.Amount); Unmarshal(b, into) }
		func (p Price) Cents() (int64, error) { const hundred = 100; return int64(len(p.Amount.text)) * hundred, nil }`, 0)
	if err != nil {
		t.Fatal(err)
	}
	pkg, info, err := typeCheck(fset, "clean", []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if leaks := slices.Concat(expressions(fset, info), decoded(fset, []*ast.File{file}, info), reachable(pkg)); len(leaks) > 0 {
		t.Errorf("clean code leaks: %v", leaks)
	}
}

func typeCheck(fset *token.FileSet, path string, files []*ast.File, imports types.Importer) (*types.Package, *types.Info, error) {
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	config := types.Config{Importer: imports}
	pkg, err := config.Check(path, fset, files, info)
	return pkg, info, err
}

// expressions are those of a floating-point type, in all of the code.
func expressions(fset *token.FileSet, info *types.Info) (leaks []string) {
	for expr, tv := range info.Types {
		if tv.Type != nil && float(tv.Type) {
			leaks = append(leaks, fmt.Sprintf("%s: an expression of type %s", fset.Position(expr.Pos()), tv.Type))
		}
	}
	slices.Sort(leaks)
	return leaks
}

// unmarshal stands for that of encoding/json, which planted code does not import.
const unmarshal = "func Unmarshal(b []byte, v any) {};"

// decoded are the places where JSON is read into an interface: its numbers are floats.
func decoded(fset *token.FileSet, files []*ast.File, info *types.Info) (leaks []string) {
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			name := ""
			switch f := call.Fun.(type) {
			case *ast.Ident:
				name = f.Name
			case *ast.SelectorExpr:
				name = f.Sel.Name
			}
			into := call.Args[len(call.Args)-1]
			if p, ok := info.Types[into].Type.(*types.Pointer); ok && (name == "Unmarshal" || name == "Decode") && loose(p.Elem()) {
				leaks = append(leaks, fmt.Sprintf("%s: JSON is read into a %s", fset.Position(into.Pos()), p.Elem()))
			}
			return true
		})
	}
	return leaks
}

// loose reports whether JSON decides which type a value has.
func loose(t types.Type) bool {
	if _, open := types.Unalias(t).(*types.TypeParam); open { // whoever calls decides
		return false
	}
	switch t := t.Underlying().(type) {
	case *types.Interface:
		return t.NumMethods() == 0 && !t.IsComparable()
	case interface{ Elem() types.Type }: // maps, lists, pointers
		return loose(t.Elem())
	}
	return false
}

func float(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&(types.IsFloat|types.IsComplex) != 0
}

// reachable are the floats that the exported names of a package lead to.
func reachable(pkg *types.Package) []string {
	w := &walker{seen: map[types.Type]bool{}, home: pkg}
	for _, name := range pkg.Scope().Names() {
		object := pkg.Scope().Lookup(name)
		if !object.Exported() || machinery[name] || strings.HasSuffix(name, "Service") {
			continue
		}
		w.walk(object.Type(), name)
	}
	return w.leaks
}

// machinery is what carries calls and no amounts: its pauses are random.
var machinery = map[string]bool{"Client": true, "Auditor": true, "New": true, "Option": true, "CallOption": true,
	"WithLedger": true, "WithoutLedger": true, "WithBaseURL": true, "WithContract": true, "WithKeyBuilder": true, "OnProvisioned": true, "WithLostKeysReplaced": true}

type walker struct {
	seen  map[types.Type]bool
	home  *types.Package
	leaks []string
}

func (w *walker) walk(t types.Type, at string) {
	if w.seen[t] {
		return
	}
	w.seen[t] = true
	if float(t) {
		w.leaks = append(w.leaks, at+" is a "+t.String())
		return
	}
	if named, ok := t.(*types.Named); ok {
		if named.Obj().Pkg() == w.home && machinery[named.Obj().Name()] {
			return
		}
		for arg := range named.TypeArgs().Types() {
			w.walk(arg, at+"[…]")
		}
		if named.Obj().Pkg() == w.home { // what others offer beside is not ours: decimals have a Float64
			for method := range named.Methods() {
				if method.Exported() {
					w.walk(method.Type(), at+"."+method.Name())
				}
			}
		}
	}
	switch t := types.Unalias(t).Underlying().(type) {
	case *types.Struct:
		for field := range t.Fields() {
			w.walk(field.Type(), at+"."+field.Name())
		}
	case *types.Signature:
		for v := range t.Params().Variables() {
			w.walk(v.Type(), at+"(…)")
		}
		for v := range t.Results().Variables() {
			w.walk(v.Type(), at+"() result")
		}
	case *types.Interface:
		for method := range t.Methods() {
			w.walk(method.Type(), at+"."+method.Name())
		}
	case *types.Map:
		w.walk(t.Key(), at+" key")
		w.walk(t.Elem(), at+" element")
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
		w.walk(t.Elem(), at+" element")
	}
}

func parseDir(t *testing.T, fset *token.FileSet, dir string) (files []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		here, err := build.Default.MatchFile(dir, filepath.Base(name))
		if err != nil {
			t.Fatal(err)
		}
		if !here || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// exportData finds what the compiler wrote of the packages that dir imports.
func exportData(t *testing.T, dir string) importer.Lookup {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-export", "-json=ImportPath,Export", ".")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	exports := map[string]string{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct{ ImportPath, Export string }
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
}
