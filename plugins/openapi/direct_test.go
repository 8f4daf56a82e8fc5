package openapi

import (
	"strings"
	"testing"
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
		{"Gets a thing.", "Get thing", false},
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
