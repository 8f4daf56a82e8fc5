package openapi

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/operation"
)

// fact counts one kind of what authors declare of values beside examples.
type fact struct {
	declared, told int
	missing        []string
}

func (f *fact) add(id string, o *fact) {
	f.declared, f.told = f.declared+o.declared, f.told+o.told
	for _, m := range o.missing {
		f.missing = append(f.missing, id+" "+m)
	}
}

func (c *textCount) fact(kind string) *fact {
	if c.facts[kind] == nil {
		c.facts[kind] = &fact{}
	}
	return c.facts[kind]
}

// formatWords are words of which a text has one that names a format.
var formatWords = map[string][]string{
	"date": {"date", "yyyy"}, "time": {"time", "hh:"}, "uuid": {"uuid", "guid"}, "email": {"mail"}, "uri": {"url", "uri", "link"}, "url": {"url", "uri", "link"},
	"duration": {"duration", "8601"}, "byte": {"base64"}, "base64": {"base64"}, "ipv4": {"ip"}, "ipv6": {"ip"}, "binary": {"file", "base64", "content", "binary"},
	"hostname": {"host", "domain"}, "decimal": {"decimal"},
}

// units are what numbers are counted in, and standards what texts follow. A duration in
// the description of a text is most often about something else.
var (
	units     = regexp.MustCompile(`(?i)\b(milliseconds?|seconds?|minutes?|hours?|days|bytes|kilobytes?|megabytes?|gigabytes?|[kmg]i?b|cents|percent(?:age)?|pixels|met(?:er|re)s|kilomet(?:er|re)s|degrees|epoch|unix time(?:stamp)?)\b`)
	standards = regexp.MustCompile(`(?i)\b(utc|iso[- ]?[0-9]{3,5}|rfc[- ]?[0-9]{4}|e\.164|bcp[- ]?47|base64|epoch|unix time(?:stamp)?)\b`)
)

// typed looks for the type of one value, described or not.
func (c *textCount) typed(where string, schema sourceNode, pub map[string]any) {
	if schema.get("type").str() == "" {
		return
	}
	f := c.fact("types")
	f.declared++
	if pub["type"] != nil || pub["anyOf"] != nil {
		f.told++
		return
	}
	f.missing = append(f.missing, where+": "+schema.get("type").str())
}

// tell looks for facts about one value in what is published.
func (c *textCount) tell(where, said string, schema sourceNode, pub map[string]any) {
	b, err := json.Marshal(pub)
	if err != nil {
		return
	}
	all := strings.ToLower(string(b))
	count := func(kind string, told bool, what string) {
		f := c.fact(kind)
		f.declared++
		if told {
			f.told++
		} else {
			f.missing = append(f.missing, where+": "+what+" | "+string(b))
		}
	}
	if words := formatWords[schema.get("format").str()]; words != nil && pub["enum"] == nil {
		told := false
		for _, w := range words {
			told = told || strings.Contains(all, w) || strings.Contains(strings.ToLower(where[strings.LastIndexByte(where, ' ')+1:]), w)
		}
		count("formats", told, schema.get("format").str())
	} else if schema.get("format").str() == "date-time" {
		count("formats", strings.Contains(all, "date-time"), "date-time")
	}
	if values := schema.get("enum").list(); len(values) > 0 && len(values) <= maxEnumValues && pub["type"] != "boolean" {
		told := true
		for _, v := range values {
			if v.v == nil || v.str() == "" && pub["type"] == "string" {
				continue
			}
			q, _ := json.Marshal(v.v)
			told = told && strings.Contains(all, strings.ToLower(strings.Trim(string(q), `"`)))
		}
		count("allowed values", told, "enum")
	}
	about := standards
	if pub["type"] == "integer" || pub["type"] == "number" {
		about = units
	}
	if u := about.FindString(said); u != "" && pub["format"] == nil {
		count("units", strings.Contains(all, strings.ToLower(u)), u+" in "+said)
	}
	for _, k := range []string{"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern"} {
		v := schema.get(k)
		if !v.exists() || strings.HasPrefix(k, "min") && exampleWords(v.v) == "0" || strings.HasSuffix(k, "Length") && (pub["enum"] != nil || pub["type"] != "string") {
			continue
		}
		if n, ok := v.v.(json.Number); ok {
			if f, err := n.Float64(); err != nil || f > 1<<30 || f < -1<<30 {
				continue // what generators write for "no bound"
			}
		}
		if k == "pattern" && (pub["enum"] != nil || len(v.str()) > maxPattern) {
			continue
		}
		count("bounds", pub[k] != nil || k == "pattern" && strings.Contains(all, "matches"), k)
	}
	if v := schema.get("default"); v.exists() && exampleWords(v.v) != "" && len(exampleWords(v.v)) < maxDefault {
		count("defaults", pub["default"] != nil || strings.Contains(all, strings.ToLower(exampleWords(v.v))), "default "+exampleWords(v.v))
	}
}

