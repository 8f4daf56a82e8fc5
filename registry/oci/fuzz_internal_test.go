package oci

import (
	"testing"

	"github.com/sluicegate/sluice/registry"
)

// FuzzParseManifest: a manifest of another registry that is accepted names content by sha256
// and within the bounds, and is of the kind that was asked for.
func FuzzParseManifest(f *testing.F) {
	const digest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for kind, l := range layouts {
		f.Add([]byte(`{"schemaVersion":2,"mediaType":"`+MediaTypeManifest+`","artifactType":"`+string(kind)+`","config":{"mediaType":"`+l.config+`","digest":"`+digest+`","size":2},"layers":[{"mediaType":"`+l.layer+`","digest":"`+digest+`","size":3}],"annotations":{"a":"b"}}`), string(kind))
	}
	f.Add([]byte(`{"layers":[null]}`), "")
	f.Fuzz(func(t *testing.T, b []byte, kind string) {
		layer, config, annotations, err := parseManifest(b, Kind(kind))
		if err != nil {
			if layer.Digest != "" || config.Digest != "" || annotations != nil {
				t.Fatalf("%v, and %v, %v", err, layer, config)
			}
			return
		}
		l, ok := layouts[Kind(kind)]
		if !ok || layer.MediaType != l.layer || config.MediaType != l.config {
			t.Fatalf("kind %q: %v, %v", kind, layer, config)
		}
		if !registry.Digest(layer.Digest).Valid() || !registry.Digest(config.Digest).Valid() || layer.Size < 0 || layer.Size > l.max || config.Size < 0 || config.Size > maxConfigBytes {
			t.Fatalf("accepted: %v, %v", layer, config)
		}
	})
}
