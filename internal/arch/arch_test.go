package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// row places one package of this module. Its fields are paths below the module
// ("internal/rest"); a last element "..." stands for every package from there
// down, as in the go command's patterns.
type row struct {
	pkg     string
	ours    []string // packages of this module that it may import
	outside []string // modules of others that it may import
}

// promise limits everything that a package's users compile with it.
type promise struct {
	pkg     string
	outside []string // the only modules of others
	never   []string // packages of this module that must not be among it
	why     string
}

// pkgInfo is what the test needs of one package as `go list -json` prints it.
type pkgInfo struct {
	ImportPath string
	Standard   bool                   // part of Go itself
	Module     *struct{ Path string } // nil for Go itself
	Imports    []string               // by the package, without its tests
	Deps       []string               // Imports, and theirs, all the way down
}

func TestPackagesImportOnlyWhatTheTableAllows(t *testing.T) {
	for _, problem := range check(goList(t, "../.."), rows, promises, announced) {
		t.Error(problem)
	}
}

// goList returns every package of the module in dir with all it depends on.
func goList(t *testing.T, dir string) map[string]pkgInfo {
	t.Helper()
	// The go command reads the module in a process of its own, which the cache
	// of test results does not see. Reading the folders here makes them inputs
	// of the test: without it, a changed import elsewhere meets a cached "ok".
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && entry.Name() == ".git" {
			return fs.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps",
		"-json=ImportPath,Standard,Module,Imports,Deps", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off") // this module, not a workspace around it
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, stderr.Bytes())
	}

	pkgs := map[string]pkgInfo{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkgInfo
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatalf("%v: %v", cmd, err)
		}
		pkgs[p.ImportPath] = p
	}
}

// check returns what is wrong, one sentence each, in a stable order.
func check(pkgs map[string]pkgInfo, rows []row, promises []promise, announced []string) []string {
	var problems []string
	report := func(format string, args ...any) {
		problems = append(problems, fmt.Sprintf(format, args...))
	}

	var existing []string
	for path := range pkgs {
		if name, ok := inModule(path); ok {
			existing = append(existing, name)
		}
	}
	slices.Sort(existing)

	var above []string // names of the rows read so far
	for _, r := range rows {
		if slices.Contains(above, r.pkg) {
			report("%s has two rows", r.pkg)
		}
		for _, name := range r.ours {
			if !matchesAny(above, name) {
				report("the row of %s allows %s, which has no row above it: imports point one way", r.pkg, name)
			}
		}
		above = append(above, r.pkg)
		if !slices.ContainsFunc(existing, func(name string) bool { return matches(r.pkg, name) }) {
			report("the row of %s has no package: remove the row", r.pkg)
		}
	}

	for _, name := range existing {
		i := slices.IndexFunc(rows, func(r row) bool { return matches(r.pkg, name) })
		if i < 0 {
			report("%s has no row: decide where it belongs and add one", name)
			continue
		}
		for _, path := range pkgs[path.Join(module, name)].Imports {
			imported, ours := inModule(path)
			switch other := outsideModule(pkgs[path]); {
			case ours && !matchesAny(rows[i].ours, imported):
				report("%s imports %s, which its row does not allow", name, imported)
			case !ours && other != "" && !slices.Contains(rows[i].outside, other):
				report("%s imports %s of module %s, which its row does not allow", name, path, other)
			}
		}
	}

	for _, p := range promises {
		for _, name := range append([]string{p.pkg}, p.never...) {
			known := name == "..." || matchesAny(announced, strings.TrimSuffix(name, "/...")) ||
				matchesAny(above, strings.TrimSuffix(name, "/..."))
			if !known {
				report("the promise about %s names %s, which has no row and is not announced", p.pkg, name)
			}
		}
		for _, path := range pkgs[path.Join(module, p.pkg)].Deps {
			dep, ours := inModule(path)
			switch other := outsideModule(pkgs[path]); {
			case ours && matchesAny(p.never, dep):
				report("users of %s compile %s, but %s", p.pkg, dep, p.why)
			case !ours && other != "" && !slices.Contains(p.outside, other):
				report("users of %s compile %s of module %s, but %s", p.pkg, path, other, p.why)
			}
		}
	}

	for _, name := range announced {
		if slices.Contains(existing, name) {
			report("%s is announced and exists: take it off the list", name)
		}
	}
	return problems
}

// inModule cuts an import path of this module down to the name the table uses;
// the module's root would be ".".
func inModule(path string) (name string, ok bool) {
	if path == module {
		return ".", true
	}
	return strings.CutPrefix(path, module+"/")
}

// outsideModule names the module that a package came from, or "" for one of Go itself.
func outsideModule(p pkgInfo) string {
	switch {
	case p.Standard:
		return ""
	case p.Module == nil:
		return "(none)" // import "C" and the like: never allowed by a row
	}
	return p.Module.Path
}

// matches reports whether name is the package, or among the packages, that pattern names.
func matches(pattern, name string) bool {
	prefix, tree := strings.CutSuffix(pattern, "...")
	if !tree {
		return pattern == name
	}
	return strings.HasPrefix(name+"/", prefix)
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, name) })
}

