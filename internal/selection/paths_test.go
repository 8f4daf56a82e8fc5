package selection

import (
	"slices"
	"testing"
)

// TestKinds: what paths end with.
func TestKinds(t *testing.T) {
	got := kindsOf([]Tool{
		{Path: "/pets"},
		{Path: "/pets/{id}"},
		{Path: "/pets/{id}/toys/", Description: "Deprecated: use /toys."},
		{Path: "/pets/{id}/toys/{toy}/"},
		{Path: "/pets/{id}/walk"},
		{},
		{Path: "/reports/{year}.csv"},
	})
	if want := []int8{kindAll, kindOne, kindAll | kindDeprecated, kindOne, 0, -1, 0}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestPathsRank: a name says neither whether a tool is about one thing or about all of them,
// nor where in the API it stands; the path does.
func TestPathsRank(t *testing.T) {
	tools := []Tool{
		{Name: "delete_pods", Description: "Delete pods.", Method: "DELETE", Path: "/api/v1/namespaces/{namespace}/pods"},
		{Name: "delete_pod", Description: "Delete pods.", Method: "DELETE", Path: "/api/v1/namespaces/{namespace}/pods/{name}"},
		{Name: "fetch_orders", Description: "The orders.", Method: "GET", Path: "/archive/orders"},
		{Name: "fetch_orders_2", Description: "The orders.", Method: "GET", Path: "/orders"},
		{Name: "post_ship", Description: "Deprecated. Ship a parcel.", Method: "POST", Path: "/v1/ship"},
		{Name: "post_ship_2", Description: "Ship a parcel.", Method: "POST", Path: "/v2/ship"},
		{Name: "toys", Description: "Toys of a shop.", Method: "GET", Path: "/toys/{toy}"},
		{Name: "toys_2", Description: "Toys of a shop.", Method: "GET", Path: "/toys"},
	}
	s := Build(tools, nil).NewSearcher()
	for ask, want := range map[string]string{
		"Delete the pod web-7f9c.": "delete_pod", "Which orders are there?": "fetch_orders_2", "Ship a parcel.": "post_ship_2", "Which toys are in the shop?": "toys_2",
	} {
		if got := tools[s.Search(ask, 1)[0].Tool].Name; got != want {
			t.Errorf("%s: %s, want %s", ask, got, want)
		}
	}
}

// TestIsOperation: where a tool of a server or of a workflow stands is no path of an API.
func TestIsOperation(t *testing.T) {
	for method, want := range map[string]bool{"": true, "GET": true, "DELETE": true, "MCP": false, "PLUGIN": false} {
		if got := isOperation(&Tool{Method: method, Path: "/pets"}); got != want || isOperation(&Tool{Method: method}) {
			t.Errorf("%q: %v", method, got)
		}
	}
}

// TestSaidNames: a request in the words of a name finds that tool first, whatever questions and
// orders are mostly about.
func TestSaidNames(t *testing.T) {
	tools := []Tool{
		{Name: "get_item", Method: "GET", Path: "/items/{id}", Description: "Calls GET /items/{id}.", Params: []Param{{Name: "id"}, {Name: "q"}}},
		{Name: "list_items", Method: "GET", Path: "/items", Description: "Calls GET /items."},
		{Name: "create_order", Method: "POST", Path: "/orders", Description: "Calls POST /orders."},
		{Name: "delete_item", Method: "DELETE", Path: "/items/{id}", Description: "Calls DELETE /items/{id}.", Params: []Param{{Name: "id"}}},
		{Name: "delete_items", Method: "DELETE", Path: "/items", Description: "Calls DELETE /items."},
	}
	s := Build(tools, nil).NewSearcher()
	for q, want := range map[string]string{"get an item": "get_item", "list items": "list_items", "list the items": "list_items", "create an order": "create_order", "delete an item": "delete_item"} {
		hits := s.Search(q, 2)
		if len(hits) < 2 || tools[hits[0].Tool].Name != want || hits[0].Score < hits[1].Score+0.5 {
			t.Errorf("%q finds %+v, want %s by far", q, hits, want)
		}
	}
}
