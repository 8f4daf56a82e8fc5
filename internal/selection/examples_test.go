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

// Some requests that were written down in different words find their tool among many that
// have none, by words and by what they mean; one or two change nothing.
func TestFewWrittenRequests(t *testing.T) {
	tool := func(name, description string, asks ...string) selection.Tool {
		x := selection.Tool{Name: name, Description: description}
		for _, a := range asks {
			x.Examples = append(x.Examples, selection.Example{Text: a, Weight: 1})
		}
		return x
	}
	asks := []string{"let it rest", "stop the noise for an hour", "hush", "be quiet about this host", "we are working on the database", "snooze", "no more pages tonight", "turn the volume down"}
	others := []selection.Tool{
		tool("list_hosts", "Lists hosts of a database"), tool("get_database", "Reads a database"), tool("delete_page", "Deletes a page of a site"),
		tool("create_note", "Creates a note about a host"), tool("stop_host", "Stops a host"), tool("list_hours", "Lists working hours"),
	}
	first := func(q string, asks ...string) string {
		t.Helper()
		tools := append([]selection.Tool{tool("create_silence", "Suppresses notifications that match labels", asks...)}, others...)
		x := selection.Build(tools, selection.DefaultTable())
		stored, err := selection.Open(x.Append(nil), selection.DefaultTable())
		if err != nil {
			t.Fatal(err)
		}
		hits := stored.NewSearcher().Search(q, 1)
		if len(hits) == 0 {
			return ""
		}
		return tools[hits[0].Tool].Name
	}
	const q = "no pages for the host tonight, be quiet"
	if got := first(q); got == "create_silence" {
		t.Fatalf("%q needs no requests", q)
	}
	if got := first(q, asks[0], asks[1]); got == "create_silence" {
		t.Errorf("two requests of other words are enough to find %s", got)
	}
	if got := first(q, asks...); got != "create_silence" {
		t.Errorf("%q finds %s", q, got)
	}
	if got := first("delete the page about the database", asks...); got != "delete_page" {
		t.Errorf("a tool without requests is pushed aside by %s", got)
	}
}
