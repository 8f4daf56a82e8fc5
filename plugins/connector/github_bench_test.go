package connector_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/plugins/operation"
)

// BenchmarkGitHub compares the whole way from the bytes of GitHub's specification
// to those of a connector with only parsing them, as JSON and as YAML.
func BenchmarkGitHub(b *testing.B) {
	path, dir := os.Getenv("SLUICE_GITHUB_SPEC"), os.Getenv("SLUICE_CORPUS")
	switch {
	case path != "":
	case dir != "":
		path = filepath.Join(dir, "specs", "github", "api.github.com.json")
	default:
		b.Skip("neither SLUICE_GITHUB_SPEC nor SLUICE_CORPUS is set")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	measured := func(b *testing.B, data []byte, f func()) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		start := cpuTime(b)
		for b.Loop() {
			f()
		}
		b.ReportMetric(float64(cpuTime(b)-start)/float64(b.N), "cpu-ns/op")
	}
	make1 := func(b *testing.B, data []byte) {
		measured(b, data, func() {
			api := new(operation.API)
			builder := connector.NewBuilder(api)
			res, err := openapi.Compile(b.Context(), openapi.Source{Name: "github", Data: data}, openapi.Options{
				Each: builder.Add, Limits: openapi.Limits{Timeout: time.Minute}, // the machine may be busy
			})
			if err != nil {
				b.Fatal(err)
			}
			*api = *res.API
			if a, err := builder.Finish(); err != nil || a.Tools < 1100 {
				b.Fatal(a.Tools, err)
			}
		})
	}
	b.Run("format=json/impl=encodingjson", func(b *testing.B) {
		measured(b, data, func() {
			var v any
			if err := json.Unmarshal(data, &v); err != nil {
				b.Fatal(err)
			}
		})
	})
	b.Run("format=json/impl=sluice", func(b *testing.B) { make1(b, data) })
	var text []byte
	inYAML := func(b *testing.B) []byte { // takes longer than what is measured
		if text == nil {
			text = asYAML(b, data)
		}
		return text
	}
	b.Run("format=yaml/impl=yamlnodes", func(b *testing.B) {
		text := inYAML(b)
		measured(b, text, func() {
			var n yaml.Node
			if err := yaml.Unmarshal(text, &n); err != nil {
				b.Fatal(err)
			}
		})
	})
	b.Run("format=yaml/impl=sluice", func(b *testing.B) { make1(b, inYAML(b)) })
}

// asYAML writes JSON as block YAML, as people publish it.
func asYAML(b *testing.B, data []byte) []byte {
	b.Helper()
	var n yaml.Node
	if err := yaml.Unmarshal(data, &n); err != nil {
		b.Fatal(err)
	}
	var block func(n *yaml.Node)
	block = func(n *yaml.Node) {
		n.Style = 0
		for _, c := range n.Content {
			block(c)
		}
	}
	block(&n)
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(&n); err != nil {
		b.Fatal(err)
	}
	if err := enc.Close(); err != nil {
		b.Fatal(err)
	}
	return out.Bytes()
}
