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
		if p.At == operation.Headers {
			continue // as [differ.told] compares them
		}
		j := slices.IndexFunc(before, func(q operation.Promise) bool { return q.At == p.At })
		if j < 0 {
			if k := itself(p.Values); k >= 0 && placed(was, before, p.At) {
				d.add(ImpactSafe, "output"+p.At, "only %d values are answered now", len(p.Values[k].Texts))
			}
			continue
		}
		q := &before[j]
		both := func(name string) bool {
			name = bareName(name)
			return name != operation.ItsTypes && (name == operation.Itself || answers(was, p.At, name) && answers(is, p.At, name))
		}
		where := func(name string) string {
			if name == operation.Itself || name == operation.ItsTypes {
				return "output" + p.At
			}
			return pointerTo("output"+p.At, bareName(strings.TrimPrefix(name, operation.Kinds)))
		}
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
			if of, limits := strings.CutPrefix(v.Name, operation.Limits); limits {
				if of != "" && both(v.Name) {
					d.limited(where(v.Name), v, p.Values)
				}
				continue
			}
			if k := slices.IndexFunc(p.Values, func(w operation.Values) bool { return w.Name == v.Name }); k >= 0 {
				d.answered(where(v.Name), v.Name, v.Texts, p.Values[k].Texts)
			} else if v.Name == operation.FreeMembers {
				d.add(ImpactBreaking, where(v.Name), "members that no property names are not answered any more, or may be anything")
			} else if strings.HasPrefix(v.Name, operation.Formats) && both(v.Name) {
				d.add(ImpactBreaking, where(v.Name), "the format was %s, is any", v.Texts[0])
			} else if both(v.Name) {
				d.add(ImpactBreaking, where(v.Name), "other values than the %d may be answered now", len(v.Texts))
			}
		}
		for _, v := range p.Values {
			if strings.HasPrefix(v.Name, operation.Formats) || strings.HasPrefix(v.Name, operation.Limits) {
				continue // who read any text reads this; connectors of earlier versions have none
			}
			if !slices.ContainsFunc(q.Values, func(w operation.Values) bool { return w.Name == v.Name }) && both(v.Name) {
				d.add(ImpactSafe, where(v.Name), "only %d values are answered now", len(v.Texts))
			}
		}
	}
	for i := range before {
		q := &before[i]
		if k := itself(q.Values); k >= 0 && placed(is, now, q.At) && !slices.ContainsFunc(now, func(p operation.Promise) bool { return p.At == q.At }) {
			d.add(ImpactBreaking, "output"+q.At, "other values than the %d may be answered now", len(q.Values[k].Texts))
		}
	}
}

// bareName is the name of a member in that of what is promised of it.
func bareName(name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, operation.Formats), operation.Limits)
}

// limited compares the limits of an answered value with those in list: what is accepted less
// widely would break who sends it, and is safe for who reads it.
func (d *differ) limited(at string, was operation.Values, list []operation.Values) {
	var o, n operation.Schema
	k := slices.IndexFunc(list, func(v operation.Values) bool { return v.Name == was.Name })
	if k < 0 && slices.ContainsFunc(list, func(v operation.Values) bool { return v.Name == operation.Limits }) {
		return // it had no room
	}
	if k >= 0 && len(list[k].Texts) == 1 && json.Unmarshal([]byte(list[k].Texts[0]), &n) != nil || len(was.Texts) != 1 || json.Unmarshal([]byte(was.Texts[0]), &o) != nil {
		return
	}
	sent := differ{}
	sent.limit(at, "minimum", o.Min, o.XMin, n.Min, n.XMin, 1)
	sent.limit(at, "maximum", o.Max, o.XMax, n.Max, n.XMax, -1)
	sent.length(at, &o, &n)
	for _, t := range sent.details {
		d.add(map[Impact]Impact{ImpactBreaking: ImpactSafe, ImpactSafe: ImpactBreaking}[t.Impact], at, "%s", t.What)
	}
	d.differs(at, "the pattern", o.Pattern, n.Pattern, o.Pattern == "")
}

// itself is where the values of the value itself are, -1 without them.
func itself(list []operation.Values) int {
	return slices.IndexFunc(list, func(v operation.Values) bool { return v.Name == operation.Itself })
}

// answered compares the values of a name, or the types that it stands for.
func (d *differ) answered(at, name string, o, n []string) {
	const shown = 5 // enough to see what it is about
	what, impact := "values", ImpactBreaking
	if by, kinds := strings.CutPrefix(name, operation.Kinds); kinds && by != "" {
		what, impact = "alternatives", ImpactSafe // an answer of a new one is safe
	}
	if strings.HasPrefix(name, operation.Formats) {
		what = "formats"
	}
	if name == operation.FreeMembers || name == operation.ItsTypes {
		what = "types"
	}
	less, more := gone(o, n, func(string) bool { return true })
	if len(more) > 0 {
		d.add(impact, at, "%s may be answered that were not: %s", what, strings.Join(more[:min(len(more), shown)], ", "))
	}
	if len(less) > 0 {
		d.add(ImpactSafe, at, "%s are no longer answered: %s", what, strings.Join(less[:min(len(less), shown)], ", "))
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
	_, there := object(spot(schema, at)["properties"])[name]
	return there
}

// placed tells that a value is answered where a promise is of: a published schema says
// something of it, or it is any free member of an object.
func placed(schema map[string]any, list []operation.Promise, at string) bool {
	if of, free := strings.CutSuffix(at, "/"+operation.FreeMembers); free {
		return slices.ContainsFunc(list, func(p operation.Promise) bool {
			return p.At == of && slices.ContainsFunc(p.Values, func(v operation.Values) bool { return v.Name == operation.FreeMembers })
		})
	}
	return spot(schema, at) != nil
}

// spot is the part of a published schema where a promise is of, nil where it has none.
func spot(schema map[string]any, at string) map[string]any {
	if at == "" {
		return schema
	}
	for _, token := range strings.Split(at, "/")[1:] {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		if next := object(object(schema["properties"])[token]); next != nil {
			schema = next
		} else if schema = object(schema["items"]); token != "items" {
			return nil
		}
	}
	return schema
}

func promisesOf(raw json.RawMessage) []operation.Promise {
	p, err := operation.DecodePlan(raw)
	if err != nil {
		return nil // an MCP server's tool has none
	}
	return p.Promises
}
