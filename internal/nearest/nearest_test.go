package nearest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	names := []string{"list_orders", "get_order", "id", "name", "createdAt", "toolset", "per_page"}
	for typed, want := range map[string]string{
		"list_order": "list_orders", "listOrders": "list_orders", "LIST-ORDERS": "list_orders",
		"created_at": "createdAt", "naem": "name", "perpage": "per_page",
		"di": "id", "ix": "id", // one change of two letters
		"list": "list_orders", "tools": "toolset", // what it begins with
		"orders": "list_orders", "page": "per_page", // what it has elsewhere
		"orders_list": "list_orders", "Order.Get": "get_order", // the same words
		"qq": "", "": "", "delete_user": "", "li": "",
	} {
		if got := Name(typed, slices.Values(names)); got != want {
			t.Errorf("%q is taken for %q, want %q", typed, got, want)
		}
	}
	if got := Name("colour", slices.Values([]string{"colors", "color", "colours"})); got != "color" {
		t.Errorf("of equals %q, want the first", got)
	}
}

// TestBounds: at each bound and one past it.
func TestBounds(t *testing.T) {
	long := strings.Repeat("x", maxName)
	if got := Name(long, slices.Values([]string{long})); got != long {
		t.Errorf("a name of %d bytes is not found", maxName)
	}
	if got := Name(long+"x", slices.Values([]string{long})); got != "" {
		t.Errorf("%d bytes are compared", maxName+1)
	}
	if got := Name(long, slices.Values([]string{long + "x"})); got != "" {
		t.Errorf("a candidate of %d bytes is compared", maxName+1)
	}
	names := make([]string, maxNames+1)
	for i := range names {
		names[i] = fmt.Sprint("candidate", i)
	}
	names[maxNames-1], names[maxNames] = "the one", "the onf"
	if got := Name("the one", slices.Values(names)); got != "the one" {
		t.Errorf("candidate %d is not looked at: %q", maxNames, got)
	}
	if got := Name("the onf", slices.Values(names)); got != "the one" {
		t.Errorf("got %q, candidate %d is looked at", got, maxNames+1)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"a", "", 1},
		{"", "abc", 3},
		{"abc", "abc", 0},
		{"abc", "abd", 1},
		{"abc", "acb", 1},
		{"abc", "ac", 1},
		{"kitten", "sitting", 3},
		{"ca", "abc", 3}, // 2 with substrings that are edited twice
	} {
		if got := distance(c.a, c.b); got != c.want || distance(c.b, c.a) != c.want {
			t.Errorf("%q and %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
