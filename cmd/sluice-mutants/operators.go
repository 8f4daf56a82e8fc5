package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/constant"
	"go/printer"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// The operators, as reports name them.
const (
	opComparison = "comparison" // a < b becomes a <= b, a == b becomes a != b
	opCondition  = "condition"  // a && b becomes a or b; if a {…} is never entered
	opCall       = "call"       // f() as a statement is not made
	opOffByOne   = "off-by-one" // a constant is one more
	opSwap       = "swap"       // f(a, b) becomes f(b, a) where both have one type
	opError      = "error"      // if err != nil {…} is never entered
)

var flipped = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL,
}

// An edit replaces the source between two positions.
type edit struct {
	op       string
	pos, end token.Pos
	text     string
	wraps    []wrap // the same change, chosen when the program runs; none if that is impossible
}

// edits returns the mutations of one function or declaration. The replaced code
// stays in the source behind a constant condition, so that a variable it alone
// uses is still used and the mutant compiles.
func edits(fset *token.FileSet, info *types.Info, root ast.Node) []edit {
	var out []edit
	src := func(n ast.Node) string {
		var b bytes.Buffer
		_ = printer.Fprint(&b, fset, n) // a node that was just parsed, into memory
		return b.String()
	}
	add := func(op string, n ast.Node, text string) {
		out = append(out, edit{op, n.Pos(), n.End(), text, wraps(info, op, n, text)})
	}
	never := func(op string, cond ast.Expr) { add(op, cond, "false && ("+src(cond)+")") }
	quiet := map[ast.Node]bool{} // nodes that are not entered
	ast.Inspect(root, func(n ast.Node) bool {
		if n == nil || quiet[n] {
			return false
		}
		switch n := n.(type) {
		case *ast.IfStmt:
			switch {
			case errorCheck(info, n.Cond) && leaves(n.Body):
				quiet[n.Cond] = true // the comparison's flip says the same
				never(opError, n.Cond)
			default:
				never(opCondition, n.Cond)
			}
		case *ast.SwitchStmt:
			if n.Tag == nil {
				for _, c := range n.Body.List {
					for _, cond := range c.(*ast.CaseClause).List {
						never(opCondition, cond)
					}
				}
			}
		case *ast.BinaryExpr:
			if to, ok := flipped[n.Op]; ok {
				add(opComparison, n, src(n.X)+" "+to.String()+" "+src(n.Y))
			}
			switch n.Op {
			case token.LAND:
				add(opCondition, n, "("+src(n.X)+" && (true || "+src(n.Y)+"))")
				add(opCondition, n, "((true || "+src(n.X)+") && "+src(n.Y)+")")
			case token.LOR:
				add(opCondition, n, "("+src(n.X)+" || (false && "+src(n.Y)+"))")
				add(opCondition, n, "((false && "+src(n.X)+") || "+src(n.Y)+")")
			}
			if counted(n.Op) {
				for _, side := range []ast.Expr{n.X, n.Y} {
					oneMore(side, add)
				}
			}
		case *ast.ExprStmt:
			if call, ok := n.X.(*ast.CallExpr); ok && !trivial(info, call) {
				add(opCall, n, "if false { "+src(n)+" }")
			}
		case *ast.CallExpr:
			if logs(info, n) {
				return false
			}
			if words(info, n) {
				return true
			}
			swaps(info, n, func(i int) {
				args := slices.Clone(n.Args)
				args[i], args[i+1] = args[i+1], args[i]
				var texts []string
				for _, a := range args {
					texts = append(texts, src(a))
				}
				a, b := n.Args[i], n.Args[i+1]
				var both []wrap
				if !acts(info, a) && !acts(info, b) {
					both = []wrap{{a.Pos(), a.End(), "mutantSwap(%d, " + src(b) + ", ", ")"}, {b.Pos(), b.End(), "mutantSwap(%d, " + src(a) + ", ", ")"}}
				}
				out = append(out, edit{opSwap, n.Args[0].Pos(), n.Args[len(n.Args)-1].End(), strings.Join(texts, ", "), both})
			})
		case *ast.ValueSpec:
			if declaresConstant(info, n) {
				for _, v := range n.Values {
					oneMore(v, add)
				}
			}
		case *ast.SliceExpr:
			for _, i := range []ast.Expr{n.Low, n.High} {
				if i != nil {
					oneMore(i, add)
				}
			}
		case *ast.IndexExpr:
			oneMore(n.Index, add)
		}
		return true
	})
	return out
}

