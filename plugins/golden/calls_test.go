package golden

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/guest"
)

// TestWorkflowCases: a workflow gets the recorded answers, and has to make exactly the
// calls that its case has.
func TestWorkflowCases(t *testing.T) {
	code, err := os.ReadFile("../../testdata/plugins/relay/relay.wasm")
	if err != nil {
		t.Fatal(err)
	}
	p, err := guest.Open(code)
	if err != nil {
		t.Fatal(err)
	}
	h, err := extism.New(extism.Options{Functions: guest.Functions(), Grace: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(context.Background())
	const script = `"config":{"script":"{\"tool\":\"item\",\"arguments\":{\"id\":1}}\n\n{\"tool\":\"item\",\"arguments\":{\"id\":1}}\n\n{\"tool\":\"text\"}"}`
	f := func(calls, output, want string) {
		t.Helper()
		c, err := Parse("case", []byte(`{"input":{},`+script+`,"calls":[`+calls+`],"output":`+output+`}`))
		if err != nil {
			t.Fatal(err)
		}
		g, err := guest.Load(h, p, guest.Options{Policy: guest.AuthorPolicy(p), Config: c.Config})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		r := Run(t.Context(), p, g, c)
		if want == "" && r.Diff != "" || !strings.Contains(r.Diff, want) {
			t.Errorf("%s: %s, want %q", calls, r.Diff, want)
		}
		dir := t.TempDir()
		if err := c.Write(dir); err != nil {
			t.Fatal(err)
		}
		if again, err := Read(dir); err != nil || len(again[0].Calls) != len(c.Calls) {
			t.Errorf("written and read again: %v", err)
		}
	}
	const item, text = `{"tool":"item","arguments":{ "id" :1},"value":{"a":1.0}}`, `{"tool":"text","text":"x"}`
	f(item+","+text, `[{"status":200,"value":{"a":1.0}},{"status":200,"value":{"a":1.0}},{"status":200,"text":"x"}]`, "")
	f(item+`,{"tool":"item","arguments":{"id":1},"error":"gone","status":404},`+text, `[{"status":200,"value":{"a":1.0}},{"status":404,"error":"gone"},{"status":200,"text":"x"}]`, "")
	f(item, `[]`, `+ it calls text {}`)
	f(item+","+text+`,{"tool":"slow","error":"x"}`, `[]`, `- it does not call slow {}`)
	f(item+","+text, `[]`, `+ [`)
	for _, bad := range []string{`{"tool":"a"}`, `{"value":1}`, `{"tool":"a","value":1,"error":"x"}`, `{"tool":"a","text":"x","error":"y"}`} {
		if _, err := Parse("case", []byte(`{"input":{},"calls":[`+bad+`]}`)); err == nil || !strings.Contains(err.Error(), "calls[0]") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
