package guest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestHostileSchemas: a schema of a plugin, and what it is held against, take no longer than
// what an answer may take.
func TestHostileSchemas(t *testing.T) {
	chain := func(depth int, link, leaf string) string {
		var b strings.Builder
		b.WriteString(`{"$ref":"#/$defs/a0","$defs":{`)
		for i := range depth {
			fmt.Fprintf(&b, `"a%d":`+link+`,`, i, i+1, i+1)
		}
		fmt.Fprintf(&b, `"a%d":%s}}`, depth, leaf)
		return b.String()
	}
	many := func(n int, item string) string { return "[" + strings.Repeat(item+",", n-1) + item + "]" }
	refs := func(n int) string {
		var b strings.Builder
		b.WriteString(`{"items":{"$ref":"#/$defs/a0"},"$defs":{`)
		for i := range n {
			fmt.Fprintf(&b, `"a%d":{"$ref":"#/$defs/a%d"},`, i, i+1)
		}
		fmt.Fprintf(&b, `"a%d":{}}}`, n)
		return b.String()
	}
	names := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(`"n%d"`, i)
		}
		return strings.Join(list, ",")
	}
	var collide strings.Builder // lists of strings, all of one hash
	for i := range 1 << 12 {
		collide.WriteString(`,["a`)
		for bit := range 12 {
			if i>>bit&1 == 1 {
				collide.WriteString(`\u0004a`)
			} else {
				collide.WriteString(`","a`)
			}
		}
		collide.WriteString(`"]`)
	}
	for name, c := range map[string]struct {
		schema, doc string
		want        error
	}{
		"allOf of allOf":             {chain(40, `{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, `{"type":"object"}`), `{}`, errCostly},
		"anyOf that fails":           {chain(40, `{"anyOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, `{"type":"string"}`), `{}`, errCostly},
		"not of anyOf":               {chain(40, `{"not":{"anyOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}}`, `false`), `{}`, errCostly},
		"by the document's depth":    {`{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"items":{"$ref":"#/$defs/a"}},{"items":{"$ref":"#/$defs/a"}}]}}}`, strings.Repeat("[", 60) + strings.Repeat("]", 60), errCostly},
		"a circle":                   {`{"$ref":"#"}`, `{}`, errCostly},
		"references in a row":        {refs(2000), many(5000, "1"), errCostly},
		"required names":             {`{"items":{"required":[` + names(20_000) + `]}}`, many(10_000, "{}"), errCostly},
		"an enum at each value":      {`{"items":{"enum":[` + names(20_000) + `]}}`, many(10_000, `""`), errCostly},
		"a pattern":                  {`{"type":"string","pattern":"((a?){500}(a?){500})(b?){500}$"}`, `"` + strings.Repeat("a", 1<<20) + `"`, errCostly},
		"patterns of members":        {`{"items":{"patternProperties":{"((a?){500}(a?){500})$":{}}}}`, many(1000, `{"`+strings.Repeat("a", 1000)+`":1}`), errCostly},
		"unique lists of one hash":   {`{"uniqueItems":true}`, "[0" + collide.String() + "]", errCostly},
		"a large exponent":           {`{"items":{"type":"integer"}}`, many(100, "1e999999"), errNumber},
		"a small exponent":           {`{"items":{"multipleOf":2}}`, many(100, "1e-999999"), errNumber},
		"an exponent of many digits": {`{"items":{"type":"integer"}}`, many(2, "1e99999999999999999999"), errNumber},
		"many digits":                {`{"type":"number"}`, strings.Repeat("1", maxDigits+1), errNumber},
		"as many as may be":          {`{"type":"number"}`, strings.Repeat("1", maxDigits), nil},
		"the last exponent":          {`{"type":"number"}`, fmt.Sprint("-1E-", maxExponent), nil},
		"one past it":                {`{"type":"number"}`, fmt.Sprint("1e+", maxExponent+1), errNumber},
		"as many values as may be":   {`{"items":{"type":"integer"}}`, many(maxValues-1, "1"), nil},
		"one past them":              {`{"items":{"type":"integer"}}`, many(maxValues, "1"), errValues},
		"a large ordinary answer":    {`{"items":{"type":"object","required":["id"],"properties":{"id":{"type":"integer"},"name":{"type":"string","pattern":"^[a-z -]{1,80}$"},"tags":{"type":"array","uniqueItems":true,"items":{"enum":["a","b","c"]}}},"additionalProperties":false}}`, many(5_000, `{"id":1,"name":"some name or other","tags":["a","b"]}`), nil},
		"schema with a large number": {`{"enum":[` + strings.Repeat("1e999999,", 1000) + `1]}`, "", errNumber},
		"a dynamic reference":        {`{"items":{"$dynamicRef":"#x"},"$defs":{"x":{"$dynamicAnchor":"x"}}}`, "", errDynamic},
	} {
		begin := time.Now()
		s, err := CompileSchema([]byte(c.schema))
		if err == nil {
			err = s.Check([]byte(c.doc))
		}
		if !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %.200v, want %v", name, err, c.want)
		}
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("%s takes %s", name, took)
		} else if took > 500*time.Millisecond {
			t.Logf("%s takes %s", name, took)
		}
	}
}

// TestFaultsSayNoValues: what is wrong with an answer is logged and shown to operators, its
// values are not.
func TestFaultsSayNoValues(t *testing.T) {
	for schema, want := range map[string]string{
		`{"pattern":"^a+$"}`: `/: does not match pattern '^a+$'`,
		`{"pattern":"^` + strings.Repeat("b", 300) + `$"}`: `…`,
		`{"minimum":70007}`:          `/: is less than the minimum 70007`,
		`{"maximum":2}`:              `/: is more than the maximum 2`,
		`{"exclusiveMinimum":70007}`: `/: is not more than 70007`,
		`{"exclusiveMaximum":2.5}`:   `/: is not less than 2.5`,
		`{"multipleOf":2}`:           `/: is not a multiple of 2`,
		`{"const":1}`:                `/: value must be 1`,
		`{"enum":["x"]}`:             `/: value must be 'x'`,
		`{"type":"array"}`:           `/: got `,
		`{"$schema":"http://json-schema.org/draft-07/schema#","format":"ipv4"}`: `is not a valid ipv4`,
	} {
		s, err := CompileSchema([]byte(schema))
		if err != nil {
			t.Fatal(err)
		}
		doc := `"secret words"`
		if strings.Contains(schema, "mum") || strings.Contains(schema, "Of") || strings.Contains(schema, "mum\"") {
			doc = "4711"
		}
		err = s.Check([]byte(doc))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "4711") || len(err.Error()) > 2*maxFault {
			t.Errorf("%.60s: %v, want %q", schema, err, want)
		}
	}
}

func TestSteps(t *testing.T) {
	const most = (maxSteps - freeSteps) / stepsPerByte
	if stepsFor(0) != freeSteps || stepsFor(most) != maxSteps || stepsFor(most-1) >= maxSteps || stepsFor(most+1) != maxSteps {
		t.Error(stepsFor(0), stepsFor(most-1), stepsFor(most), stepsFor(most+1))
	}
	c := steps{maxSteps}
	if !c.take(maxSteps) || c.take(1) {
		t.Error("another number of steps than there are")
	}
}
