package specification

import (
	"os"
	"path/filepath"
	"testing"
)

// TestNearestFile: a mistyped file is answered with the document that was meant.
func TestNearestFile(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"petstore.yaml", "petstore.json", "orders.yml", "notes.txt", ".hidden.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for typed, want := range map[string]string{
		"petstor.yaml": "petstore.json", "petstore.yml": "petstore.json", "order.yml": "orders.yml", "orders": "orders.yml",
		"nothing.yaml": "", "note.txt": "",
	} {
		got := nearestFile(filepath.Join(dir, typed))
		if want != "" {
			want = filepath.Join(dir, want)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", typed, got, want)
		}
	}
	if got := nearestFile(filepath.Join(dir, "none", "petstore.yaml")); got != "" {
		t.Errorf("in a folder that is not there: %q", got)
	}
	t.Chdir(dir)
	if got := nearestFile("petstor.json"); got != "petstore.json" {
		t.Errorf("in the present folder: %q", got)
	}
}
