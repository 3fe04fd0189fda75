package house_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// source is the syntax of one package without its tests.
type source struct {
	types map[string]*ast.StructType
	docs  map[string]string // of types and functions by name, of methods by .name
	files []*ast.File
}

func parsePackage(t *testing.T, dir string) source {
	t.Helper()
	s := source{types: map[string]*ast.StructType{}, docs: map[string]string{}}
	entries, err := os.ReadDir(root + "/" + dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), root+"/"+dir+"/"+e.Name(), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		s.files = append(s.files, f)
		for _, d := range f.Decls {
			s.declare(d)
		}
	}
	return s
}

func (s source) declare(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		s.docs[funcName(d)] = sentence(d.Doc.Text())
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if spec, ok := spec.(*ast.TypeSpec); ok {
				s.docs[spec.Name.Name] = sentence(d.Doc.Text())
				if st, ok := spec.Type.(*ast.StructType); ok {
					s.types[spec.Name.Name] = st
				}
			}
		}
	}
}

func funcName(d *ast.FuncDecl) string {
	if d.Recv != nil {
		return "." + d.Name.Name
	}
	return d.Name.Name
}

// sentence is a comment on one line.
func sentence(text string) string { return strings.Join(strings.Fields(text), " ") }

// section is a type's fields under its title, with what its comment says.
func (s source) section(t *testing.T, name, title string) string {
	t.Helper()
	return fmt.Sprintf("\n## %s\n\n%s\n%s", cmp.Or(title, name), strings.Replace(s.docs[name], name, cmp.Or(title, name), 1), s.fields(t, name))
}

// fields is a table of the JSON fields of a type: one comment before several
// fields is told with the first.
func (s source) fields(t *testing.T, name string) string {
	t.Helper()
	st := s.types[name]
	if st == nil {
		t.Fatalf("there is no type %s", name)
	}
	var b strings.Builder
	b.WriteString("\n| field | type | meaning |\n|---|---|---|\n")
	for _, f := range st.Fields.List {
		if f.Tag == nil && len(f.Names) == 0 {
			fmt.Fprintf(&b, "| | | the fields of %s |\n", jsonType(f.Type, ""))
		}
		if f.Tag == nil {
			continue
		}
		key, options, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
		if key == "" || key == "-" {
			continue
		}
		words := slices.DeleteFunc([]string{sentence(f.Doc.Text()), sentence(f.Comment.Text())}, func(w string) bool { return w == "" })
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", key, jsonType(f.Type, options), strings.ReplaceAll(strings.Join(words, " "), "|", "\\|"))
	}
	return b.String()
}

// jsonType says in words what a field is in JSON.
func jsonType(e ast.Expr, options string) string {
	kind := "?"
	switch e := e.(type) {
	case *ast.Ident:
		kind = basicType(e.Name)
	case *ast.StarExpr:
		kind = jsonType(e.X, "")
	case *ast.SelectorExpr:
		kind = basicType(e.Sel.Name)
	case *ast.ArrayType:
		kind = "list of " + jsonType(e.Elt, "")
		if id, ok := e.Elt.(*ast.Ident); ok && id.Name == "byte" {
			kind = "base64"
		} else if e.Len != nil {
			kind = "pair"
		}
	case *ast.MapType:
		kind = "object of " + jsonType(e.Value, "")
	}
	if strings.Contains(options, "string") {
		kind += " in quotes"
	}
	if strings.Contains(options, "omit") {
		kind += ", may be absent"
	}
	return kind
}

func basicType(name string) string {
	switch name {
	case "int", "int32", "int64", "uint64", "float64", "Level", "State":
		return "number"
	case "bool":
		return "true or false"
	case "string", "EventKind":
		return "text"
	case "Time":
		return "time"
	case "any":
		return "any"
	}
	return "[" + name + "](#" + strings.ToLower(name) + ")"
}
