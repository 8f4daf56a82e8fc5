package textfilter

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestHarmlessCorpus: of the tools of MCP servers and agents that others collected, at
// most one in two hundred is taken for one that tells a model what to do.
func TestHarmlessCorpus(t *testing.T) {
	dir := os.Getenv("SLUICE_CORPUS")
	if dir == "" {
		t.Skip("SLUICE_CORPUS is not set: the collected tools are not part of the repository")
	}
	files, err := filepath.Glob(filepath.Join(dir, "selection", "*", "tools.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tools in %s: %v", dir, err)
	}
	tools, flagged := 0, 0
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			var tool struct {
				Name, Description string
				Params            json.RawMessage
			}
			if err := json.Unmarshal(lines.Bytes(), &tool); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			tools++
			if found := FindAcross(append(Find(tool.Name+"\n"+tool.Description), FindJSON(tool.Params)...), []string{tool.Name, tool.Description}, tool.Params); len(found) > 0 {
				flagged++
				t.Logf("%s: %s: %s: %s", filepath.Base(filepath.Dir(file)), tool.Name, found[0].Kind, found[0].Quote)
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
	}
	t.Logf("%d of %d tools are flagged", flagged, tools)
	if flagged*200 > tools || tools < 1000 {
		t.Errorf("%d of %d tools are flagged, more than one in 200", flagged, tools)
	}
}
