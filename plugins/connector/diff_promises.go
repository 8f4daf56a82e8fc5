package connector

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/plugins/operation"
)

// promises compares what answers promise beyond their published schemas: who relied on
// a member, on a value that is no null, or on the values that there are, may fail where
// less is promised. Of members that only one of the versions has, [differ.output] tells.
func (d *differ) promises(o, n json.RawMessage, was, is map[string]any) {
	before, now := promisesOf(o), promisesOf(n)
	for i := range now {
		p := &now[i]
		j := slices.IndexFunc(before, func(q operation.Promise) bool { return q.At == p.At })
		if j < 0 {
			continue
		}
		q := &before[j]
		both := func(name string) bool { return answers(was, p.At, name) && answers(is, p.At, name) }
		where := func(name string) string { return pointerTo("output"+p.At, name) }
		less, more := gone(q.Required, p.Required, both)
		for _, name := range less {
			d.add(ImpactBreaking, where(name), "it may be missing now")
		}
		for _, name := range more {
			d.add(ImpactSafe, where(name), "it is always there now")
		}
		less, more = gone(q.Null, p.Null, both)
		for _, name := range more {
			d.add(ImpactBreaking, where(name), "it may be null now")
		}
		for _, name := range less {
			d.add(ImpactSafe, where(name), "it is never null now")
		}
		for _, v := range q.Values {
			if k := slices.IndexFunc(p.Values, func(w operation.Values) bool { return w.Name == v.Name }); k >= 0 {
				d.answered(where(v.Name), v.Texts, p.Values[k].Texts)
			} else if v.Name == operation.FreeMembers {
				d.add(ImpactBreaking, where(v.Name), "members that no property names are not answered any more, or may be anything")
			} else if both(v.Name) {
				d.add(ImpactBreaking, where(v.Name), "other values than the %d may be answered now", len(v.Texts))
			}
		}
		for _, v := range p.Values {
			if !slices.ContainsFunc(q.Values, func(w operation.Values) bool { return w.Name == v.Name }) && both(v.Name) {
				d.add(ImpactSafe, where(v.Name), "only %d values are answered now", len(v.Texts))
			}
		}
	}
}

func (d *differ) answered(at string, o, n []string) {
	const shown = 5 // enough to see what it is about
	less, more := gone(o, n, func(string) bool { return true })
	if len(more) > 0 {
		d.add(ImpactBreaking, at, "values may be answered that were not: %s", strings.Join(more[:min(len(more), shown)], ", "))
	}
	if len(less) > 0 {
		d.add(ImpactSafe, at, "values are no longer answered: %s", strings.Join(less[:min(len(less), shown)], ", "))
	}
}

// gone are the names of o that n lacks, and those of n that o lacks, as far as they count.
func gone(o, n []string, counts func(string) bool) (less, more []string) {
	for _, name := range o {
		if !slices.Contains(n, name) && counts(name) {
			less = append(less, name)
		}
	}
	for _, name := range n {
		if !slices.Contains(o, name) && counts(name) {
			more = append(more, name)
		}
	}
	return less, more
}

// answers tells that a published schema has a member where a promise is of.
func answers(schema map[string]any, at, name string) bool {
	if at != "" {
		for _, token := range strings.Split(at, "/")[1:] {
			token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
			if next := object(object(schema["properties"])[token]); next != nil {
				schema = next
			} else if schema = object(schema["items"]); token != "items" {
				return false
			}
		}
	}
	_, there := object(schema["properties"])[name]
	return there
}

func promisesOf(raw json.RawMessage) []operation.Promise {
	p, err := operation.DecodePlan(raw)
	if err != nil {
		return nil // an MCP server's tool has none
	}
	return p.Promises
}
