package arazzo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicegate/sluice/plugins/arazzo"
)

// shop answers calls of a small API from memory and remembers them.
type shop struct {
	mu    sync.Mutex
	calls []string
	tries map[string]int
	// together, when set, makes each call of the operation "part" wait until that many are there.
	together *sync.WaitGroup
}

func (s *shop) Call(ctx context.Context, c *arazzo.Call) (*arazzo.Response, error) {
	body := ""
	if c.HasBody {
		text, err := json.Marshal(c.Body)
		if err != nil {
			return nil, err
		}
		body = " " + string(text)
	}
	var parameters strings.Builder
	for _, p := range c.Parameters {
		fmt.Fprintf(&parameters, " %s:%s=%v", p.In, p.Name, p.Value)
	}
	s.mu.Lock()
	if s.tries == nil {
		s.tries = map[string]int{}
	}
	s.tries[c.Operation]++
	try := s.tries[c.Operation]
	s.calls = append(s.calls, c.Operation+parameters.String()+body)
	s.mu.Unlock()
	header := http.Header{"Content-Type": {"application/json"}, "X-Page": {"7"}}
	r := &arazzo.Response{URL: "http://shop.test/x", Method: "GET", Status: 200, Header: header.Get}
	answer := `{"id":12345678901234567890,"name":"Rex","tags":[{"n":"a"},{"n":"b"}],"pets":[{"id":7,"price":3},{"id":8,"price":9}]}`
	switch c.Operation {
	case "part":
		if s.together != nil {
			s.together.Done()
			s.together.Wait()
		}
	case "flaky": // well at the third try
		if try < 3 {
			r.Status, r.Error, answer = 503, "HTTP 503", `{"why":"busy"}`
		}
	case "missing":
		r.Status, r.Error, answer = 404, "HTTP 404", `{"title":"not here"}`
	case "hang":
		<-ctx.Done()
		return nil, ctx.Err()
	case "broken":
		return nil, errors.New("the caller broke")
	case "unreachable":
		r.Status, r.Error = 0, "nobody answers"
	}
	v, err := arazzo.Decode([]byte(answer))
	r.Body = v
	return r, err
}

// document puts workflows around steps.
func document(steps string) string {
	if strings.Contains(steps, "workflowId:") && strings.HasPrefix(strings.TrimSpace(steps), "- workflowId:") {
		return "arazzo: 1.0.1\ninfo: {title: T, version: '1'}\nsourceDescriptions: [{name: shop, url: shop.yaml, type: openapi}]\nworkflows:\n" + steps
	}
	return document("- workflowId: w\n  inputs: {type: object, properties: {n: {type: integer}, size: {type: string, default: small}, list: {type: array}}}\n" + indent(steps))
}

func indent(s string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n  ") + "\n"
}

// reads are the operations of the tests that change nothing.
var reads = []string{"get", "part", "missing", "hang", "broken", "unreachable", "{$sourceDescriptions.shop.url}#/paths/~1pets~1{id}/get"}

