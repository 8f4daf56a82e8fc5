package openapi

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/operation"
)

// TestToldHeaders: headers that a specification declares of a success and that carry
// information are named in the plan.
func TestToldHeaders(t *testing.T) {
	doc := `{"openapi":"3.0.3","info":{"title":"T","version":"1"},"paths":{"/a":{"get":{"operationId":"a","responses":{
		"200":{"description":"ok","headers":{"X-Pages":{"schema":{"type":"integer"}},"ETag":{"schema":{"type":"string"}},"X-RateLimit-Reset":{"schema":{"type":"string"}},
			"X-Request-Id":{"schema":{"type":"string"}},"token":{"schema":{"type":"string"}},"X-Next-Token":{"schema":{"type":"string"}},"a b":{"schema":{"type":"string"}}}},
		"202":{"$ref":"#/components/responses/Job"},
		"404":{"description":"no","headers":{"X-Reason":{"schema":{"type":"string"}}}}}}}},
		"components":{"headers":{"J":{"schema":{"type":"string"}}},"responses":{"Job":{"description":"job","headers":{"x-pages":{"schema":{"type":"integer"}},"X-Job":{"$ref":"#/components/headers/J"}}}}}}`
	var told []string
	_, err := Compile(t.Context(), Source{Name: "t.json", Data: []byte(doc)}, Options{Each: func(op *operation.Operation) error {
		told = op.Plan.Told
		return nil
	}})
	if want := []string{"X-Pages", "X-Next-Token", "X-Job"}; err != nil || !slices.Equal(told, want) {
		t.Fatalf("%q, want %q (%v)", told, want, err)
	}
}

// TestTellsHeader: what informs is told; what proves who calls, or is of the transport,
// never is, whatever the specification declares.
func TestTellsHeader(t *testing.T) {
	for _, name := range []string{"X-Total-Count", "X-Next-Page", "X-Next-Page-Token", "Location", "Content_Version", "x" + strings.Repeat("y", maxHeaderName-1)} {
		if !tellsHeader(name) {
			t.Errorf("%s is not told", name)
		}
	}
	for _, name := range []string{
		"", "X Y", "X:Y", "Ünder", strings.Repeat("y", maxHeaderName+1),
		"Set-Cookie", "X-Auth-Token", "X-Auth", "Authorization", "WWW-Authenticate", "X-Access-Key", "X-Api-Key", "X-Jwt-Assertion", "X-Bearer", "X-Session-Id",
		"X-Client-Secret", "X-Credential", "X-CSRF", "X-Refresh-Token", "X-Otp", "X-Request-Id", "X-RateLimit-Remaining", "ETag", "Content-Length",
	} {
		if tellsHeader(name) {
			t.Errorf("%s is told", name)
		}
	}
}