// errorCheck reports whether cond is err != nil for some error.
func errorCheck(info *types.Info, cond ast.Expr) bool {
	b, ok := cond.(*ast.BinaryExpr)
	if !ok || b.Op != token.NEQ {
		return false
	}
	if id, ok := b.Y.(*ast.Ident); !ok || id.Name != "nil" {
		return false
	}
	t := info.TypeOf(b.X)
	return t != nil && types.Identical(t, types.Universe.Lookup("error").Type())
}

func leaves(b *ast.BlockStmt) bool {
	if len(b.List) == 0 {
		return false
	}
	switch b.List[len(b.List)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	}
	return false
}

// counted reports whether a number beside op is a bound or an offset.
func counted(op token.Token) bool {
	switch op {
	case token.ADD, token.SUB, token.LSS, token.LEQ, token.GTR, token.GEQ, token.EQL, token.NEQ, token.REM:
		return true
	}
	return false
}

func oneMore(e ast.Expr, add func(string, ast.Node, string)) {
	lit, ok := e.(*ast.BasicLit)
	if !ok {
		if b, ok := e.(*ast.BinaryExpr); ok && b.Op == token.SHL { // 1 << 20, the way bounds are written
			add(opOffByOne, b, "("+"1 + "+exprText(b)+")")
		}
		return
	}
	if lit.Kind != token.INT {
		return
	}
	v, err := strconv.ParseInt(lit.Value, 0, 64)
	if err != nil {
		return // larger than an int64: no bound
	}
	add(opOffByOne, lit, strconv.FormatInt(v+1, 10))
}

func exprText(b *ast.BinaryExpr) string { return types.ExprString(b) }

// declaresConstant reports whether s declares constants with values of their own; members
// of an iota group are names, not bounds.
func declaresConstant(info *types.Info, s *ast.ValueSpec) bool {
	if len(s.Names) == 0 || len(s.Values) == 0 {
		return false
	}
	_, ok := info.Defs[s.Names[0]].(*types.Const)
	return ok
}

// commutative are functions whose arguments have no order.
var commutative = []string{
	"min", "max", "bytes.Equal", "bytes.EqualFold", "strings.EqualFold", "slices.Equal", "reflect.DeepEqual", "crypto/hmac.Equal",
	"crypto/subtle.ConstantTimeCompare",
}

// swaps calls f with the index of each argument that has the same type as its
// right neighbour, but is another expression.
func swaps(info *types.Info, call *ast.CallExpr, f func(i int)) {
	if tv, ok := info.Types[call.Fun]; !ok || tv.IsType() {
		return
	}
	if slices.Contains(commutative, calleeName(info, call)) {
		return // the mutant would be the same program
	}
	for i := range len(call.Args) - 1 {
		a, b := call.Args[i], call.Args[i+1]
		ta, tb := info.TypeOf(a), info.TypeOf(b)
		if ta == nil || tb == nil || !types.Identical(ta, tb) || types.ExprString(a) == types.ExprString(b) {
			continue
		}
		if i == len(call.Args)-2 && call.Ellipsis.IsValid() {
			continue
		}
		f(i)
	}
}

// trivial reports whether a statement's call has no effect that a test could be
// asked to see: a log line or a hint to the runtime.
func trivial(info *types.Info, call *ast.CallExpr) bool {
	if logs(info, call) {
		return true
	}
	name := calleeName(info, call)
	return name == "runtime.KeepAlive" || name == "runtime.Gosched" || name == "panic"
}

// logs reports whether call is of log/slog: what a log line says is no behaviour.
func logs(info *types.Info, call *ast.CallExpr) bool {
	return strings.HasPrefix(calleeName(info, call), "log/slog.")
}

// words reports whether call makes the text of a message, or lists the columns of a
// query, which are found by their names: the order is no behaviour.
func words(info *types.Info, call *ast.CallExpr) bool {
	name := calleeName(info, call)
	if strings.HasPrefix(name, "github.com/uptrace/bun.") && strings.HasSuffix(name, "Column") {
		return true
	}
	for _, a := range call.Args {
		if v := info.Types[a].Value; v != nil && v.Kind() == constant.String && strings.Contains(constant.StringVal(v), "%") {
			return true // a format, whoever takes it
		}
	}
	return strings.HasPrefix(name, "fmt.") || strings.HasSuffix(name, "/internal/problem.New") || strings.HasSuffix(name, "/internal/problem.Fix")
}

// calleeName returns "path.Name" of the called function or method.
func calleeName(info *types.Info, call *ast.CallExpr) string {
	var id *ast.Ident
	switch f := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		id = f
	case *ast.SelectorExpr:
		id = f.Sel
	default:
		return ""
	}
	o := info.Uses[id]
	if o == nil {
		return ""
	}
	if o.Pkg() == nil {
		return o.Name()
	}
	return fmt.Sprintf("%s.%s", o.Pkg().Path(), o.Name())
}
