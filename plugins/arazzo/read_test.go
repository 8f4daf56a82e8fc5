package arazzo_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/arazzo"
)

// told are the faults of a document, one a line.
func told(err error) string {
	p := problem.As(err)
	if p == nil {
		return fmt.Sprint(err)
	}
	if len(p.Parts) == 0 {
		return p.Error()
	}
	lines := make([]string, len(p.Parts))
	for i, part := range p.Parts {
		lines[i] = part.Error()
	}
	return strings.Join(lines, "\n")
}

func TestRefused(t *testing.T) {
	deep := strings.Repeat("{a: ", 60) + "1" + strings.Repeat("}", 60)
	var chain strings.Builder
	for i := range arazzo.MaxNested {
		fmt.Fprintf(&chain, "- workflowId: w%d\n  steps: [{stepId: a, workflowId: w%d}]\n", i, i+1)
	}
	fmt.Fprintf(&chain, "- workflowId: w%d\n  steps: [{stepId: a, operationId: get}]\n", arazzo.MaxNested)
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	step := func(rest string) string { return document("steps:\n- {stepId: a, operationId: get, " + rest + "}") }
	tests := []struct{ name, doc, want string }{
		{"no YAML", "a: [", "neither YAML nor JSON"},
		{"no object", "[]", "the document is not an object"},
		{"two documents", "arazzo: 1.0.0\n---\na: 1", "no second one"},
		{"version", "arazzo: 2.0.0\nworkflows: []", `line 1, /arazzo: version "2.0.0" is not supported`},
		{"anchors", "arazzo: &a 1.0.0\nx: *a", "anchors and aliases are not read"},
		{"a member twice", "arazzo: 1.0.0\narazzo: 1.0.1", "is there twice"},
		{"a member nobody knows", step("operationID: x"), `/workflows/0/steps/0/operationID: a step has no member "operationID"`},
		{"XPath", step("successCriteria: [{context: $response.body, condition: //a, type: xpath}]"), "line 8, /workflows/0/steps/0/successCriteria/0/type: XPath is not supported (use type jsonpath"},
		{"XPath with a version", step("successCriteria: [{context: $response.body, condition: //a, type: {type: xpath, version: xpath-10}}]"), "/successCriteria/0/type/type: XPath is not supported"},
		{"XPath in a replacement", step("requestBody: {payload: <a/>, replacements: [{target: //a, targetSelectorType: xpath, value: 1}]}"), "XPath is not supported"},
		{"AsyncAPI step", document("steps: [{stepId: a, channelPath: '{$sourceDescriptions.x.url}#/channels/a', action: send}]"), "/workflows/0/steps/0/channelPath: channelPath is for messages of AsyncAPI, which are not supported"},
		{"AsyncAPI source", strings.Replace(document("steps: [{stepId: a, operationId: get}]"), "openapi", "asyncapi", 1), `descriptions of type "asyncapi" cannot be used`},
		{"no operation", document("steps: [{stepId: a}]"), "a step has one of operationId, operationPath and workflowId"},
		{"two operations", document("steps: [{stepId: a, operationId: x, operationPath: y}]"), "a step has one of"},
		{"the same source twice", strings.Replace(document("steps: [{stepId: a, operationId: x}]"), "type: openapi}", "type: openapi}, {name: shop, url: y}", 1), `the source description "shop" is there twice`},
		{"the same workflow twice", document("- workflowId: w\n  steps: [{stepId: a, operationId: x}]\n- workflowId: w\n  steps: [{stepId: a, operationId: x}]"), `the workflowId "w" is used twice`},
		{"the same step twice", document("steps: [{stepId: a, operationId: x}, {stepId: a, operationId: x}]"), `the stepId "a" is used twice`},
		{"a step that is not there", step("outputs: {o: $steps.b.outputs.x}"), `the workflow has no step "b"`},
		{"an output that is not there", document("- workflowId: w\n  steps:\n  - {stepId: a, operationId: get, outputs: {x.y: $response.body, z: $statusCode}}\n  - {stepId: b, operationId: get}\n  outputs: {o: '{$steps.a.outputs.x.y.name}{$steps.a.outputs.x.z}'}"), `"$steps.a.outputs.x.z": the step "a" has no output "x" (it has x.y, z)`},
		{"an output of a step without", document("- workflowId: w\n  steps: [{stepId: a, operationId: get}]\n  outputs: {o: $steps.a.outputs.x}"), `the step "a" has no output "x" (give the step outputs)`},
		{"a misspelt expression", step("parameters: [{name: q, in: query, value: $input.id}]"), `"$input.id" is not a runtime expression: write $inputs`},
		{"an expression in capitals", step("parameters: [{name: q, in: query, value: $Steps.a.outputs.o}]"), `write $steps`},
		{"goto nowhere", step("onSuccess: [{name: g, type: goto, stepId: b}]"), `the workflow has no step "b"`},
		{"goto without a place", step("onSuccess: [{name: g, type: goto}]"), "goto needs a workflowId or a stepId"},
		{"retry on success", step("onSuccess: [{name: g, type: retry}]"), `"retry" is not an action here`},
		{"a workflow that is not there", document("steps: [{stepId: a, workflowId: x}]"), `the document has no workflow "x"`},
		{"an expression that is none", step("outputs: {o: $answer.body}"), "$answer is not known"},
		{"an expression without a name", step("outputs: {o: $response.cookie}"), "expected header., query., path. or body"},
		{"a condition", step("successCriteria: [{condition: '($statusCode == 200'}]"), "a parenthesis is not closed"},
		{"an empty condition", step("successCriteria: [{condition: ''}]"), "/successCriteria/0/condition: the condition is empty"},
		{"an empty regex", step("successCriteria: [{context: $response.body, condition: '', type: regex}]"), "the condition is empty"},
		{"an empty jsonpath of an action", step("onSuccess: [{name: g, type: end, criteria: [{context: $response.body, condition: '', type: jsonpath}]}]"), "/onSuccess/0/criteria/0/condition: the condition is empty"},
		{"a word in a condition", step("successCriteria: [{condition: $statusCode == OK}]"), `"OK" is not a value`},
		{"a regex with look-around", step("successCriteria: [{context: $response.body, condition: '(?=a)b', type: regex}]"), "no look-around and no backreferences"},
		{"a regex that is too large", step("successCriteria: [{context: $response.body, condition: '(a{30}){30}b{200}', type: regex}]"), "the regular expression is too large"},
		{"a regex that is too long", step("successCriteria: [{context: $response.body, condition: '" + strings.Repeat("a", 513) + "', type: regex}]"), "513 bytes, at most 512"},
		{"a JSONPath", step("successCriteria: [{context: $response.body, condition: '$.a[?', type: jsonpath}]"), "JSONPath, character 6: the filter ends too early"},
		{"a path nested too deep", step("successCriteria: [{context: $response.body, condition: '$" + strings.Repeat("[?@", 20) + strings.Repeat("]", 20) + "', type: jsonpath}]"), "filters nest deeper than 16"},
		{"a replacement that is not a JSONPath", step("requestBody: {payload: {a: 1}, replacements: [{target: '$.a[', targetSelectorType: jsonpath, value: 1}]}"), "/steps/0/requestBody/replacements/0/target: JSONPath, character 5"},
		{"a replacement by regex", step("requestBody: {payload: {a: 1}, replacements: [{target: /a, targetSelectorType: regex, value: 1}]}"), "the target of a replacement is a JSON pointer or a JSONPath"},
		{"an expression in a regex", step("successCriteria: [{context: $statusCode, condition: '^{$steps.b.outputs.x}$', type: regex}]"), `the workflow has no step "b"`},
		{"dependsOn of a workflow that does not run", document("- workflowId: w\n  steps: [{stepId: a, operationId: get, dependsOn: [$workflows.v.steps.b]}]\n- workflowId: v\n  steps: [{stepId: b, operationId: get}]"), `dependsOn: nothing runs the workflow "v" before this step (name v in dependsOn of the workflow)`},
		{"dependsOn of no step", document("- workflowId: w\n  steps: [{stepId: a, operationId: get, dependsOn: [$workflows.v.steps.c]}]\n- workflowId: v\n  steps: [{stepId: b, operationId: get}]"), `dependsOn: the document has no step "$workflows.v.steps.c"`},
		{"no context", step("successCriteria: [{condition: a, type: regex}]"), "needs a context"},
		{"a huge retryLimit", step(fmt.Sprintf("onFailure: [{name: r, type: retry, retryLimit: %d}]", arazzo.MaxRetries+1)), "retryLimit has to be a whole number from 0 to 20"},
		{"a huge retryAfter", step(fmt.Sprintf("onFailure: [{name: r, type: retry, retryAfter: %.0f}]", arazzo.MaxWait.Seconds()+1)), "expected a number from 0 to 600"},
		{"retryAfter that is not a number", step("onFailure: [{name: r, type: retry, retryAfter: .nan}]"), "expected a number from 0 to 600"},
		{"nesting", step("requestBody: {payload: " + deep + "}"), "nests deeper than 48"},
		{"conditions nested too deep", step("successCriteria: [{condition: '" + strings.Repeat("(", 40) + "true" + strings.Repeat(")", 40) + "'}]"), "the condition nests deeper than 32"},
		{"a workflow that calls itself", document("- workflowId: w\n  steps: [{stepId: a, workflowId: v}]\n- workflowId: v\n  steps: [{stepId: b, workflowId: w}]"), "the workflow w calls itself"},
		{"dependsOn in a circle", document("- workflowId: w\n  dependsOn: [v]\n  steps: [{stepId: a, operationId: get}]\n- workflowId: v\n  dependsOn: [w]\n  steps: [{stepId: b, operationId: get}]"), "the workflow w calls itself"},
		{"workflows nested too deep", document(chain.String()), "workflows call workflows 9 deep, at most 8"},
		{"too many steps", document("steps:\n" + many(arazzo.MaxSteps+1, "- {stepId: s%d, operationId: get}\n")), "steps has 65 items, at most 64"},
		{"too many workflows", document(many(arazzo.MaxWorkflows+1, "- workflowId: w%d\n  steps: [{stepId: a, operationId: get}]\n")), "workflows has 65 items, at most 64"},
		{"too many parameters", step("parameters: [" + many(257, "{name: p%d, in: query, value: 1}, ") + "]"), "parameters has 257 items, at most 256"},
		{"an expression that is too long", step("outputs: {o: $inputs." + strings.Repeat("a", 4<<10) + "}"), "at most 4096"},
		{"a schema that grows", document("- workflowId: w\n  inputs: {type: object, properties: {x: {$ref: '#/components/inputs/a0'}}}\n  steps: [{stepId: a, operationId: get}]\ncomponents:\n  inputs:\n" + many(20, "    a%[1]d: {properties: {l: {$ref: '#/components/inputs/b%[1]d'}, r: {$ref: '#/components/inputs/b%[1]d'}}}\n    b%[1]d: {$ref: '#/components/inputs/c%[1]d'}\n    c%[1]d: {allOf: [{$ref: '#/components/inputs/d%[1]d'}, {$ref: '#/components/inputs/d%[1]d'}]}\n") + many(20, "    d%[1]d: {allOf: ["+strings.Repeat("{$ref: '#/components/inputs/wide'}, ", 200)+"]}\n") + "    wide: {enum: [" + many(200, "%d, ") + "]}\n"), "the schema of the inputs is larger than 65536 bytes"},
		{"a schema that refers to itself", document("- workflowId: w\n  inputs: {type: object, properties: {x: {$ref: '#/components/inputs/a'}}}\n  steps: [{stepId: a, operationId: get}]\ncomponents: {inputs: {a: {properties: {b: {$ref: '#/components/inputs/a'}}}}}"), "leads to nothing in this document, or to itself"},
		{"a file as a reference", document("- workflowId: w\n  inputs: {$ref: 'file:///etc/passwd'}\n  steps: [{stepId: a, operationId: get}]"), "leads to nothing in this document"},
		{"size", strings.Repeat("#", arazzo.MaxDocument+1), "the document has 524289 bytes, the limit is 524288"},
		{"a cookie of a call", step("parameters: [{name: a, value: 1}]"), `the parameter "a" of a call needs in`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := arazzo.Parse("t.yaml", []byte(tt.doc))
			if err == nil {
				t.Fatalf("accepted\n%s", tt.doc)
			}
			if got := told(err); !strings.Contains(got, tt.want) {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
		})
	}
	t.Run("many faults", func(t *testing.T) {
		_, err := arazzo.Parse("t.yaml", []byte(document("steps:\n"+many(50, "- {stepId: s%d}\n"))))
		if p := problem.As(err); p == nil || len(p.Parts) != 20 {
			t.Errorf("got %v", told(err))
		}
	})
}