var (
	// boilerplate is what an answer's description says of every answer.
	boilerplate = regexp.MustCompile(`(?i)Returns: (ok|success(ful(ly)?)?|the request (has )?succeeded|(a )?successful (operation|response|request)|default response|response|200|no content|expected response to a valid request)( - the request has succeeded)?\.?$`)
	// clipped are words of names that lost more than their plural.
	clipped = regexp.MustCompile(`(^|_)(statu(se)?|alia(se)?|addr(es|esse)|o_auth|processe|classe|boxe|matche|branche|batche|searche|bonu|analysi|basi|acces|viru|campu|kubernete|categorie|companie|entitie|policie|indexe|serie|specie)(_|$)`)
)

// siblings tells what is wrong with the texts of the tools of one API beside each other,
// and with their names.
func siblings(ops []*operation.Operation) (faults []string) {
	seen := map[string]string{}
	for _, op := range ops {
		if other, twice := seen[op.Description]; twice {
			faults = append(faults, op.Name+" and "+other+" have one description: "+op.Description)
		}
		seen[op.Description] = op.Name
		if boilerplate.MatchString(op.Description) {
			faults = append(faults, op.Name+" says nothing of its answer: "+op.Description)
		}
		if clipped.MatchString(op.Name) {
			faults = append(faults, op.Name+" is not a word")
		}
	}
	return faults
}

// TestSiblings: tools whose authors gave them one text, empty words for their answers and
// plurals that no rule makes have texts and names of their own.
func TestSiblings(t *testing.T) {
	var doc strings.Builder
	doc.WriteString(`{"openapi":"3.1.0","info":{"title":"a","version":"1"},"servers":[{"url":"https://a.example"}],"paths":{`)
	for i, id := range []string{"getAliases", "listStatuses", "createOAuthProcess", "deleteAddresses", "getSeries", "getAddress", "checkStatus", "", "-"} {
		if i > 0 {
			doc.WriteByte(',')
		}
		doc.WriteString(`"/a` + strconv.Itoa(i) + `":{"get":{"operationId":"` + id + `","summary":"Does it","description":"Does it with care.","responses":{"200":{"description":"OK - the request has succeeded."}}},` +
			`"post":{"summary":"Does it","responses":{"200":{"description":"Successful operation"}}}}`)
	}
	doc.WriteString(`}}`)
	_, ops := compileAll(t, Source{Name: "a.json", Data: []byte(doc.String())}, Options{})
	if len(ops) != 18 {
		t.Fatalf("%d tools", len(ops))
	}
	for _, fault := range siblings(ops) {
		t.Error(fault)
	}
	bad := []*operation.Operation{
		{Name: "get_aliase", Description: "One."}, {Name: "list_a", Description: "One."}, {Name: "list_b", Description: "Lists. Returns: OK - the request has succeeded."},
	}
	if got := siblings(bad); len(got) != 3 {
		t.Errorf("%q", got)
	}
}
