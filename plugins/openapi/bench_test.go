package openapi

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/operation"
)

// githubSpec is the GitHub specification of the corpus, else a made one of the
// same size and shape: the benchmark needs no network.
func githubSpec(b testing.TB) []byte {
	b.Helper()
	if dir := os.Getenv("SLUICE_CORPUS"); dir != "" {
		data, err := os.ReadFile(filepath.Join(dir, "specs", "github", "api.github.com.json"))
		if err != nil {
			b.Fatal(err)
		}
		return data
	}
	return syntheticSpec()
}

// syntheticSpec writes a specification like GitHub's: 13 MB of indented JSON,
// 1,200 operations, 970 schemas, examples that make up most of the text,
// references everywhere. The same bytes every time.
func syntheticSpec() []byte {
	const operations, schemas, parameters = 1200, 970, 200
	var w strings.Builder
	text := func(n, seed int) string {
		words := [...]string{"the", "repository", "of", "an", "organization", "user", "that", "you", "can", "access", "with", "your", "token", "returns", "a", "list"}
		var s strings.Builder
		for i := range n {
			if i > 0 {
				s.WriteByte(' ')
			}
			s.WriteString(words[(seed*7+i*3+i*i)%len(words)])
		}
		return s.String() + "."
	}
	w.WriteString("{\n  \"openapi\": \"3.0.3\",\n  \"info\": {\"title\": \"Synthetic forge\", \"version\": \"1.1.4\", \"description\": \"Made for benchmarks.\"},\n")
	w.WriteString("  \"servers\": [{\"url\": \"https://api.forge.example\"}],\n  \"paths\": {\n")
	for i := range operations {
		if i > 0 {
			w.WriteString(",\n")
		}
		method, body := "get", ""
		if i%4 == 1 {
			method = "post"
			body = fmt.Sprintf(`
        "requestBody": {
          "required": true,
          "content": {
            "application/json": {
              "schema": {
                "type": "object",
                "required": ["title"],
                "properties": {
                  "title": {"type": "string", "description": %q},
                  "labels": {"type": "array", "items": {"type": "string"}},
                  "assignee": {"type": "string", "nullable": true},
                  "target": {"type": "object", "properties": {"ref": {"type": "string"}, "force": {"type": "boolean", "default": %v}}}
                }
              }
            }
          }
        },`, text(12, i), i%8 == 0)
		}
		fmt.Fprintf(&w, `    "/orgs/{org}/area%d/{item_id}/things": {
      %q: {
        "summary": %q,
        "description": %q,
        "tags": ["area%d"],
        "operationId": "area%d/list-things-for-org",
        "parameters": [
          {"$ref": "#/components/parameters/parameter-%d"},
          {
            "name": "org",
            "in": "path",
            "required": true,
            "description": "The organization name. The name is not case sensitive.",
            "schema": {
              "type": "string"
            }
          },
          {"name": "item_id", "in": "path", "required": true, "schema": {"type": "integer"}}
        ],%s
        "responses": {
          "200": {
            "description": "Response",
            "content": {
              "application/json": {
                "schema": {"type": "array", "items": {"$ref": "#/components/schemas/schema-%d"}},
                "examples": {
                  "default": {
                    "value": [
`, i, method, text(6, i), text(40, i+1), i%40, i, i%parameters, body, (i*31)%schemas)
		for j := range 22 {
			if j > 0 {
				w.WriteString(",\n")
			}
			fmt.Fprintf(&w, `                      {
                        "id": %d,
                        "node_id": "MDU6SXNzdWUx%d",
                        "url": "https://api.forge.example/repos/octo/hello/%d",
                        "state": "open"
                      }`, i*100+j, j, j)
		}
		w.WriteString("\n                    ]\n                  }\n                }\n              }\n            }\n          }\n        }\n      }\n    }")
	}
	w.WriteString("\n  },\n  \"components\": {\n    \"parameters\": {\n")
	for i := range parameters {
		if i > 0 {
			w.WriteString(",\n")
		}
		fmt.Fprintf(&w, `      "parameter-%d": {"name": "per_page_%d", "in": "query", "description": %q, "schema": {"type": "integer", "default": 30}}`, i, i, text(20, i))
	}
	w.WriteString("\n    },\n    \"schemas\": {\n")
	for i := range schemas {
		if i > 0 {
			w.WriteString(",\n")
		}
		fmt.Fprintf(&w, "      \"schema-%d\": {\n        \"title\": \"Schema %d\",\n        \"type\": \"object\",\n        \"properties\": {\n", i, i)
		for j := range 24 {
			fmt.Fprintf(&w, "          \"field_%d\": {\n            \"type\": \"string\",\n            \"nullable\": %v,\n            \"description\": %q\n          },\n", j, j%3 == 0, text(8, i+j))
		}
		fmt.Fprintf(&w, "          \"next\": {\n            \"$ref\": \"#/components/schemas/schema-%d\"\n          },\n", (i*7+1)%schemas)
		if i%3 != 0 {
			fmt.Fprintf(&w, "          \"owner\": {\"type\": \"string\"}\n        }\n      }")
			continue
		}
		fmt.Fprintf(&w, "          \"owner\": {\n            \"allOf\": [{\"$ref\": \"#/components/schemas/schema-%d\"}], \"nullable\": true\n          }\n        }\n      }", (i+1)%schemas)
	}
	w.WriteString("\n    }\n  }\n}\n")
	return []byte(w.String())
}

func TestSyntheticSpecIsLikeGitHubs(t *testing.T) {
	data := syntheticSpec()
	if len(data) < 11_000_000 || len(data) > 15_000_000 {
		t.Errorf("%d bytes, want about 13 MB", len(data))
	}
	// Far beyond the default: the race detector and the packages beside take their part.
	limits := Limits{Timeout: 12 * DefaultTimeout}
	res, err := Compile(t.Context(), Source{Name: "synthetic.json", Data: data}, Options{Limits: limits})
	if err != nil || res.Tools != 1200 {
		t.Errorf("%v, %+v", err, res)
	}
}

// BenchmarkCompileGitHub is the compiler alone; the whole way to a connector, beside
// what it is compared with, is BenchmarkGitHub of plugins/connector.
func BenchmarkCompileGitHub(b *testing.B) {
	data := githubSpec(b)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		tools := 0
		_, err := Compile(b.Context(), Source{Name: "github.json", Data: data}, Options{Each: func(*operation.Operation) error {
			tools++
			return nil
		}})
		if err != nil || tools < 1100 {
			b.Fatal(tools, err)
		}
	}
}

// BenchmarkRead compares the reader alone.
func BenchmarkRead(b *testing.B) {
	data := githubSpec(b)
	lim := Limits{}.withDefaults()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := read(b.Context(), data, lim); err != nil {
			b.Fatal(err)
		}
	}
}