func plan(t testing.TB, doc string) *arazzo.Plan {
	t.Helper()
	d, err := arazzo.Parse("t.yaml", []byte(doc))
	if err != nil {
		t.Fatalf("%s\n%s", told(err), doc)
	}
	operations := map[string]arazzo.Operation{}
	for _, s := range d.Operations() {
		operations[s.Operation] = arazzo.Operation{Tool: s.Operation, Method: "GET", Path: "/" + s.Operation, ReadOnly: slices.Contains(reads, s.Operation)}
	}
	p, err := d.Plan(operations)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestFeatures is the table of what of the specification is supported: docs/workflows.md
// names these rows.
func TestFeatures(t *testing.T) {
	get := "steps:\n- {stepId: a, operationId: get, %s}\noutputs: {o: $steps.a.outputs.o}"
	one := func(rest string) string { return fmt.Sprintf(get, rest) }
	criterion := func(c string) string {
		return one("successCriteria: [" + c + "], outputs: {o: $statusCode}")
	}
	tests := []struct {
		name, steps, inputs string
		outputs, failure    string
		calls               []string
	}{
		{
			name: "inputs", steps: one("parameters: [{name: n, in: query, value: $inputs.n}], outputs: {o: $inputs.n}"), inputs: `{"n":12345678901234567890}`,
			outputs: `{"o":12345678901234567890}`, calls: []string{"get query:n=12345678901234567890"},
		},
		{name: "default of an input", steps: one("outputs: {o: $inputs.size}"), outputs: `{"o":"small"}`},
		{name: "item of an input", steps: one("outputs: {o: '$inputs.list[1].a'}"), inputs: `{"list":[0,{"a":"x"}]}`, outputs: `{"o":"x"}`},
		{
			name: "expressions in text", steps: one("parameters: [{name: q, in: query, value: 'id={$inputs.n}, {x} $5'}], outputs: {o: $statusCode}"), inputs: `{"n":4}`,
			outputs: `{"o":200}`, calls: []string{"get query:q=id=4, {x} $5"},
		},
		{name: "$url, $method, $statusCode", steps: one("outputs: {o: '{$method} {$url} {$statusCode}'}"), outputs: `{"o":"GET http://shop.test/x 200"}`},
		{
			name: "$request", steps: one("parameters: [{name: X-A, in: header, value: b}, {name: q, in: query, value: c}, {name: i, in: path, value: d}], outputs: {o: '{$request.header.x-a}{$request.query.q}{$request.path.i}'}"),
			outputs: `{"o":"bcd"}`,
		},
		{name: "$request.body", steps: one("requestBody: {payload: {a: [1, {b: 2}]}}, outputs: {o: '$request.body#/a/1/b'}"), outputs: `{"o":2}`},
		{name: "$response.header without regard to case", steps: one("outputs: {o: $response.header.x-pAGe}"), outputs: `{"o":"7"}`},
		{
			name: "$response.body", steps: one("outputs: {o: $response.body}"),
			outputs: `{"o":{"id":12345678901234567890,"name":"Rex","pets":[{"id":7,"price":3},{"id":8,"price":9}],"tags":[{"n":"a"},{"n":"b"}]}}`,
		},
		{
			name: "null in text", steps: one("parameters: [{name: q, in: query, value: 'a={$response.body#/x}{$inputs.n}'}], outputs: {o: $statusCode}"),
			outputs: `{"o":200}`, calls: []string{"get query:q=a=nullnull"},
		},
		{
			name: "name with dots", steps: "steps:\n- {stepId: a, operationId: get, outputs: {x: $statusCode, x.y: $response.body}}\noutputs: {o: '{$steps.a.outputs.x.y.name}{$steps.a.outputs.x.y#/tags/0/n}{$steps.a.outputs.x}'}",
			outputs: `{"o":"Rexa200"}`,
		},
		{name: "$sourceDescriptions of a type", steps: one("outputs: {o: '{$sourceDescriptions.shop.url}{$sourceDescriptions.shop.type}'}"), outputs: `{"o":"shop.yamlopenapi"}`},
		{name: "JSON pointer", steps: one("outputs: {o: '$response.body#/tags/1/n'}"), outputs: `{"o":"b"}`},
		{name: "JSON pointer to nothing", steps: one("outputs: {o: '$response.body#/tags/9/n'}"), outputs: `{"o":null}`},
		{name: "members by dots", steps: one("outputs: {o: '$response.body.tags[0].n'}"), outputs: `{"o":"a"}`},
		{
			name: "$steps", steps: "steps:\n- {stepId: a, operationId: get, outputs: {x: $response.body}}\n- {stepId: b, operationId: get, parameters: [{name: n, in: path, value: '$steps.a.outputs.x#/name'}]}\noutputs: {o: $steps.a.outputs.x.name}",
			outputs: `{"o":"Rex"}`, calls: []string{"get", "get path:n=Rex"},
		},
		{name: "$sourceDescriptions", steps: one("outputs: {o: $sourceDescriptions.shop.url}"), outputs: `{"o":"shop.yaml"}`},
		{
			name: "operationPath", steps: "steps:\n- {stepId: a, operationPath: '{$sourceDescriptions.shop.url}#/paths/~1pets~1{id}/get'}", outputs: `{}`,
			calls: []string{"{$sourceDescriptions.shop.url}#/paths/~1pets~1{id}/get"},
		},
		{
			name: "parameters of the workflow", steps: "parameters: [{name: A, in: header, value: all}, {name: B, in: header, value: all}]\nsteps:\n- {stepId: a, operationId: get, parameters: [{name: a, in: header, value: own}]}",
			outputs: `{}`, calls: []string{"get header:a=own header:B=all"},
		},
		{
			name: "replacements", steps: "steps:\n- {stepId: a, operationId: put, requestBody: {payload: {a: [1, 2], b: x}, replacements: [{target: /a/1, value: $inputs.n}, {target: /c, value: {d: 1}}]}}", inputs: `{"n":5}`,
			outputs: `{}`, calls: []string{`put {"a":[1,5],"b":"x","c":{"d":1}}`},
		},
		{name: "replacement of nothing", steps: "steps:\n- {stepId: a, operationId: put, requestBody: {payload: {a: 1}, replacements: [{target: /x/y, value: 1}]}}", failure: `the body has nothing at "/x/y"`},
		{name: "payload as XML text", steps: "steps:\n- {stepId: a, operationId: put, requestBody: {contentType: application/xml, payload: '<a n=\"{$inputs.n}\">{$inputs.size}</a>'}}", inputs: `{"n":5,"size":"</a>&\""}`, outputs: `{}`, calls: []string{`put "\u003ca n=\"5\"\u003e\u0026lt;/a\u0026gt;\u0026amp;\u0026#34;\u003c/a\u003e"`}},
		{name: "payload as JSON text", steps: "steps:\n- {stepId: a, operationId: put, requestBody: {contentType: application/json, payload: '{\"a\": {$inputs.n}}'}}", inputs: `{"n":5}`, outputs: `{}`, calls: []string{`put {"a":5}`}},
		{
			name: "quotes in a payload as JSON text", steps: "steps:\n- {stepId: a, operationId: put, requestBody: {payload: '{\"a\": \"<{$inputs.size}> {$inputs.list}\", \"b\": {$inputs.list}, \"c\": {$inputs.n}}'}}", inputs: `{"size":"x\",\"admin\":true,\"y\":\"\\","list":["z"]}`,
			outputs: `{}`, calls: []string{`put {"a":"\u003cx\",\"admin\":true,\"y\":\"\\\u003e [\"z\"]","b":["z"],"c":null}`},
		},
		{
			name: "replacements by JSONPath", steps: "steps:\n- {stepId: a, operationId: put, requestBody: {payload: {l: [{k: x, n: 1}, {k: y, n: 2}, {k: x, n: 3}]}, replacements: [{target: \"$.l[?@.k == 'x'].n\", targetSelectorType: jsonpath, value: $inputs.n}, {target: '$.l[-1].k', targetSelectorType: {type: jsonpath, version: rfc9535}, value: z}]}}", inputs: `{"n":5}`,
			outputs: `{}`, calls: []string{`put {"l":[{"k":"x","n":5},{"k":"y","n":2},{"k":"z","n":5}]}`},
		},
		{
			name: "replacements by JSONPath of many kinds", steps: "steps:\n- {stepId: a, operationId: put, requestBody: {payload: {a: [1, 2, 3, 4], b: {c: {d: 1}}, e: {d: {d: 2}}}, replacements: [{target: '$.a[1:3]', targetSelectorType: jsonpath, value: 0}, {target: '$..d', targetSelectorType: jsonpath, value: s}, {target: \"$.b['c']\", targetSelectorType: jsonpath, value: t}, {target: '$.e[*]', targetSelectorType: jsonpath, value: u}]}}",
			outputs: `{}`, calls: []string{`put {"a":[1,0,0,4],"b":{"c":"t"},"e":{"d":"u"}}`},
		},
		{name: "replacement by JSONPath of nothing", steps: "steps:\n- {stepId: a, operationId: put, requestBody: {payload: {a: 1}, replacements: [{target: '$.b', targetSelectorType: jsonpath, value: 1}]}}", failure: `the body has nothing at "$.b"`},
		{
			name: "payload as form text", steps: "steps:\n- {stepId: a, operationId: put, requestBody: {contentType: application/x-www-form-urlencoded, payload: 'a=1&b=x%20y&b=z', replacements: [{target: /a, value: 2}]}}",
			outputs: `{}`, calls: []string{`put {"a":2,"b":["x y","z"]}`},
		},

		{name: "==", steps: criterion("{condition: $statusCode == 200}"), outputs: `{"o":200}`},
		{name: "text without regard to case", steps: criterion("{condition: \"$response.body#/name == 'REX'\"}"), outputs: `{"o":200}`},
		{name: "numbers beyond float64", steps: criterion("{condition: $response.body#/id == 12345678901234567891}"), failure: "is not met"},
		{name: "&& || ! ()", steps: criterion("{condition: '!($statusCode != 200) && ($statusCode > 299 || $statusCode <= 200)'}"), outputs: `{"o":200}`},
		{name: "&& binds closer than ||", steps: criterion("{condition: 'true || true && false'}"), outputs: `{"o":200}`},
		{name: "not met", steps: criterion("{condition: '$statusCode == 200 && $response.body#/nothing'}"), failure: "step a of workflow w failed: the criterion $statusCode == 200 && $response.body#/nothing is not met (HTTP status 200)"},
		{name: "null", steps: criterion("{condition: '$response.body#/nothing == null'}"), outputs: `{"o":200}`},
		{name: "regex", steps: criterion("{context: $statusCode, condition: '^2\\d\\d$', type: regex}"), outputs: `{"o":200}`},
		{name: "regex of nothing", steps: criterion("{context: $response.body#/nothing, condition: '.*', type: regex}"), failure: "is not met"},
		{name: "expressions in a regex", steps: criterion("{context: $response.body#/name, condition: '^({$inputs.size}|{$inputs.n})$', type: regex}"), inputs: `{"size":"R.x","n":1}`, outputs: `{"o":200}`},
		{name: "expressions that make no regex", steps: criterion("{context: $response.body#/name, condition: '^({$inputs.size})$', type: regex}"), inputs: `{"size":"("}`, failure: `the condition cannot be read: it became "^(()$"`},
		{name: "expressions in a jsonpath", steps: criterion("{context: $response.body, condition: '$.pets[?@.price == {$inputs.n} && @.id == 8]', type: jsonpath}"), inputs: `{"n":9}`, outputs: `{"o":200}`},
		{name: "expressions in a jsonpath not met", steps: criterion("{context: $response.body, condition: '$.pets[?@.price == {$inputs.n}]', type: jsonpath}"), inputs: `{"n":10}`, failure: "is not met"},
		{name: "jsonpath of nothing", steps: criterion("{context: $response.body#/nothing, condition: '$', type: jsonpath}"), failure: "is not met"},
		{name: "an action whose condition is none is not taken", steps: "steps:\n- {stepId: a, operationId: get, onSuccess: [{name: e, type: end, criteria: [{context: $statusCode, condition: '{$inputs.size}', type: regex}]}]}\n- {stepId: b, operationId: get}", inputs: `{"size":"("}`, outputs: `{}`, calls: []string{"get", "get"}},
		{name: "texts of numbers are ordered as numbers", steps: criterion("{condition: \"$response.header.x-page < '10' && '10' > $response.header.x-page\"}"), outputs: `{"o":200}`},
		{name: "null is ordered with nothing", steps: criterion("{condition: '!($response.body#/nothing < 1) && !($response.body#/nothing >= null) && $response.body#/name != null'}"), outputs: `{"o":200}`},
		{name: "quotes in a condition", steps: criterion("{condition: \"'it''s' == 'IT''S'\"}"), outputs: `{"o":200}`},
		{name: "jsonpath", steps: criterion("{context: $response.body, condition: '$.pets[?@.price > 5]', type: jsonpath}"), outputs: `{"o":200}`},
		{name: "jsonpath not met", steps: criterion("{context: $response.body, condition: '$.pets[?@.price > 50]', type: {type: jsonpath, version: rfc9535}}"), failure: "is not met"},
		{name: "jsonpath with a filter about the object itself", steps: criterion("{context: $response.body, condition: '$[?count(@.pets[*]) == 2]', type: jsonpath}"), outputs: `{"o":200}`},
		{name: "an error is a failure without criteria", steps: "steps: [{stepId: a, operationId: missing}]", failure: "step a of workflow w failed: HTTP 404"},
		{name: "an error that criteria expect", steps: "steps: [{stepId: a, operationId: missing, successCriteria: [{condition: $statusCode == 404}], outputs: {o: $response.body#/title}}]\noutputs: {o: $steps.a.outputs.o}", outputs: `{"o":"not here"}`},
		{name: "no answer", steps: "steps: [{stepId: a, operationId: unreachable, successCriteria: [{condition: $statusCode != 500}]}]", failure: "nobody answers"},

		{
			name: "onSuccess end", steps: "steps:\n- {stepId: a, operationId: get, onSuccess: [{name: e, type: end}], outputs: {o: $statusCode}}\n- {stepId: b, operationId: missing}\noutputs: {o: $steps.a.outputs.o}",
			outputs: `{"o":200}`, calls: []string{"get"},
		},
		{
			name: "onSuccess goto with criteria", steps: "steps:\n- {stepId: a, operationId: get, onSuccess: [{name: x, type: end, criteria: [{condition: $statusCode == 500}]}, {name: g, type: goto, stepId: c}]}\n- {stepId: b, operationId: missing}\n- {stepId: c, operationId: get}",
			outputs: `{}`, calls: []string{"get", "get"},
		},
		{name: "onFailure goto", steps: "steps:\n- {stepId: a, operationId: missing, onFailure: [{name: g, type: goto, stepId: c}]}\n- {stepId: b, operationId: broken}\n- {stepId: c, operationId: get}", outputs: `{}`, calls: []string{"missing", "get"}},
		{
			name: "$statusCode of a step that runs a workflow", steps: "- workflowId: w\n  steps:\n  - {stepId: a, workflowId: v, successCriteria: [{condition: $statusCode == 200}], outputs: {o: $outputs.x}}\n  outputs: {o: $steps.a.outputs.o}\n- workflowId: v\n  steps: [{stepId: b, operationId: get, outputs: {x: $response.body#/name}}]\n  outputs: {x: $steps.b.outputs.x}",
			outputs: `{"o":"Rex"}`, calls: []string{"get"},
		},
		{name: "onFailure end", steps: "steps:\n- {stepId: a, operationId: missing, onFailure: [{name: stop, type: end}]}", failure: "the action stop ended the workflow"},
		{
			name: "retry", steps: "steps:\n- {stepId: a, operationId: flaky, onFailure: [{name: r, type: retry, retryAfter: 0.001, retryLimit: 5, criteria: [{condition: $statusCode == 503}]}], outputs: {o: $statusCode}}\noutputs: {o: $steps.a.outputs.o}",
			outputs: `{"o":200}`, calls: []string{"flaky", "flaky", "flaky"},
		},
		{
			name: "retries are exhausted, then the next action", steps: "steps:\n- {stepId: a, operationId: flaky, onFailure: [{name: r, type: retry}, {name: g, type: goto, stepId: b}]}\n- {stepId: b, operationId: get}",
			outputs: `{}`, calls: []string{"flaky", "flaky", "get"},
		},
		{
			name: "retry runs a step first", steps: "steps:\n- {stepId: a, operationId: flaky, onFailure: [{name: r, type: retry, stepId: b, retryLimit: 2}]}\n- {stepId: b, operationId: get}",
			outputs: `{}`, calls: []string{"flaky", "get", "flaky", "get", "flaky", "get"},
		},
		{name: "actions of the workflow", steps: "failureActions: [{name: r, type: retry, retryLimit: 2}]\nsteps:\n- {stepId: a, operationId: flaky}", outputs: `{}`, calls: []string{"flaky", "flaky", "flaky"}},
		{name: "actions of a step hide those of the workflow", steps: "failureActions: [{name: r, type: retry, retryLimit: 2}]\nsteps:\n- {stepId: a, operationId: flaky, onFailure: [{name: r, type: end}]}", failure: "the action r ended", calls: []string{"flaky"}},
		{name: "success actions of the workflow", steps: "successActions: [{name: e, type: end}]\nsteps:\n- {stepId: a, operationId: get}\n- {stepId: b, operationId: missing}", outputs: `{}`, calls: []string{"get"}},

		{
			name: "nested workflow", steps: "- workflowId: w\n  steps:\n  - {stepId: a, workflowId: inner, parameters: [{name: n, value: 3}], outputs: {o: $outputs.x}}\n  outputs: {o: $steps.a.outputs.o, all: $steps.a.outputs.x}\n- workflowId: inner\n  inputs: {type: object, properties: {n: {type: integer}}}\n  steps: [{stepId: i, operationId: get, parameters: [{name: n, in: query, value: $inputs.n}]}]\n  outputs: {x: '{$inputs.n}!'}",
			outputs: `{"o":"3!","all":"3!"}`, calls: []string{"get query:n=3"},
		},
		{
			name: "parameters with in are inputs of a nested workflow", steps: "- workflowId: w\n  parameters: [{name: m, in: header, value: 4}, {name: other, in: header, value: 5}]\n  steps:\n  - {stepId: a, workflowId: inner, parameters: [{name: n, in: query, value: 3}], outputs: {o: $outputs.x}}\n  outputs: {o: $steps.a.outputs.o}\n- workflowId: inner\n  inputs: {type: object, properties: {n: {type: integer}, m: {type: integer}}}\n  steps: [{stepId: i, operationId: get}]\n  outputs: {x: '{$inputs.n}{$inputs.m}{$inputs.other}'}",
			outputs: `{"o":"34null"}`,
		},
		{
			name: "dependsOn of a step of another workflow", steps: "- workflowId: w\n  steps:\n  - {stepId: a, operationId: get, dependsOn: [$workflows.inner.steps.i]}\n  - {stepId: b, workflowId: inner}\n- workflowId: inner\n  steps: [{stepId: i, operationId: put}]",
			outputs: `{}`, calls: []string{"put", "get"},
		},
		{name: "failure of a nested workflow", steps: "- workflowId: w\n  steps: [{stepId: a, workflowId: inner}]\n- workflowId: inner\n  steps: [{stepId: i, operationId: missing}]", failure: "step a of workflow w failed: step i of workflow inner failed: HTTP 404"},
		{
			name: "goto a workflow", steps: "- workflowId: w\n  inputs: {type: object, properties: {n: {}}}\n  steps: [{stepId: a, operationId: get, onSuccess: [{name: g, type: goto, workflowId: inner}]}]\n- workflowId: inner\n  inputs: {type: object, properties: {n: {}}}\n  steps: [{stepId: i, operationId: get}]\n  outputs: {o: $inputs.n}",
			inputs: `{"n":1}`, outputs: `{"o":1}`, calls: []string{"get", "get"},
		},
		{
			name: "dependsOn of a workflow", steps: "- workflowId: w\n  dependsOn: [first]\n  steps: [{stepId: a, operationId: get, parameters: [{name: x, in: query, value: $workflows.first.outputs.s}]}]\n- workflowId: first\n  steps: [{stepId: i, operationId: put, outputs: {s: $statusCode}}]\n  outputs: {s: $steps.i.outputs.s}",
			outputs: `{}`, calls: []string{"put", "get query:x=200"},
		},
		{
			name: "outputs of a workflow make it run before", steps: "- workflowId: w\n  steps: [{stepId: a, operationId: get, parameters: [{name: x, in: query, value: $workflows.first.outputs.s}]}]\n- workflowId: first\n  steps: [{stepId: i, operationId: put}]\n  outputs: {s: done}",
			outputs: `{}`, calls: []string{"put", "get query:x=done"},
		},
		{
			name: "components", steps: "- workflowId: w\n  inputs: {$ref: '#/components/inputs/in'}\n  steps:\n  - {stepId: a, operationId: flaky, parameters: [{reference: $components.parameters.page}, {reference: $components.parameters.size, value: 9}], onFailure: [{reference: $components.failureActions.again}], onSuccess: [{reference: $components.successActions.stop}]}\n  - {stepId: b, operationId: broken}\n  outputs: {o: $inputs.k}\n" +
				"components:\n  inputs: {in: {type: object, properties: {k: {$ref: '#/components/inputs/key'}}}, key: {type: string, default: v}}\n  parameters: {page: {name: page, in: query, value: 1}, size: {name: size, in: query, value: 2}}\n  failureActions: {again: {name: r, type: retry, retryLimit: 2}}\n  successActions: {stop: {name: s, type: end}}\n",
			outputs: `{"o":"v"}`, calls: []string{"flaky query:page=1 query:size=9", "flaky query:page=1 query:size=9", "flaky query:page=1 query:size=9"},
		},
		{name: "selector of 1.1", steps: one("outputs: {o: {context: $response.body, selector: '$.pets[?@.price > 5].id', type: jsonpath}}"), outputs: `{"o":[8]}`},
		{name: "selector with a JSON pointer", steps: one("outputs: {o: {context: $response.body, selector: /pets/0/id, type: jsonpointer}}"), outputs: `{"o":7}`},
		{name: "timeout of a step", steps: "steps: [{stepId: a, operationId: hang, timeout: 5}]", failure: "it took longer than 5ms"},
		{name: "a retry that the deadline does not allow", steps: "steps: [{stepId: a, operationId: missing, onFailure: [{name: r, type: retry, retryAfter: 500}]}]", failure: "it is to be retried in 8m20s, and the call ends before"},
		{name: "comparison with a step of the past", steps: "steps:\n- {stepId: a, operationId: get, outputs: {id: $response.body#/id}}\n- {stepId: b, operationId: get, successCriteria: [{condition: $response.body#/id == $steps.a.outputs.id}]}", outputs: `{}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			inputs := map[string]any{}
			if tt.inputs != "" {
				v, err := arazzo.Decode([]byte(tt.inputs))
				if err != nil {
					t.Fatal(err)
				}
				inputs = v.(map[string]any)
			}
			s := &shop{}
			got, err := plan(t, document(tt.steps)).Run(ctx, "w", inputs, s)
			if err != nil {
				t.Fatal(err)
			}
			if tt.failure != "" {
				if got.Failure == nil || !strings.Contains(got.Failure.Error(), tt.failure) {
					t.Fatalf("failure %v, want %s", got.Failure, tt.failure)
				}
			} else if got.Failure != nil {
				t.Fatal(got.Failure)
			}
			if text, err := got.MarshalOutputs(); tt.outputs != "" && (err != nil || string(text) != tt.outputs) {
				t.Errorf("outputs %s, want %s (%v)", text, tt.outputs, err)
			}
			if tt.calls != nil && !slices.Equal(s.calls, tt.calls) {
				t.Errorf("calls %q, want %q", s.calls, tt.calls)
			}
		})
	}
}

// TestSelf: $self of 1.1 is the address that the document gives itself, and null without one.
func TestSelf(t *testing.T) {
	doc := document("steps: [{stepId: a, operationId: get}]\noutputs: {o: $self}")
	for want, doc := range map[string]string{
		`{"o":null}`:                            doc,
		`{"o":"https://shop.test/flow.arazzo"}`: strings.Replace(doc, "arazzo: 1.0.1", "arazzo: 1.1.0\n$self: https://shop.test/flow.arazzo", 1),
	} {
		got, err := plan(t, doc).Run(t.Context(), "w", nil, &shop{})
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := got.MarshalOutputs(); string(text) != want {
			t.Errorf("outputs %s, want %s", text, want)
		}
	}
}

// TestReplacedPlaces: a replacement by JSONPath fills so many places of a body, and not one
// more.
func TestReplacedPlaces(t *testing.T) {
	doc := document("steps: [{stepId: a, operationId: put, requestBody: {payload: {l: $inputs.list}, replacements: [{target: '$.l[*]', targetSelectorType: jsonpath, value: 1}]}}]")
	for _, n := range []int{arazzo.MaxReplaced, arazzo.MaxReplaced + 1} {
		list := make([]any, n)
		got, err := plan(t, doc).Run(t.Context(), "w", map[string]any{"list": list}, &shop{})
		if err != nil {
			t.Fatal(err)
		}
		if failed := got.Failure != nil; failed != (n > arazzo.MaxReplaced) || failed && !strings.Contains(got.Failure.Error(), "leads to more than 10000 places") {
			t.Errorf("%d places: %v", n, got.Failure)
		}
		if list[0] != nil {
			t.Error("the input was changed")
		}
	}
}

// TestParallel: each call of "part" waits for all others of its wave, so a run that is not
// parallel does not end.
func TestParallel(t *testing.T) {
	part := func(id, rest string) string { return "- {stepId: " + id + ", operationId: part" + rest + "}\n" }
	tests := []struct {
		name, doc string
		together  int
	}{
		{"reads without references", document("steps:\n" + part("a", "") + part("b", "") + part("c", "")), 3},
		{"reads of one step before", document("steps:\n- {stepId: z, operationId: get, outputs: {x: $statusCode}}\n" + part("a", ", parameters: [{name: x, in: query, value: $steps.z.outputs.x}]") + part("b", "")), 2},
		{"nested workflows that only read", document("- workflowId: w\n  steps: [{stepId: a, workflowId: i}, {stepId: b, workflowId: i}]\n- workflowId: i\n  steps: [{stepId: x, operationId: part}]"), 2},
		{"dependsOn lets writes run at once", strings.ReplaceAll(strings.Replace(document("steps:\n- {stepId: z, operationId: get}\n"+part("a", ", dependsOn: [z]")+part("b", ", dependsOn: [z]")), "1.0.1", "1.1.0", 1), "operationId: get", "operationId: put"), 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			s := &shop{together: &sync.WaitGroup{}}
			s.together.Add(tt.together)
			got, err := plan(t, tt.doc).Run(ctx, "w", nil, s)
			if err != nil || got.Failure != nil {
				t.Fatal(err, got.Failure)
			}
		})
	}
}

// crowd fails the last of the calls that may run at once, when the others run.
type crowd struct{ calls atomic.Int32 }

const atOnce = 8 // docs/workflows.md says so

func (c *crowd) Call(ctx context.Context, _ *arazzo.Call) (*arazzo.Response, error) {
	if c.calls.Add(1) == atOnce {
		return nil, errors.New("the caller broke")
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestNoCallAfterTheEnd: when a step fails, those that wait for a place make no call any more.
func TestNoCallAfterTheEnd(t *testing.T) {
	var doc strings.Builder
	doc.WriteString("steps:\n")
	for i := range 5 * atOnce {
		fmt.Fprintf(&doc, "- {stepId: s%d, operationId: get}\n", i)
	}
	p := plan(t, document(doc.String()))
	for range 10 {
		c := &crowd{}
		if _, err := p.Run(t.Context(), "w", nil, c); err == nil || err.Error() != "the caller broke" || c.calls.Load() != atOnce {
			t.Fatalf("%v after %d calls", err, c.calls.Load())
		}
	}
}

// TestOrder shows plans as people see them.
func TestOrder(t *testing.T) {
	p := plan(t, document(`steps:
- {stepId: find, operationId: get, outputs: {id: $response.body#/id}}
- {stepId: look, operationId: part}
- {stepId: buy, operationId: put, parameters: [{name: id, in: path, value: $steps.find.outputs.id}], onFailure: [{name: r, type: retry, retryLimit: 2}]}
- {stepId: check, operationId: get}
- {stepId: more, operationId: get}
outputs: {id: $steps.find.outputs.id}`))
	want := `w: 5 steps, 3 in a row, at most 2 at once
 1 find   get, GET /get
   look   part, GET /part
 2 buy    put, GET /put, may change data; reads find; on failure retry, 2 times
 3 check  get, GET /get
   more   get, GET /get
   → id
`
	if got := p.Text(p.Document.Workflows[0]); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	jumping := plan(t, document("steps:\n- {stepId: a, operationId: get, onFailure: [{name: g, type: goto, stepId: b}]}\n- {stepId: b, operationId: get}"))
	if got := len(jumping.Waves(jumping.Document.Workflows[0])); got != 2 {
		t.Errorf("a workflow with a goto has %d waves, want its steps in order", got)
	}
}

// TestRunEnds: what would never end meets a bound that says so.
func TestRunEnds(t *testing.T) {
	loop := document("steps:\n- {stepId: a, operationId: get, onSuccess: [{name: g, type: goto, stepId: a}]}")
	workflows := document("- workflowId: w\n  steps: [{stepId: a, operationId: get, onSuccess: [{name: g, type: goto, workflowId: v}]}]\n- workflowId: v\n  steps: [{stepId: a, operationId: get, onSuccess: [{name: g, type: goto, workflowId: w}]}]")
	var retries bytes.Buffer
	retries.WriteString("steps:\n")
	for i := range 20 {
		fmt.Fprintf(&retries, "- {stepId: s%d, operationId: missing, onFailure: [{name: r, type: retry, retryLimit: %d}, {name: g, type: goto, stepId: s%d}]}\n", i, arazzo.MaxRetries, (i+1)%20)
	}
	nestedLoop := document("- workflowId: w\n  steps: [{stepId: a, workflowId: v, onSuccess: [{name: g, type: goto, stepId: a}]}]\n- workflowId: v\n  steps: [{stepId: x, workflowId: u}]\n- workflowId: u\n  steps: [{stepId: y, operationId: get}]")
	for name, doc := range map[string]string{"goto a step": loop, "goto workflows": workflows, "retries": document(retries.String()), "nested": nestedLoop} {
		t.Run(name, func(t *testing.T) {
			s := &shop{}
			_, err := plan(t, doc).Run(t.Context(), "w", nil, s)
			if err == nil || !strings.Contains(err.Error(), "the run is over a limit") {
				t.Fatalf("got %v", err)
			}
			if len(s.calls) > arazzo.MaxCalls {
				t.Errorf("%d calls, at most %d", len(s.calls), arazzo.MaxCalls)
			}
		})
	}
	t.Run("exactly as many calls as permitted", func(t *testing.T) {
		var steps strings.Builder
		for range arazzo.MaxCalls / arazzo.MaxSteps {
			fmt.Fprintf(&steps, "  - {stepId: n%d, workflowId: v}\n", steps.Len())
		}
		var inner strings.Builder
		for i := range arazzo.MaxSteps {
			fmt.Fprintf(&inner, "  - {stepId: s%d, operationId: get}\n", i)
		}
		s := &shop{}
		got, err := plan(t, document("- workflowId: w\n  steps:\n"+steps.String()+"- workflowId: v\n  steps:\n"+inner.String())).Run(t.Context(), "w", nil, s)
		if err != nil || got.Failure != nil || len(s.calls) != arazzo.MaxCalls {
			t.Fatal(err, got.Failure, len(s.calls))
		}
	})
	t.Run("transitions", func(t *testing.T) {
		if arazzo.MaxTransitions < 2*arazzo.MaxCalls {
			t.Errorf("a run of nested workflows could not make its %d calls in %d steps", arazzo.MaxCalls, arazzo.MaxTransitions)
		}
	})
	t.Run("a caller that fails", func(t *testing.T) {
		_, err := plan(t, document("steps: [{stepId: a, operationId: broken}, {stepId: b, operationId: hang}]")).Run(t.Context(), "w", nil, &shop{})
		if err == nil || err.Error() != "the caller broke" {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("values that grow", func(t *testing.T) {
		var doc strings.Builder
		doc.WriteString("steps:\n- {stepId: s0, operationId: get, outputs: {x: $response.body}}\n")
		for i := range 30 {
			x := fmt.Sprintf("$steps.s%d.outputs.x", i)
			fmt.Fprintf(&doc, "- {stepId: s%d, operationId: get, outputs: {x: [%s]}}\n", i+1, strings.TrimSuffix(strings.Repeat(x+", ", 20), ", "))
		}
		got, err := plan(t, document(doc.String())).Run(t.Context(), "w", nil, &shop{})
		if err != nil || got.Failure == nil || !strings.Contains(got.Failure.Error(), "the value has more than 8388608 bytes") {
			t.Fatal(err, got.Failure)
		}
	})
}
