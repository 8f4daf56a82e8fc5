package arazzo_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sluicegate/sluice/plugins/arazzo"
)

// strange are documents as odd as the specification allows, with what it says of them: what
// is expected here was written by its text, before the documents were run.
var strange = map[string]struct {
	inputs, outputs string
	calls           []string
}{
	"names": {
		`{"a.b":"x","a":{"b":"y"},"c-d_e":3}`, `{"a":"hash x 3 last 7","b":"Rex","c":"200big"}`,
		[]string{"get header:X#Y=hash query:filter[name]=x path:a.b=3 header:X-Twice=last", "get query:q=a-a", "put"},
	},
	"components": {`{}`, `{"size":5,"page":100,"trace":"trace false"}`, []string{
		"missing query:size=5 header:X-Trace=false", "missing query:size=5 header:X-Trace=false",
		"missing query:size=100 header:X-Trace=false", "missing query:size=100 header:X-Trace=false", "get query:size=100 header:X-Trace=false",
	}},
	"conditions": {`{"n":10,"s":"it's \"5\"","none":null}`, `{}`, []string{"get", "put"}},
	"paths": {
		`{"n":5,"p":"R.x"}`, `{"last":[8],"both":[{"id":7,"price":3},{"n":"a"}],"all":[3,9],"one":9,"not":null,"deeper":["a"]}`,
		[]string{"get", "put query:x=7"},
	},
	"retries": {
		`{}`, `{"tries":"login 503","given":503}`,
		[]string{"missing", "missing", "missing", "flaky", "get query:n=503", "flaky", "get query:n=503", "flaky"},
	},
	"loops": {`{}`, `{"code":200,"why":null,"over":null,"at":"begin"}`, []string{
		"put", "flaky query:before=<nil>", `put {"code":503,"why":"busy"}`, "flaky query:before=503", `put {"code":503,"why":"busy"}`, "flaky query:before=503",
	}},
	"nested": {
		`{"n":4}`, `{"price":9,"given":4,"inner":{"id":7,"price":3},"all":7}`, []string{"get query:q=4", "missing", "put path:id=7"},
	},
	"bodies": {`{"q":"x\"y","o":{"n":2}}`, `{}`, []string{
		`put {"a":"x\"y","n":["x\"y",2],"o":{"n":2,"x/y~z":{"deep":[2]}}}`, `put {"list":[{"n":2,"sku":"A"},null,{"n":2,"sku":"A"}]}`, `put {"n":2}`,
		`put {"a":["2","2"],"b":"x\"y"}`, `put "\u003co q=\"2\"\u003e{\u0026#34;n\u0026#34;:2}\u003c/o\u003e"`,
	}},
	"order": {
		`{}`, `{"self":"../strange/order.yaml","s":"21"}`,
		[]string{"put query:s=first", "put query:s=second", "put query:s=c", "put query:s=a", "put query:s=b"},
	},
	"values": {`{"o":{"list":[1,"two"]},"b":true}`, `{}`, []string{
		"$sourceDescriptions.shop-2.get.all of them", "{$sourceDescriptions.shop.url}#/paths/~1a~0b~1{id}/get", "{$sourceDescriptions.shop.url}#/paths/~1pets",
		`put ["$5","$faker.name","{x} {$ {$nothing} $statusCode is 200","{\"list\":[1,\"two\"]} true null two",{"$inputs.o":true,"deep":[["two"]]},"https://./two.yaml/openapi",7,1e3,null,"~",{"list":[1,"two"]}]`,
	}},
}

// TestStrange runs documents that are as odd as the specification allows.
func TestStrange(t *testing.T) {
	files, err := filepath.Glob("testdata/strange/*.yaml")
	if err != nil || len(files) != len(strange) {
		t.Fatalf("%d documents, %d are expected: %v", len(files), len(strange), err)
	}
	for name, want := range strange {
		t.Run(name, func(t *testing.T) {
			doc, err := os.ReadFile("testdata/strange/" + name + ".yaml")
			if err != nil {
				t.Fatal(err)
			}
			in, err := arazzo.Decode([]byte(want.inputs))
			if err != nil {
				t.Fatal(err)
			}
			s := &shop{}
			got, err := plan(t, string(doc)).Run(t.Context(), "w", in.(map[string]any), s)
			if err != nil || got.Failure != nil {
				t.Fatalf("%v %v after %q", err, got.Failure, s.calls)
			}
			if text, err := got.MarshalOutputs(); err != nil || string(text) != want.outputs {
				t.Errorf("outputs %s\nwant    %s (%v)", text, want.outputs, err)
			}
			if !slices.Equal(s.calls, want.calls) {
				t.Errorf("calls %q\nwant  %q", s.calls, want.calls)
			}
		})
	}
}
