package enginepool

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/engine"
)

// TestAgreeWidths: what the engine looks at 16 bytes at a time (names that it expects, numbers,
// white space) ends before, at and behind that, wherever it stands, and what was left out on
// either side of it leaves no trace.
func TestAgreeWidths(t *testing.T) {
	h := newPool(t, Options{})
	for n := range 36 {
		name, digits, gap := strings.Repeat("n", n+1), strings.Repeat("7", n+1), strings.Repeat(" \n\t\r", n)[:n]
		leaf := &engine.Node{Fields: []engine.Field{{Name: name}, {Name: "drop", Drop: true}}, Rules: engine.DropNull | engine.DropEmpty | engine.DropFalse}
		for _, p := range []*engine.Program{
			{Root: leaf},
			{Root: &engine.Node{Fields: leaf.Fields, Rules: leaf.Rules, DropRest: true}},
			{Root: &engine.Node{Fields: []engine.Field{{Name: name, Node: leaf}, {Name: "drop", Node: leaf}}, Rules: leaf.Rules}},
		} {
			for _, v := range []string{digits, "-" + digits, "0." + digits, digits + "." + digits, digits + "e" + digits, digits + ".5E-1", "0" + digits, digits + ".", "-", digits + "x", `"` + digits + `"`, "null", `""`, "{}", `{"drop":1}`, `[{"drop":null,"x":` + digits + `}]`} {
				member := fmt.Sprintf(`"%s"%s:%s%s`, name, gap, gap, v)
				for _, in := range []string{
					"[{" + member + "},{" + member + "}]",
					"[" + gap + "{" + gap + member + gap + "," + gap + `"drop":1,` + member + `,"x":` + v + gap + "}" + gap + "," + gap + "{" + member + "}" + gap + "]",
					`[{"drop":` + v + "," + gap + member + "}," + gap + `{"x":null,` + gap + `"y":null` + gap + "," + member + gap + `,"drop":null}]`,
					"[{" + member + `},{"` + name + `n":1},{"` + name[1:] + `":1}]`,
					gap + "[" + v + gap + "," + gap + v + "]" + gap,
				} {
					agree(t, h, p, []byte(in), engine.Limits{})
				}
			}
		}
	}
}
