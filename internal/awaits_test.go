package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// A wait that ends in vain says what there was instead.
func TestEveryConditionThatIsAwaitedGivesAReason(t *testing.T) {
	files, conditions := token.NewFileSet(), 0
	err := filepath.WalkDir("../e2e", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && awaits(call) {
				if condition, ok := call.Args[len(call.Args)-1].(*ast.FuncLit); ok {
					conditions++
					checkReasons(t, files, condition.Body)
				}
			}
			return true
		})
		return nil
	})
	if err != nil || conditions < 150 {
		t.Errorf("%d conditions, %v", conditions, err)
	}
}

func awaits(call *ast.CallExpr) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	return ok && (selector.Sel.Name == "Await" || selector.Sel.Name == "AwaitWithin") && len(call.Args) >= 3
}

// checkReasons: "return x, nil" is for x = true alone.
func checkReasons(t *testing.T, files *token.FileSet, body *ast.BlockStmt) {
	t.Helper()
	ast.Inspect(body, func(n ast.Node) bool {
		if _, inner := n.(*ast.FuncLit); inner {
			return false
		}
		if r, ok := n.(*ast.ReturnStmt); ok && len(r.Results) == 2 && isNamed(r.Results[1], "nil") && !isNamed(r.Results[0], "true") {
			t.Errorf("%s: a condition that does not hold gives no reason: end it with controlplanetest.Holds", files.Position(r.Pos()))
		}
		return true
	})
}

func isNamed(e ast.Expr, name string) bool {
	ident, ok := e.(*ast.Ident)
	return ok && ident.Name == name
}
