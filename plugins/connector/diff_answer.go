package connector

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/plugins/operation"
)

// output compares what is answered: what is no longer there breaks.
func (d *differ) output(at string, o, n map[string]any, depth int) {
	if depth > maxDiffDepth || jsonText(o) == jsonText(n) {
		return
	}
	switch {
	case o == nil:
		d.add(ImpactSafe, at, "the answer is described now")
		return
	case n == nil:
		d.add(ImpactBreaking, at, "the answer is no longer described")
		return
	}
	if jsonText(o["type"]) != jsonText(n["type"]) {
		impact := ImpactBreaking
		if n["type"] != nil && among(typesOf(n), typesOf(o)) {
			impact = ImpactSafe // who reads the wider one reads this
		}
		d.add(impact, at, "the type was %s, is %s", typeText(o), typeText(n))
	}
	op, np := object(o["properties"]), object(n["properties"])
	for _, name := range sortedNames(op, np) {
		where := pointerTo(at, name)
		_, before := op[name]
		_, now := np[name]
		switch {
		case before && !now:
			d.add(ImpactBreaking, where, "it is no longer answered")
		case !before:
			d.add(ImpactSafe, where, "it is answered too")
		default:
			d.output(where, object(op[name]), object(np[name]), depth+1)
		}
	}
	if a, b := object(o["items"]), object(n["items"]); a != nil && b != nil {
		d.output(at+"/items", a, b, depth+1)
	}
	if jsonText(o["description"]) != jsonText(n["description"]) {
		d.texts(ImpactWording, at, "the description changed", plainText(o["description"]), plainText(n["description"]))
	}
}

// told compares the headers of an answer that the caller reads.
func (d *differ) told(o, n json.RawMessage) {
	before, errBefore := operation.DecodePlan(o)
	now, errNow := operation.DecodePlan(n)
	if errBefore != nil || errNow != nil {
		return // an MCP server's tool has none
	}
	less, more := gone(lower(before.Told), lower(now.Told), func(string) bool { return true })
	for _, name := range less {
		d.add(ImpactBreaking, "output", "its header %s is no longer answered", name)
	}
	for _, name := range more {
		d.add(ImpactSafe, "output", "its header %s is answered too", name)
	}
	was, is := headersOf(before.Promises), headersOf(now.Promises)
	if was == nil || is == nil {
		return // connectors of earlier versions do not say
	}
	less, more = gone(was.Required, is.Required, func(name string) bool {
		return slices.Contains(lower(before.Told), name) && slices.Contains(lower(now.Told), name)
	})
	for _, name := range less {
		d.add(ImpactBreaking, "output", "its header %s may be missing now", name)
	}
	for _, name := range more {
		d.add(ImpactSafe, "output", "its header %s is always there now", name)
	}
}

// headersOf is what is promised of the headers of an answer, nil where nothing is said.
func headersOf(list []operation.Promise) *operation.Promise {
	if i := slices.IndexFunc(list, func(p operation.Promise) bool { return p.At == operation.Headers }); i >= 0 {
		return &list[i]
	}
	return nil
}

func lower(names []string) []string {
	out := slices.Clone(names)
	for i := range out {
		out[i] = strings.ToLower(out[i])
	}
	return out
}
