package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rule finds what must not stand in a file.
type rule struct {
	name string
	// except are the files, relative to the repository, that may.
	except []string
	// only, if set, is the folder that the rule is about.
	only string
	find func(ast.Node) bool
}

var rules = []rule{
	{name: "offsets are counted on in checkpoints/position.go alone", except: []string{"checkpoints/position.go"}, find: countsOffset},
	{name: "nothing panics", find: calls("", "panic")},
	{name: "only main ends the process", except: []string{"main.go", "internal/bench/main.go"}, find: calls("os", "Exit")},
	{name: "only main ends the process", find: calls("log", "Fatal", "Fatalf", "Fatalln", "Panic", "Panicf", "Panicln")},
	{name: "a context comes from the caller", except: []string{"main.go", "internal/bench/main.go"}, find: calls("context", "Background", "TODO")},
	{name: "the environment is read in main alone", except: []string{"main.go"}, find: calls("os", "Getenv", "LookupEnv", "Environ", "ExpandEnv")},
	{name: "no init functions", find: func(n ast.Node) bool {
		f, ok := n.(*ast.FuncDecl)
		return ok && f.Recv == nil && f.Name.Name == "init"
	}},
	{name: "no unsafe and no cgo", find: func(n ast.Node) bool {
		i, ok := n.(*ast.ImportSpec)
		return ok && (i.Path.Value == `"unsafe"` || i.Path.Value == `"C"`)
	}},
	// The bucket names call and key, see checkpoints.Bucket.
	{name: "an error of the store names its key once", except: []string{"sinks/retry.go", "internal/membucket/membucket.go"}, find: namesKeyAgain},
	// A step is a pure function of what it gets, so that a script can test it.
	{name: "steps have no clock", only: "stages/", find: calls("time", "Now", "Since", "Until", "After", "NewTimer", "NewTicker", "Sleep")},
	{name: "steps have no goroutines", only: "stages/", find: func(n ast.Node) bool { _, ok := n.(*ast.GoStmt); return ok }},
	{name: "steps have no channels", only: "stages/", find: func(n ast.Node) bool { _, ok := n.(*ast.ChanType); return ok }},
}

func TestCodeKeepsTheRules(t *testing.T) {
	base, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages(t) {
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			rel, err := filepath.Rel(base, path)
			if err != nil {
				t.Fatal(err)
			}
			files := token.NewFileSet()
			f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range broken(f, filepath.ToSlash(rel)) {
				t.Errorf("%s:%d: %s", rel, files.Position(at.pos).Line, at.rule)
			}
		}
	}
}

type breach struct {
	pos  token.Pos
	rule string
}

func broken(f *ast.File, rel string) (found []breach) {
	ast.Inspect(f, func(n ast.Node) bool {
		for _, r := range rules {
			if n != nil && !slices.Contains(r.except, rel) && strings.HasPrefix(rel, r.only) && r.find(n) {
				found = append(found, breach{n.Pos(), r.name})
			}
		}
		return true
	})
	return found
}

// The rules must be able to find what they forbid.
func TestRulesFindWhatTheyForbid(t *testing.T) {
	const text = `package p
import "unsafe"
func init() { panic("x") }
func f(c chan int) {
	go f(nil)
	os.Exit(1)
	log.Fatalf("x")
	ctx := context.Background()
	home := os.Getenv("HOME")
	now := time.Now()
	end := r.Offset + 1
	last := 1 - endOffset
	p.Offset++
	for offset := range 3 { use(offset - 1) }
	fmt.Errorf("get %s: %w", key, err)
}`
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, b := range broken(f, "stages/p.go") {
		count[b.rule]++
	}
	for _, r := range rules {
		if count[r.name] == 0 {
			t.Errorf("not found: %s", r.name)
		}
	}
	if n := count[rules[0].name]; n != 4 {
		t.Errorf("%d of 4 ways to count on an offset were found", n)
	}
}

// calls finds calls of a package's functions, or of built-in ones.
func calls(pkg string, names ...string) func(ast.Node) bool {
	return func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return false
		}
		switch f := call.Fun.(type) {
		case *ast.Ident:
			return pkg == "" && slices.Contains(names, f.Name)
		case *ast.SelectorExpr:
			x, ok := f.X.(*ast.Ident)
			return ok && x.Name == pkg && slices.Contains(names, f.Sel.Name)
		}
		return false
	}
}

// namesKeyAgain finds fmt.Errorf("get %s: %w", key, err) and the like.
func namesKeyAgain(n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok || !calls("fmt", "Errorf")(n) {
		return false
	}
	text, ok := call.Args[0].(*ast.BasicLit)
	return ok && slices.Contains([]string{"get", "put", "stat", "list", "remove", "copy"}, strings.TrimSuffix(strings.Trim(text.Value, `"`), " %s: %w"))
}

// countsOffset finds offset + 1, 1 + offset, offset - 1, offset++ and the
// like.
func countsOffset(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		return (n.Op == token.ADD || n.Op == token.SUB) && (isOffset(n.X) && isOne(n.Y) || isOne(n.X) && isOffset(n.Y))
	case *ast.IncDecStmt:
		return isOffset(n.X)
	case *ast.AssignStmt:
		return (n.Tok == token.ADD_ASSIGN || n.Tok == token.SUB_ASSIGN) && isOffset(n.Lhs[0])
	}
	return false
}

func isOffset(e ast.Expr) bool {
	name := ""
	switch e := e.(type) {
	case *ast.Ident:
		name = e.Name
	case *ast.SelectorExpr:
		name = e.Sel.Name
	}
	return strings.HasSuffix(strings.ToLower(name), "offset")
}

func isOne(e ast.Expr) bool {
	l, ok := e.(*ast.BasicLit)
	return ok && l.Kind == token.INT && l.Value == "1"
}
