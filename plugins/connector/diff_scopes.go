package connector

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/plugins/operation"
)

// sameRequest reports whether two plans make the same requests: response headers that
// agents read, the scopes and what answers promise are no part of one.
func sameRequest(o, n json.RawMessage) bool {
	if bytes.Equal(o, n) {
		return true
	}
	return bytes.Equal(bareRequest(o), bareRequest(n))
}

func bareRequest(raw json.RawMessage) []byte {
	p, err := operation.DecodePlan(raw)
	if err != nil {
		return raw
	}
	p.Told, p.Scopes, p.Promises = nil, nil, nil
	if b := p.Body; b != nil && !strings.Contains(b.MediaType, "xml") { // an XML Schema may ask for an order
		slices.SortFunc(b.Fields, func(a, b operation.Field) int { return strings.Compare(a.Name, b.Name) })
		ordered(b.Schema)
		for i := range b.Fields {
			ordered(b.Fields[i].Schema)
		}
		if b.Arg == "" {
			b.Schema = nil // says which members are accepted, and nothing of a request
		}
	}
	b, err := json.Marshal(p)
	if err != nil {
		return raw
	}
	return b
}

// ordered puts what has no order in one: names of members, and which are required.
func ordered(s *operation.Schema) {
	if s == nil {
		return
	}
	slices.SortFunc(s.Properties, func(a, b operation.Property) int { return strings.Compare(a.Name, b.Name) })
	slices.Sort(s.Required)
	for i := range s.Properties {
		ordered(s.Properties[i].Schema)
	}
	for _, part := range slices.Concat(s.AnyOf, s.All, s.Prefix, []*operation.Schema{s.Items, s.Additional}) {
		ordered(part)
	}
}

// scopes: a token that was enough must stay enough. Which schemes are asked for is
// compared by [differ.security].
func (d *differ) scopes(was, is [][]string) {
	for _, before := range was {
		ids := schemesIn(before)
		if len(ids) == 0 {
			continue
		}
		var missing []string
		found, enough, fewer := false, false, false
		for _, now := range is {
			if !slices.Equal(schemesIn(now), ids) {
				continue
			}
			more := without(now, before)
			if !found || len(more) < len(missing) {
				missing = more
			}
			found, enough = true, enough || len(more) == 0
			fewer = fewer || len(more) == 0 && len(now) < len(before)
		}
		switch {
		case found && !enough:
			d.add(ImpactBreaking, "authentication", "it needs the scope %s now", strings.Join(missing, " and "))
		case fewer:
			d.add(ImpactSafe, "authentication", "it needs fewer scopes of %s", strings.Join(ids, " and "))
		}
	}
	for _, now := range is {
		same := func(before []string) bool { return len(without(now, before)) == 0 && len(without(before, now)) == 0 }
		other := func(before []string) bool { return slices.Equal(schemesIn(now), schemesIn(before)) }
		if len(schemesIn(now)) < len(now) && !slices.ContainsFunc(was, same) && len(is) > len(was) && slices.ContainsFunc(was, other) {
			d.add(ImpactSafe, "authentication", "the scope %s is enough too", strings.Join(without(now, schemesIn(now)), " and "))
		}
	}
}

// scopesOf are the alternatives of a plan with their scopes; of one that names no scope
// those that apply, by their schemes alone.
func scopesOf(raw json.RawMessage, security [][]string) [][]string {
	if p, err := operation.DecodePlan(raw); err == nil && p.Scopes != nil {
		return p.Scopes
	}
	out := make([][]string, len(security))
	for i := range security {
		out[i] = slices.Sorted(slices.Values(security[i]))
	}
	return out
}

// schemesIn are the ids of schemes in an alternative.
func schemesIn(alternative []string) []string {
	return slices.DeleteFunc(slices.Clone(alternative), func(s string) bool { return strings.Contains(s, " ") })
}

// without are the entries of list that are not in other.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}