func TestCheck(t *testing.T) {
	t.Parallel()

	const theirs = "example.com/theirs"
	// A module of three packages that keeps to its table: top imports middle,
	// middle imports bottom and a module of somebody else.
	good := func() (pkgs map[string]pkgInfo, rows []row, promises []promise) {
		pkgs = map[string]pkgInfo{
			"fmt":                 {Standard: true},
			theirs + "/deep":      {Module: &struct{ Path string }{theirs}},
			module + "/bottom":    {Imports: []string{"fmt"}, Deps: []string{"fmt"}},
			module + "/middle":    {Imports: []string{module + "/bottom", theirs + "/deep"}, Deps: []string{"fmt", module + "/bottom", theirs + "/deep"}},
			module + "/tree/leaf": {Imports: []string{module + "/middle"}, Deps: []string{"fmt", module + "/bottom", module + "/middle", theirs + "/deep"}},
		}
		rows = []row{
			{pkg: "bottom"},
			{pkg: "middle", ours: []string{"bottom"}, outside: []string{theirs}},
			{pkg: "tree/...", ours: []string{"middle"}},
		}
		promises = []promise{
			{pkg: "bottom", never: []string{"..."}, why: "it stands alone"},
			{pkg: "middle", outside: []string{theirs}, never: []string{"tree/..."}, why: "it is small"},
			{pkg: "future", never: []string{"..."}, why: "it will stand alone"},
		}
		return pkgs, rows, promises
	}
	announced := []string{"future"}

	tests := []struct {
		name   string
		change func(pkgs map[string]pkgInfo, rows []row, promises []promise) []row
		want   []string
	}{
		{
			name:   "a module that keeps to its table",
			change: func(_ map[string]pkgInfo, rows []row, _ []promise) []row { return rows },
		},
		{
			name: "packages without a row, one at the root of the module",
			change: func(pkgs map[string]pkgInfo, rows []row, _ []promise) []row {
				pkgs[module], pkgs[module+"/new"] = pkgInfo{}, pkgInfo{}
				return rows
			},
			want: []string{
				". has no row: decide where it belongs and add one",
				"new has no row: decide where it belongs and add one",
			},
		},
		{
			name:   "a row without a package",
			change: func(_ map[string]pkgInfo, rows []row, _ []promise) []row { return append(rows, row{pkg: "gone"}) },
			want:   []string{"the row of gone has no package: remove the row"},
		},
		{
			name: "two rows for one package",
			change: func(_ map[string]pkgInfo, rows []row, _ []promise) []row {
				return append(rows, row{pkg: "bottom", ours: []string{"middle"}})
			},
			want: []string{"bottom has two rows"},
		},
		{
			name: "a row that allows an import upward",
			change: func(_ map[string]pkgInfo, rows []row, _ []promise) []row {
				rows[0].ours = []string{"middle"}
				return rows
			},
			want: []string{"the row of bottom allows middle, which has no row above it: imports point one way"},
		},
		{
			name: "an import of ours that the row does not list",
			change: func(_ map[string]pkgInfo, rows []row, _ []promise) []row {
				rows[1].ours = nil
				return rows
			},
			want: []string{"middle imports bottom, which its row does not allow"},
		},
		{
			name: "an import below a tree, allowed by no row",
			change: func(_ map[string]pkgInfo, rows []row, _ []promise) []row {
				rows[2].ours = []string{"bottom"}
				return rows
			},
			want: []string{"tree/leaf imports middle, which its row does not allow"},
		},
		{
			name: "a module of others that the row does not list",
			change: func(_ map[string]pkgInfo, rows []row, _ []promise) []row {
				rows[1].outside = nil
				return rows
			},
			want: []string{"middle imports example.com/theirs/deep of module example.com/theirs, which its row does not allow"},
		},
		{
			name: "cgo",
			change: func(pkgs map[string]pkgInfo, rows []row, promises []promise) []row {
				pkgs[module+"/bottom"] = pkgInfo{Imports: []string{"C"}, Deps: []string{"C"}}
				return rows
			},
			want: []string{
				"bottom imports C of module (none), which its row does not allow",
				"users of bottom compile C of module (none), but it stands alone",
			},
		},
		{
			name: "a package of ours that a promise excludes, reached through an allowed one",
			change: func(_ map[string]pkgInfo, rows []row, promises []promise) []row {
				promises[0] = promise{pkg: "tree/leaf", outside: []string{theirs}, never: []string{"bottom"}, why: "it is a leaf"}
				return rows
			},
			want: []string{"users of tree/leaf compile bottom, but it is a leaf"},
		},
		{
			name: "a module of others that a promise excludes, reached through an allowed package",
			change: func(_ map[string]pkgInfo, rows []row, promises []promise) []row {
				promises[0] = promise{pkg: "tree/leaf", why: "it is a leaf"}
				return rows
			},
			want: []string{"users of tree/leaf compile example.com/theirs/deep of module example.com/theirs, but it is a leaf"},
		},
		{
			name: "a promise about nothing",
			change: func(_ map[string]pkgInfo, rows []row, promises []promise) []row {
				promises[0].pkg = "botom"
				promises[1].never = []string{"tres/..."}
				return rows
			},
			want: []string{
				"the promise about botom names botom, which has no row and is not announced",
				"the promise about middle names tres/..., which has no row and is not announced",
			},
		},
		{
			name: "an announced package that arrived",
			change: func(pkgs map[string]pkgInfo, rows []row, _ []promise) []row {
				pkgs[module+"/future"] = pkgInfo{Imports: []string{module + "/bottom"}, Deps: []string{module + "/bottom"}}
				return append(rows, row{pkg: "future", ours: []string{"bottom"}})
			},
			want: []string{
				"users of future compile bottom, but it will stand alone",
				"future is announced and exists: take it off the list",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			pkgs, rows, promises := good()
			rows = tt.change(pkgs, rows, promises)
			if got := check(pkgs, rows, promises, announced); !slices.Equal(got, tt.want) {
				t.Errorf("check:\n got %q\nwant %q", got, tt.want)
			}
		})
	}
}
