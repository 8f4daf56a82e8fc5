package declare

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/internal/strictjson"
)

const (
	// maxPlannedChanges of one toolset; what follows is summed up in the last.
	maxPlannedChanges = 200
	// maxPlannedText of one value: enough to tell what it is.
	maxPlannedText = 200
)

// Differences lists where two JSON values differ, by pointer.
func Differences(from, to any) []PlannedChange {
	var out []PlannedChange
	compare("", from, to, &out)
	if more := len(out) - maxPlannedChanges; more > 0 {
		out = append(out[:maxPlannedChanges], PlannedChange{To: fmt.Sprintf("and %d more changes", more)})
	}
	return out
}

func compare(at string, from, to any, out *[]PlannedChange) {
	switch a := from.(type) {
	case map[string]any:
		b, ok := to.(map[string]any)
		if !ok {
			break
		}
		names := maps.Clone(a)
		maps.Copy(names, b)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			compare(at+"/"+strictjson.EscapeToken(name), member(a, name), member(b, name), out)
		}
		return
	case []any:
		b, ok := to.([]any)
		if !ok {
			break
		}
		if keyed(a) && keyed(b) {
			compareKeyed(at, a, b, out)
			return
		}
		for i := range max(len(a), len(b)) {
			compare(at+"/"+strconv.Itoa(i), element(a, i), element(b, i), out)
		}
		return
	}
	if reflect.DeepEqual(from, to) {
		return
	}
	*out = append(*out, PlannedChange{Pointer: at, From: planned(from), To: planned(to)})
}

// absent stands for a value that is not there, which null is not.
type absent struct{}

func member(m map[string]any, name string) any {
	if v, ok := m[name]; ok {
		return v
	}
	return absent{}
}

func element(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return absent{}
}

// keyed reports whether each element of a list is an edit of a tool or a connector: one
// more or less must not make all behind it look changed.
func keyed(list []any) bool {
	return !slices.ContainsFunc(list, func(v any) bool { return elementKey(v) == "" })
}

func elementKey(v any) string {
	m, _ := v.(map[string]any)
	method, _ := m["method"].(string)
	path, _ := m["path"].(string)
	name, _ := m["name"].(string)
	connector, _ := m["connector"].(string)
	switch _, isConnector := m["source"]; {
	case isConnector:
		return name
	case method == "" || path == "":
		return ""
	case connector != "":
		return method + " " + path + " of " + connector
	}
	return method + " " + path
}

// compareKeyed compares two lists by the keys of their items. The JSON pointers of a
// change are those of the document; of a removed item, those of the present state.
func compareKeyed(at string, from, to []any, out *[]PlannedChange) {
	var found []PlannedChange
	have := map[string]int{}
	for i, v := range from {
		have[elementKey(v)] = i
	}
	var order []string
	for i, v := range to {
		key := elementKey(v)
		order = append(order, key)
		old, ok := have[key]
		delete(have, key)
		if !ok {
			found = append(found, PlannedChange{Pointer: at + "/" + strconv.Itoa(i), To: planned(v)})
			continue
		}
		compare(at+"/"+strconv.Itoa(i), from[old], v, &found)
	}
	for _, i := range slices.Sorted(maps.Values(have)) {
		found = append(found, PlannedChange{Pointer: at + "/" + strconv.Itoa(i), From: planned(from[i])})
	}
	if len(found) == 0 { // the same in another order
		for i, v := range from {
			if key := elementKey(v); key != order[i] {
				found = append(found, PlannedChange{Pointer: at + "/" + strconv.Itoa(i), From: planned(key), To: planned(order[i])})
			}
		}
	}
	*out = append(*out, found...)
}

// planned is a value as a plan shows it; "" for one that is not there.
func planned(v any) string {
	if _, ok := v.(absent); ok {
		return ""
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic("BUG: a value of a document cannot be written: " + err.Error())
	}
	text, isCut := request.CutText(b, maxPlannedText)
	if isCut {
		text += "…"
	}
	return cmp.Or(text, `""`)
}
