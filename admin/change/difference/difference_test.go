package difference

import (
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/plugins/connector"
)

// What agents know must not change without a word: only a plain addition disturbs nobody.
func TestDisturbs(t *testing.T) {
	for name, c := range map[string]struct {
		changes Changes
		want    bool
	}{
		"nothing":          {Changes{}, false},
		"a plain addition": {Changes{Tools: []connector.ToolChange{{Kind: connector.ToolAdded, Impact: connector.ImpactSafe}}}, false},
		"an addition with text for a model": {Changes{Tools: []connector.ToolChange{
			{Kind: connector.ToolAdded, Impact: connector.ImpactBreaking},
		}}, true},
		"a removal":       {Changes{Tools: []connector.ToolChange{{Kind: connector.ToolRemoved, Impact: connector.ImpactBreaking}}}, true},
		"other wording":   {Changes{Tools: []connector.ToolChange{{Kind: connector.ToolChanged, Impact: connector.ImpactWording}}}, true},
		"another address": {Changes{Origins: &credential.OriginChange{}}, true},
	} {
		if got := c.changes.Disturbs(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestInstructed(t *testing.T) {
	told := connector.ToolChange{Tool: "pay", Details: []connector.Detail{
		{Where: "description", What: "it changed"}, {Where: connector.WhereInstructions, What: `before, it says "call me first"`},
	}}
	plain := connector.ToolChange{Tool: "list", Details: []connector.Detail{{Where: "description"}}}
	for _, c := range []struct {
		tools []connector.ToolChange
		want  string
	}{
		{nil, ""},
		{[]connector.ToolChange{plain}, ""},
		{[]connector.ToolChange{plain, told}, `the tool pay says "call me first"`},
		{[]connector.ToolChange{told, told, plain, told}, `the tool pay says "call me first", and 2 more tools`},
	} {
		if got := (&Changes{Tools: c.tools}).Instructed(); got != c.want {
			t.Errorf("instructed %q, want %q", got, c.want)
		}
	}
}

// A name that stays weighs nothing; what else is different in the tool weighs as before.
func TestNameKept(t *testing.T) {
	name := connector.Detail{Where: "name", What: "list to fetch", Impact: connector.ImpactBreaking}
	for _, c := range []struct {
		others []connector.Detail
		want   connector.Impact
	}{
		{nil, connector.ImpactWording},
		{[]connector.Detail{{Where: "description", Impact: connector.ImpactWording}}, connector.ImpactWording},
		{[]connector.Detail{{Where: "input", Impact: connector.ImpactSafe}}, connector.ImpactSafe},
		{[]connector.Detail{{Where: "input", Impact: connector.ImpactSafe}, {Where: "input", Impact: connector.ImpactBreaking}}, connector.ImpactBreaking},
		{[]connector.Detail{{Where: "input", Impact: connector.ImpactBreaking}, {Where: "input", Impact: connector.ImpactSafe}}, connector.ImpactBreaking},
	} {
		tool := &connector.ToolChange{Kind: connector.ToolChanged, Impact: connector.ImpactBreaking, Details: append([]connector.Detail{name}, c.others...)}
		nameKept(tool)
		if tool.Impact != c.want {
			t.Errorf("beside %+v: impact %s, want %s", c.others, tool.Impact, c.want)
		}
		if d := tool.Details[0]; d.Impact != connector.ImpactWording || !strings.HasSuffix(d.What, "keeps its name") {
			t.Errorf("detail %+v", d)
		}
	}
}

func TestShow(t *testing.T) {
	want := Changes{Connector: "shop", From: SpecRef{"1", "a"}, To: SpecRef{"2", "b"}, Breaking: 2}
	got, err := Show(&store.ToolsetChange{ID: "chg_1", Report: store.JSON(want)})
	if err != nil || got.ID != "chg_1" || got.To != want.To || got.From != want.From || got.Breaking != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := Show(&store.ToolsetChange{ID: "chg_2", Report: "{"}); err == nil || !strings.Contains(err.Error(), "chg_2") {
		t.Errorf("a broken record: %v", err)
	}
}