// TestWaitsInACircle: no order of the steps is possible.
func TestWaitsInACircle(t *testing.T) {
	d, err := arazzo.Parse("t.yaml", []byte(strings.Replace(document("steps: [{stepId: a, operationId: get, dependsOn: [b]}, {stepId: b, operationId: get, dependsOn: [a]}]"), "1.0.1", "1.1.0", 1)))
	if err != nil {
		t.Fatal(told(err))
	}
	if _, err = d.Plan(nil); err == nil || !strings.Contains(err.Error(), "the steps of workflow w wait for each other") {
		t.Errorf("got %v", err)
	}
}

// TestElsewhere: what needs another document is read, and says that it cannot be run.
func TestElsewhere(t *testing.T) {
	d, err := arazzo.Parse("t.yaml", []byte(document("- workflowId: w\n  steps: [{stepId: a, workflowId: $sourceDescriptions.other.x}]\n- workflowId: v\n  steps: [{stepId: a, operationId: get}]")))
	if err != nil {
		t.Fatal(told(err))
	}
	if err := d.Runnable("v"); err != nil {
		t.Error(err)
	}
	if got := told(d.Runnable("w")); !strings.Contains(got, "is in another document, which is not supported (put that workflow into this document)") {
		t.Error(got)
	}
	if _, err := plan(t, document("- workflowId: w\n  steps: [{stepId: a, workflowId: $sourceDescriptions.other.x}]")).Run(t.Context(), "w", nil, &shop{}); problem.As(err) == nil {
		t.Errorf("got %v", err)
	}
}

