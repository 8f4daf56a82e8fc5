package answer

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/registry"
)

// TestCursorIsBounded: a cursor that no next call could send is left out.
func TestCursorIsBounded(t *testing.T) {
	for over := range 2 {
		value := strings.Repeat("c", maxCursor-2+over)
		if got := string(appendArg(nil, "after", []byte(`"`+value+`"`), jsonscan.Value{})); (got != "") != (over == 0) {
			t.Errorf("a cursor of %d bytes in JSON: %.40s", len(value)+2, got)
		}
	}
}

// TestLinkArgumentsAreBounded: a link of more arguments than paging has is not followed.
func TestLinkArgumentsAreBounded(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for over := range 2 {
		p := &Paging{args: map[string]string{}, Cursor: "cursor"}
		var query []string
		for _, n := range names[:maxPageArgs+over] {
			p.args[n] = p.Cursor
			query = append(query, n+"=1")
		}
		got := string(p.appendLink(nil, "https://h.example/?"+strings.Join(query, "&"), jsonscan.Trusted([]byte(`{}`))))
		if (got != "") != (over == 0) {
			t.Errorf("a link that changes %d arguments: %q", maxPageArgs+over, got)
		}
	}
}

// TestShapeIsReadToADepth: names below the depth are neither known nor refused.
func TestShapeIsReadToADepth(t *testing.T) {
	schema := `{"type":"string"}`
	for range maxShapeDepth + 3 {
		schema = `{"type":"object","properties":{"a":` + schema + `}}`
	}
	s := readShape(json.RawMessage(schema))
	depth := 0
	for ; s != nil && len(s.props) > 0; depth++ {
		s = s.props["a"]
	}
	if want := maxShapeDepth + 1; depth != want { // the root has depth 0
		t.Errorf("%d levels are read, want %d", depth, want)
	}
}

// TestMasksAreForgotten: a caller that invents masks does not fill the memory.
func TestMasksAreForgotten(t *testing.T) {
	p := Plain(&connector.Tool{Head: connector.Head{Structured: true}}, registry.ProfileOff)
	for i := range maxMasks + 1 {
		if n := len(*cmp.Or(p.masks.Load(), &map[string]*Program{})); n != i {
			t.Fatalf("%d masks are kept after %d", n, i)
		}
		if _, err := p.Mask([]byte("field" + strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(*p.masks.Load()); n != 1 {
		t.Errorf("%d masks are kept past the bound, want 1", n)
	}
}
