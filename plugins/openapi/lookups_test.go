package openapi

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/wording"
	"github.com/sluicegate/sluice/plugins/operation"
)

// TestLookups: a POST is read-only where two of its id, path and text say that it reads,
// and nothing says that it changes something.
func TestLookups(t *testing.T) {
	text := &operation.Schema{Type: operation.TypeString}
	sql := &operation.Body{Fields: []operation.Field{{Name: "sql", Schema: text}}}
	filter := &operation.Body{Fields: []operation.Field{{Name: "filter", Schema: &operation.Schema{Type: operation.TypeObject}}}}
	query := &operation.Body{Schema: &operation.Schema{Type: operation.TypeObject, Properties: []operation.Property{{Name: "query", Schema: text}}}}
	for _, c := range []struct {
		id, path, summary string
		body              *operation.Body
		readOnly, harmful bool
	}{
		{id: "accountsBalanceGet", path: "/accounts/balance/get", summary: "Retrieve real-time balance data", readOnly: true},
		{id: "transferGet", path: "/transfer/get", summary: "Retrieve a transfer", readOnly: true},
		{id: "search-1", path: "/{index}/_search", summary: "Run a search", body: query, readOnly: true},
		{id: "msearch", path: "/_msearch", summary: "Run multiple searches", readOnly: true},
		{id: "mget", path: "/{index}/_mget", summary: "Get multiple documents", readOnly: true},
		{id: "count-3", path: "/{index}/_count", summary: "Count search results", readOnly: true},
		{id: "SearchOrders", path: "/v2/orders/search", summary: "SearchOrders", readOnly: true},
		{id: "messages/search", path: "/messages/search", summary: "Search recently sent messages", readOnly: true},
		{id: "queryDatabase", path: "/databases/{id}/query", summary: "Query a database", body: filter, readOnly: true},
		{id: "BatchGetDocuments", path: "/v1/{parent}/documents:batchGet", summary: "Gets multiple documents.", readOnly: true},
		{id: "lookupUsers", path: "/users/lookup", readOnly: true},
		{id: "points_batch_get", path: "/points/batch-get", summary: "Get points", readOnly: true},
		// One sign: it does not destroy, and no more is known.
		{id: "exportReport", path: "/reports/export", summary: "Export a report", harmful: true},
		{id: "x", path: "/reports/search"},
		{id: "getToken", path: "/auth/token", summary: "Get a token"},
		{id: "createLookup", path: "/lookups", summary: "Create a lookup"},
		// Languages in which one can also delete.
		{id: "d1-query", path: "/d1/database/{id}/query", summary: "Query the database", body: sql, harmful: true},
		{id: "runQuery", path: "/sql/query", summary: "Query tables", harmful: true},
		{id: "graphqlQuery", path: "/graphql/query", summary: "Query", body: query, harmful: true},
		// A verb in front.
		{id: "update-by-query", path: "/{index}/_update_by_query", summary: "Update documents", harmful: true},
		{id: "delete-by-query", path: "/{index}/_delete_by_query", summary: "Delete documents", harmful: true},
		{id: "clearSearch", path: "/history/search", summary: "Clear the search history", harmful: true},
		{id: "postEventRead", path: "/account/events/{id}/read", summary: "Mark an event as read"},
		{id: "subscriberList", path: "/lists/{id}/subscribe", summary: "Subscribe to a list", harmful: true},
		{id: "sendList", path: "/campaigns/{id}/send", summary: "Send to the list"},
		{id: "jobsStart", path: "/jobs/start", summary: "Start a search job", harmful: true},
		{id: "savedSearchRun", path: "/saved_searches/{id}/run", summary: "Run a saved search", harmful: true},
	} {
		does, _ := effect(http.MethodPost, c.id, c.path, c.summary, "")
		a := annotations(http.MethodPost, wording.Split(c.id), does, looksUp(c.id, c.path, c.summary, "", c.body))
		if a.ReadOnly != c.readOnly || a.ReadOnly && (a.Destructive || !a.Idempotent) || a.Destructive != c.harmful {
			t.Errorf("POST %s, id %q, summary %q: %+v", c.path, c.id, c.summary, a)
		}
	}
}

// TestLookupsOfCorpus: the POST operations of real specifications that are marked
// read-only are exactly those of the reviewed list.
func TestLookupsOfCorpus(t *testing.T) {
	dir := corpusDir(t)
	list, err := os.ReadFile("testdata/lookups.tsv")
	if err != nil {
		t.Fatal(err)
	}
	reviewed := map[string]bool{}
	for line := range strings.Lines(string(list)) {
		reviewed[strings.TrimSuffix(line, "\n")] = true
	}
	seen := map[string]bool{}
	for _, s := range corpusSpecs(t, dir) {
		_, _ = Compile(t.Context(), corpusSource(t, dir, s), Options{Each: func(op *operation.Operation) error { // the compiler's own tests judge errors
			if key := s.id + "\t" + op.Path; op.Method == http.MethodPost && op.Annotations.ReadOnly {
				if seen[key] = true; !reviewed[key] {
					t.Errorf("POST %s is marked read-only and was not reviewed", key)
				}
			}
			return nil
		}})
	}
	for key := range reviewed {
		if !seen[key] {
			t.Errorf("POST %s is not marked read-only", key)
		}
	}
}
