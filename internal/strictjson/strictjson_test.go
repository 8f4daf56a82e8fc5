package strictjson_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/strictjson"
)

type document struct {
	Name  string              `json:"name"`
	List  []document          `json:"list,omitempty"`
	Map   map[string]document `json:"map,omitempty"`
	Next  *document           `json:"next,omitempty"`
	When  time.Time           `json:"when,omitzero"`
	Raw   json.RawMessage     `json:"raw,omitempty"`
	Local string              `json:"-"`
}

func TestDecode(t *testing.T) {
	const good = `{"name":"a","list":[{"name":"b"}],"map":{"x/y":{"name":"c"}},"next":{"name":"d"},"when":"2026-01-02T03:04:05Z","raw":{"k":1,"K":2}}`
	var got document
	if err := strictjson.Decode([]byte(good), &got, len(good), 3); err != nil {
		t.Fatal(err)
	}
	want := document{
		Name: "a", List: []document{{Name: "b"}}, Map: map[string]document{"x/y": {Name: "c"}}, Next: &document{Name: "d"},
		When: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Raw: json.RawMessage(`{"k":1,"K":2}`),
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, c := range map[string]struct{ in, pointer, text string }{
		"unknown member":   {`{"list":[{},{"nope":1}]}`, "/list/1", `has a field "nope" this version does not know`},
		"another case":     {`{"Name":"a"}`, "", `has a field "Name" this version does not know`},
		"untagged field":   {`{"-":"a"}`, "", `has a field "-"`},
		"twice":            {`{"next":{"name":"a","name":"b"}}`, "/next", `has the field "name" twice`},
		"twice by escape":  {`{"name":"a","n\u0061me":"b"}`, "", `has the field "name" twice`},
		"twice in a map":   {`{"map":{"k":{},"k":{}}}`, "/map", `has the field "k" twice`},
		"escaped pointer":  {`{"map":{"x/y~":{"z":1}}}`, "/map/x~1y~0", `has a field "z"`},
		"wrong kind":       {`{"name":1}`, "", "cannot be read: json: cannot unmarshal number"},
		"trailing":         {`{} {}`, "", "cannot be read"},
		"invalid UTF-8":    {"{\"name\":\"\xff\"}", "", "cannot be read: invalid UTF-8"},
		"empty":            {"", "", "cannot be read"},
		"deeper than four": {`{"raw":[[[[]]]]}`, "", "cannot be read: " + jsonscan.ErrDepth.Error()},
		"over 64 bytes":    {`{"name":"` + strings.Repeat("a", 64) + `"}`, "", "has 75 bytes, the limit is 64"},
	} {
		err := strictjson.Decode([]byte(c.in), new(document), 64, 4)
		if err == nil || err.Pointer != c.pointer || !strings.HasPrefix(err.Text, c.text) {
			t.Errorf("%s: got %v, want %q at %q", name, err, c.text, c.pointer)
		}
	}
	if err := strictjson.Decode([]byte(`{"next":{"nome":1}}`), new(document), 64, 4); err.Member != "nome" || strings.Join(err.Known, " ") != "list map name next raw when" {
		t.Errorf("an unknown member: %q, known are %v", err.Member, err.Known)
	}
	if err := strictjson.Decode([]byte(`[[]]`), new(any), 64, 1); !errors.Is(err, jsonscan.ErrDepth) {
		t.Errorf("the cause is lost: %v", err)
	}
}
