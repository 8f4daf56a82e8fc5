package openapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/operation"
)

// TestDirect: of a sentence that tells which request to write stays what it is for.
func TestDirect(t *testing.T) {
	for _, c := range [][2]string{
		{"To list all Droplets in your account, send a GET request to /v2/droplets. The answer is sorted.", "List all Droplets in your account. The answer is sorted."},
		{"To delete a key, send a DELETE request to /v2/keys/$KEY_ID or /v2/keys/$PRINT.", "To delete a key, send a DELETE request to /v2/keys/$KEY_ID or /v2/keys/$PRINT."},
		{"To create a key, send a POST request to /v2/keys with the name.", "Create a key with the name."},
		{"To create a key, send a POST request to /v2/keys setting the required attributes. More.", "Create a key setting the required attributes. More."},
		{"In order to close it, make an HTTP POST request.", "Close it."},
		{"To show it, issue a GET request to https://api.example.com/v1/it.", "Show it."},
		{"To rename it, send a PUT request to the /v2/it endpoint", "Rename it"},
		{"To do both, send two requests.", "To do both, send two requests."},
		{"This endpoint allows you to list invoices. It is slow.", "List invoices. It is slow."},
		{"This API is used to move an account.", "Move an account."},
		{"This endpoint can be used without a key.", "This endpoint can be used without a key."},
		{"This method is used for testing.", "This method is used for testing."},
		{"Use this operation to move an account.", "Move an account."},
		{"This endpoint returns a list of keys.", "Returns a list of keys."},
		{"This endpoint will trigger a build.", "Trigger a build."},
		{"This endpoint is for tests.", "This endpoint is for tests."},
		{"This operation requires a lock.", "This operation requires a lock."},
		{"Use this API call to move an account.", "Move an account."},
		{"Use this", "Use this"},
		{"This endpoint allows you to ", "This endpoint allows you to "},
		{"This endpoint allows you élan", "Élan"},
		{"", ""},
	} {
		if got := direct(c[0]); got != c[1] {
			t.Errorf("%q: %q, want %q", c[0], got, c[1])
		}
	}
	far := "To " + strings.Repeat("x", maxDirect-len("To , send a GET request to /k.")) + ", send a GET request to /k."
	if got := direct(far); len(far) != maxDirect || got != far { // what it is for has 160 bytes at most
		t.Errorf("%d bytes: %q", len(far), got)
	}
}

// TestNews: what every call that succeeds says is left out.
func TestNews(t *testing.T) {
	for _, c := range [][2]string{
		{"Deletes it. A successful request will receive a 204 status code with no body in response.", "Deletes it."},
		{"Deletes it. A successful request returns 204. It cannot be undone.", "Deletes it. It cannot be undone."},
		{"The request was successful.", "The request was successful."},
		{"A site groups users. Use this API to list sites.", "A site groups users. List sites."},
		{"no sentence", "no sentence"},
		{"", ""},
	} {
		if got := strings.TrimSpace(news(c[0])); got != c[1] {
			t.Errorf("%q: %q, want %q", c[0], got, c[1])
		}
	}
}

// TestCovers: a summary is not said again where the description begins with it.
func TestCovers(t *testing.T) {
	for _, c := range []struct {
		text, summary string
		want          bool
	}{
		{"Get a thing.", "Get thing", true},
		{"Gets a thing.", "Get thing", true},
		{"Deletes a specific, existing goal.", "Delete a goal", true},
		{"Gets a thing.", "Delete a thing", false},
		{"Sings a song.", "Sing a thing", false},
		{"List all of the users of a group.", "List all users", false},
		{"list users, newest first", "List users.", true},
		{"", "List", false},
		{"List", "", false},
	} {
		if got := covers(c.text, c.summary); got != c.want {
			t.Errorf("%q, %q: %t", c.text, c.summary, got)
		}
	}
}

// TestBare: what only those who set up a credential need, or nobody, is left out.
func TestBare(t *testing.T) {
	for _, c := range [][2]string{
		{"Get a tag. Required scope: tags:read Returns the tag.", "Get a tag. Returns the tag."},
		{"List rooms. Scopes: rooms:read, rooms:read:admin Rate Limit Label: Light", "List rooms."},
		{"List rooms. OAuth scope: rooms:read or rooms:write. Newest first.", "List rooms. Newest first."},
		{"Scopes: all of them.", "Scopes: all of them."},
		{"Get tags. For more information see the Concepts Document Scoped OAuth requires: tags.read", "Get tags."},
		{"Get tags. Scoped OAuth requires: tags.read and tags.write. Newest first.", "Get tags. Newest first."},
		{"Get tags. Scope: i.e. all of them.", "Get tags. Scope: i.e. all of them."},
		{"The telescope: hubble:one is old.", "The telescope: hubble:one is old."},
		{"Rate limit: 10 a second.", "Rate limit: 10 a second."},
		{"A goal can be deleted by making a DELETE request on the URL for that goal.", "A goal can be deleted."},
		{strings.Repeat("Scope: a:bc ", maxPlainInput/12), ""},
		{strings.Repeat("Scope: a:bc ", maxPlainInput/12+1), strings.Repeat("Scope: a:bc ", maxPlainInput/12+1)},
		{"", ""},
	} {
		if got := bare(c[0]); got != c[1] {
			t.Errorf("%.60q: %.60q, want %.60q", c[0], got, c[1])
		}
	}
}

// TestDescriptions: what is said once stays, in the summary as in the description.
func TestDescriptions(t *testing.T) {
	for _, c := range []struct{ summary, description, answer, want string }{
		{"This endpoint can be used to list tides", "", "Fine", "List tides."},
		{"Get a tide", "Gets a tide.", "The tide was got", "Gets a tide. Returns: The tide was got."},
		{"Assign a plan to a user", "", "HTTP Status Code: 200 Plan assigned successfully.", "Assign a plan to a user."},
		{"List users", "", "Endpoint for finding users by name.", "List users. Endpoint for finding users by name."},
		{"List users", "", "Using this call you see yourself.", "List users. Using this call you see yourself."},
		{"Send a tide", "Sends a tide.", "Provides no response body.", "Sends a tide."},
		{"List users", "", "Users and their groups.", "List users. Returns: Users and their groups."},
	} {
		doc := fmt.Sprintf(`{"openapi":"3.0.3","info":{"title":"t","version":"1"},"servers":[{"url":"https://a.example.com"}],"paths":{"/x":{"get":{"summary":%q,"description":%q,"responses":{"200":{"description":%q}}}}}}`, c.summary, c.description, c.answer)
		var got string
		_, err := Compile(t.Context(), Source{Name: "t", Data: []byte(doc)}, Options{Each: func(op *operation.Operation) error {
			got = op.Description
			return nil
		}})
		if err != nil || got != c.want {
			t.Errorf("%q, want %q (%v)", got, c.want, err)
		}
	}
}