// TestDocuments reads the documents that the specification and two runners bring as
// examples.
func TestDocuments(t *testing.T) {
	root := os.Getenv("SLUICE_CORPUS")
	if root == "" {
		t.Skip("SLUICE_CORPUS is not set")
	}
	root = filepath.Join(root, "arazzo")
	if _, err := os.Stat(root); err != nil {
		t.Skip("SLUICE_CORPUS has no folder arazzo")
	}
	documents, steps := 0, 0
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(string(data), "arazzo:") && !strings.Contains(string(data[:min(len(data), 100)]), `"arazzo"`) {
			return err
		}
		documents++
		d, err := arazzo.Parse(e.Name(), data)
		if err != nil {
			t.Errorf("%s: %s", path, told(err))
			return nil
		}
		for _, w := range d.Workflows {
			steps += len(w.Steps)
		}
		p, err := d.Plan(nil)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return nil
		}
		for _, w := range d.Workflows {
			if p.Text(w) == "" {
				t.Errorf("%s: workflow %s has no plan", path, w.ID)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if documents == 0 {
		t.Error("no documents were found")
	}
	t.Logf("%d documents with %d steps", documents, steps)
}

// TestFeatureTable: each row of the table of features names tests that are there.
func TestFeatureTable(t *testing.T) {
	doc, err := os.ReadFile("../../docs/workflows.md")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	for _, name := range []string{"run_test.go", "read_test.go", "strange_test.go"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(text)
	}
	_, table, _ := strings.Cut(string(doc), "| construct |")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := 0
	for line := range strings.Lines(strings.ReplaceAll(table, `\|`, "\x00")) {
		cells := strings.Split(line, "|")
		if len(cells) < 5 || !strings.Contains(cells[3], "`") {
			continue
		}
		rows++
		for i, name := range strings.Split(cells[3], "`") {
			name = strings.ReplaceAll(name, "\x00", "|")
			if i%2 == 1 && !strings.Contains(tests.String(), `"`+name+`"`) && !strings.Contains(tests.String(), "func "+name+"(") {
				t.Errorf("there is no test %q", name)
			}
		}
	}
	if rows < 20 {
		t.Errorf("%d rows", rows)
	}
}
