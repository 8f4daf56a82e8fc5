package registry

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
)

func TestFixedBounds(t *testing.T) {
	many := func(n int) Fixed {
		f := Fixed{}
		for i := range n {
			f["a"+strconv.Itoa(i)] = json.RawMessage("1")
		}
		return f
	}
	text := func(n int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", n-2) + `"`) }
	good := []Fixed{
		nil, many(MaxFixed),
		{"a": text(MaxFixedBytes)},
		{strings.Repeat("n", maxFixedName): json.RawMessage("true")},
		{"a/b~c.d": json.RawMessage(strings.Repeat("[", maxFixedDepth) + strings.Repeat("]", maxFixedDepth))},
	}
	for i, f := range good {
		if err := f.Validate("/fixed"); err != nil {
			t.Errorf("good %d: %v", i, err)
		}
	}
	bad := []Fixed{
		many(MaxFixed + 1),
		{"a": text(MaxFixedBytes + 1)},
		{strings.Repeat("n", maxFixedName+1): json.RawMessage("true")},
		{"": json.RawMessage("1")},
		{"a": json.RawMessage(strings.Repeat("[", maxFixedDepth+1) + strings.Repeat("]", maxFixedDepth+1))},
		{"a": json.RawMessage("null")},
		{"a": json.RawMessage("{")},
		{"a": nil},
		{"a\x00": json.RawMessage("1")},
	}
	for i, f := range bad {
		if err := f.Validate("/fixed"); !problem.Is(err, problem.InvalidArgument) {
			t.Errorf("bad %d: %v", i, err)
		}
	}
}

func TestFixedOver(t *testing.T) {
	base := Fixed{"a": json.RawMessage("1"), "b": json.RawMessage("1")}
	var none *ToolEdit
	if got := none.FixedOver(base); len(got) != 2 {
		t.Errorf("without an edit: %v", got)
	}
	got := (&ToolEdit{Fixed: Fixed{"b": json.RawMessage("2"), "c": json.RawMessage("3")}}).FixedOver(base)
	if len(got) != 3 || string(got["b"]) != "2" || string(base["b"]) != "1" {
		t.Errorf("%v over %v", got, base)
	}
}

// TestFixedTwice: a document that has a value twice says two things.
func TestFixedTwice(t *testing.T) {
	_, err := parseToolset([]byte(`{"workspace":"w","id":"i","slug":"s","name":"n","connectors":[{"name":"c","fixed":{"a":1,"\u0061":2}}]}`))
	if err == nil || !strings.Contains(err.Error(), `"a" twice`) {
		t.Errorf("%v", err)
	}
}
