package draft

import (
	"testing"

	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/plugins/operation"
)

// TestReportMethodsThatToolsRequireFirst: a key that the document declares and no operation
// names is not what people are asked for first.
func TestReportMethodsThatToolsRequireFirst(t *testing.T) {
	spec := &openapi.Result{API: &operation.API{Schemes: []operation.SecurityScheme{
		{ID: "old", Type: "apiKey", In: "query", Name: "hapikey"},
		{ID: "login", Type: "oauth2"},
		{ID: "token", Type: "http", Scheme: "bearer"},
	}}}
	made := &toolset.Generated{Tools: []toolset.GeneratedTool{{Schemes: []string{"token", "login"}}}}
	r := MakeReport(&publish.Connector{Spec: spec}, made, 1, 0)
	var ids []string
	for i := range r.Methods {
		ids = append(ids, r.Methods[i].ID)
	}
	if len(ids) != 3 || ids[0] != "login" || ids[1] != "token" || ids[2] != "old" {
		t.Errorf("order %v", ids)
	}
}

// TestHeaderPrefix: what a key in the Authorization header is sent behind is read in the
// scheme's description.
func TestHeaderPrefix(t *testing.T) {
	for _, c := range []struct{ name, description, want string }{
		{"Authorization", "Pass the API token as the Authorization header value prefixed with SSWS: `Authorization: SSWS {API Token}`", "SSWS "},
		{"authorization", "performed by setting the `Authorization` header to `Klaviyo-API-Key your-private-api-key`", "Klaviyo-API-Key "},
		{"Authorization", "Example: 'Authorization: Bearer <token>'", "Bearer "},
		{"Authorization", "Authorization: one of yours, or Authorization: Token [key]", "Token "},
		{"Authorization", "Authorization: Key xxxxxxxx", "Key "},
		{"Authorization", "The Authorization header is the API key.", ""},
		{"Authorization", "Send Authorization: The key of your account.", ""},
		{"Authorization", "", ""},
		{"X-Key", "Authorization: Bearer <token>", ""},
	} {
		if got := headerPrefix(&operation.SecurityScheme{Name: c.name, Description: c.description}); got != c.want {
			t.Errorf("%s, %q: %q, want %q", c.name, c.description, got, c.want)
		}
	}
}
