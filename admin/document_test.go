package admin_test

import (
	"encoding/json"
	"slices"
	"testing"
)

// Every operation belongs to a group that is described, has an identifier of its own and a
// summary, and says where a write needs If-Match.
func TestDocumentOperations(t *testing.T) {
	var doc struct {
		Info    struct{ Contact struct{ URL string } }
		Servers []struct{ URL string }
		Tags    []struct{ Name, Description string }
		Paths   map[string]map[string]struct {
			OperationID string
			Summary     string
			Tags        []string
			Parameters  []struct {
				Name     string
				Required bool
			}
			Responses map[string]any
		}
	}
	if err := json.Unmarshal(document(t, newWorld(t)), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Servers) == 0 || doc.Info.Contact.URL == "" {
		t.Errorf("servers %v, contact %q", doc.Servers, doc.Info.Contact.URL)
	}
	var described []string
	for _, tag := range doc.Tags {
		if tag.Description == "" {
			t.Errorf("the tag %s has no description", tag.Name)
		}
		described = append(described, tag.Name)
	}
	ids, needed, used := map[string]bool{}, []string{}, map[string]bool{}
	for path, item := range doc.Paths {
		for method, op := range item {
			if len(op.Tags) != 1 || !slices.Contains(described, op.Tags[0]) {
				t.Errorf("%s %s has the tags %q", method, path, op.Tags)
			} else {
				used[op.Tags[0]] = true
			}
			if op.Summary == "" || op.OperationID == "" || ids[op.OperationID] {
				t.Errorf("%s %s has the summary %q and the identifier %q", method, path, op.Summary, op.OperationID)
			}
			ids[op.OperationID] = true
			required := false
			for _, p := range op.Parameters {
				required = required || p.Name == "If-Match" && p.Required
			}
			if _, answers := op.Responses["428"]; answers != required {
				t.Errorf("%s %s: If-Match is required: %v, and 428 is an answer: %v", method, path, required, answers)
			}
			if required {
				needed = append(needed, method+" "+path)
			}
		}
	}
	slices.Sort(needed)
	want := []string{
		"delete /v1/members/{id}", "delete /v1/toolsets/{id}", "delete /v1/toolsets/{id}/connectors/{connector}",
		"patch /v1/members/{id}", "patch /v1/toolsets/{id}", "patch /v1/toolsets/{id}/connectors/{connector}",
	}
	if !slices.Equal(needed, want) {
		t.Errorf("If-Match is required for %q, want %q", needed, want)
	}
	if len(used) != len(described) {
		t.Errorf("used %d of %d tags", len(used), len(described))
	}
}
