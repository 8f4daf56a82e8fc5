package selection_test

import (
	"fmt"
	"testing"

	"github.com/sluicegate/sluice/internal/selection"
)

// Examples of some tools must not push aside the tools that have none: requests for
// those find them as they do without any examples.
func TestExamplesOfSomeTools(t *testing.T) {
	tool := func(name, description string) selection.Tool {
		return selection.Tool{Name: name, Description: description}
	}
	bare := []selection.Tool{
		tool("get_weather", "Weather forecast of a city"), tool("convert_currency", "Convert an amount of money into another currency"),
		tool("translate_text", "Translate a text into another language"), tool("book_flight", "Book a flight between two cities"),
		tool("find_recipe", "Find recipes by ingredients"), tool("send_email", "Send an email to a person"),
		tool("play_music", "Play a song or an album"), tool("track_parcel", "Track a parcel by its number"),
	}
	taught := append([]selection.Tool{}, bare...)
	for i := range 60 {
		taught[0].Examples = append(taught[0].Examples, selection.Example{Text: fmt.Sprintf("please tell me if I need an umbrella in city %d tomorrow", i), Weight: 1})
		taught[3].Examples = append(taught[3].Examples, selection.Example{Text: fmt.Sprintf("please get me from town %d to the sea on Friday", i), Weight: .5})
	}
	first := func(tools []selection.Tool, q string) string {
		t.Helper()
		hits := selection.Build(tools, selection.DefaultTable()).NewSearcher().Search(q, 1)
		if len(hits) == 0 {
			return ""
		}
		return tools[hits[0].Tool].Name
	}
	f := func(q, want string) {
		t.Helper()
		if got := first(bare, q); got != want {
			t.Fatalf("%q finds %s without examples, want %s", q, got, want)
		}
		if got := first(taught, q); got != want {
			t.Fatalf("%q finds %s with examples of other tools, want %s", q, got, want)
		}
	}
	f("please translate a text for me", "translate_text")
	f("please tell me where a parcel is by its number", "track_parcel")
	f("please tell me if I can get recipes with tomato", "find_recipe")
	f("convert an amount of money from town to town", "convert_currency")
	f("please play me a song on Friday", "play_music")
	// The tools that have some are found by them.
	if got := first(taught, "do I need an umbrella in Bern tomorrow"); got != "get_weather" {
		t.Errorf("an example's request finds %s", got)
	}
}
