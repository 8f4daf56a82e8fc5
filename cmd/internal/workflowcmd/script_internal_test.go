package workflowcmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/registry"
)

// TestReadFile: files that are too large, empty or none are refused with what they are.
func TestReadFile(t *testing.T) {
	write := func(n int) string {
		name := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(name, []byte(strings.Repeat("x", n)), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for n, want := range map[int]string{maxSchemaFile: "", maxSchemaFile + 1: "has 65537 bytes, at most 65536"} {
		if _, err := readFile(write(n), maxSchemaFile); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if _, err := readFile(t.TempDir(), maxSchemaFile); err == nil || !strings.Contains(err.Error(), "is not a file") {
		t.Error(err)
	}
	in := draft.SaveScript{}
	if err := source(&in, write(0)); err == nil || !strings.Contains(err.Error(), "is empty") {
		t.Error(err)
	}
	if err := source(&in, write(registry.MaxScript)); err != nil || len(in.Code) != registry.MaxScript {
		t.Error(err)
	}
	if err := source(&in, "call_12"); err != nil || in.Run != "call_12" || in.Code != "" {
		t.Errorf("%+v %v", in, err)
	}
}

func TestParameter(t *testing.T) {
	for given, want := range map[string]string{"a=1": "1", "a=x y": `"x y"`, `a="1"`: `"1"`, "a=true": "true", "a=b=c": `"b=c"`} {
		if p, err := parameter(given); err != nil || p.Name != "a" || string(p.Value) != want {
			t.Errorf("%s: %s %v", given, p.Value, err)
		}
	}
	if _, err := parameter("a"); err == nil {
		t.Error("accepted")
	}
}
