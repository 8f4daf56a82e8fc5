package admin_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "rewrite golden files")

func document(t *testing.T, w *world) []byte {
	t.Helper()
	a := w.do("GET", "/v1/openapi.json", nil, "Authorization", "")
	if a.StatusCode != http.StatusOK {
		t.Fatalf("status %d", a.StatusCode)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(a.body), "", "  "); err != nil {
		t.Fatal(err)
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// The golden file is what clients see of a change.
func TestDocumentIsGolden(t *testing.T) {
	w := newWorld(t)
	got := document(t, w)
	path := filepath.Join("testdata", "openapi.json")
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("the API's document differs from testdata/openapi.json; run with -update and review the difference")
	}
	if again := document(t, newWorld(t)); !bytes.Equal(got, again) {
		t.Error("the document is not the same on every start")
	}
	fromServer, err := w.srv.OpenAPI()
	if err != nil || !json.Valid(fromServer) {
		t.Errorf("OpenAPI: %v", err)
	}
}
