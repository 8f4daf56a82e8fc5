package registry

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
)

func TestIndexSection(t *testing.T) {
	module, err := BuildBundle(sample(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, index := range [][]byte{nil, []byte("x"), bytes.Repeat([]byte("index"), 100_000)} {
		with := AppendIndex(bytes.Clone(module), index)
		bundle, got, err := SplitIndex(with)
		if err != nil || !bytes.Equal(bundle, module) || !bytes.Equal(got, index) {
			t.Fatalf("%d bytes of index: %d, %v", len(index), len(got), err)
		}
		if _, _, err := OpenBundle(bundle); err != nil {
			t.Fatal(err)
		}
	}
	good := AppendIndex(bytes.Clone(module), []byte("index"))
	for name, b := range map[string][]byte{
		"nothing":       nil,
		"no module":     []byte("not a module"),
		"cut off":       good[:len(good)-1],
		"two indexes":   AppendIndex(bytes.Clone(good), []byte("more")),
		"behind it":     append(bytes.Clone(good), 0, 2, 1, 'x'),
		"another form":  append(bytes.Clone(module), append([]byte{0, 0x81, 0x80, 0}, good[len(module)+2:]...)...),
		"without bytes": append(bytes.Clone(module), append([]byte{0, 13, 12}, indexSection...)...),
	} {
		if _, index, err := SplitIndex(b); problem.As(err) == nil && index != nil {
			t.Errorf("%s: %q, %v", name, index, err)
		}
	}
}

func TestSelectionRefuses(t *testing.T) {
	chosen := SelectedTool{"main", "GET", "/things"}
	f := func(want string, s Selection) {
		t.Helper()
		ts := sample()
		ts.Selection = &s
		err := ts.Validate()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(fmt.Sprintf("%v %+v", err, problem.As(err).Parts), want)) {
			t.Errorf("%+v: %v, want %q", s, err, want)
		}
	}
	f("", Selection{Mode: SelectAll})
	f("", Selection{Mode: SelectSearch, UseCase: "all of it"})
	f("", Selection{Mode: SelectUseCase, Tools: []SelectedTool{chosen}})
	f("/selection/mode", Selection{Mode: "some"})
	f("/selection/tools", Selection{Mode: SelectUseCase})
	f("/selection/tools", Selection{Mode: SelectSearch, Tools: []SelectedTool{chosen}})
	f("/selection/tools/0/connector", Selection{Mode: SelectUseCase, Tools: []SelectedTool{{"other", "GET", "/"}}})
	f("/selection/tools/1", Selection{Mode: SelectUseCase, Tools: []SelectedTool{chosen, chosen}})
	many := make([]SelectedTool, MaxSelectedTools+1)
	for i := range many {
		many[i] = SelectedTool{"main", "GET", "/" + string(rune('a'+i))}
	}
	f("", Selection{Mode: SelectUseCase, Tools: many[:MaxSelectedTools]})
	f("are more than", Selection{Mode: SelectUseCase, Tools: many})
}
