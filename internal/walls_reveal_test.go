package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Revealing a credential is one explicit call, and only where it is written out.
func TestOnlyRenderRevealsCredentials(t *testing.T) {
	may := []string{"internal/core/proxyurl", "internal/core/render", "internal/workload/upstream"}
	found := 0
	for _, p := range list(t, "./...") {
		path := strings.TrimPrefix(p.ImportPath, module)
		for _, file := range p.GoFiles {
			for _, position := range revelations(t, filepath.Join(p.Dir, file), nil) {
				if found++; !slices.Contains(may, path) {
					t.Errorf("%s reveals credentials at %s", path, position)
				}
			}
		}
	}
	if found == 0 {
		t.Error("nobody reveals anything: has the method been renamed?")
	}
}

// revelations finds every mention of the method: called, or taken as a value.
func revelations(t *testing.T, file string, source any) []string {
	t.Helper()
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, file, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	ast.Inspect(tree, func(node ast.Node) bool {
		if selector, ok := node.(*ast.SelectorExpr); ok && selector.Sel.Name == "Reveal" {
			found = append(found, files.Position(selector.Sel.Pos()).String())
		}
		return true
	})
	return found
}

func TestTheSearchForRevelationsFindsThem(t *testing.T) {
	source := "package p\nvar a = u.Reveal()\nvar f = e.HTTP.Reveal\nvar g = proxyurl.URL.Reveal\nfunc (u URL) Reveal() {}\n// u.Reveal()\n"
	if found := revelations(t, "p.go", source); len(found) != 3 {
		t.Errorf("found %q, want 3", found)
	}
}
