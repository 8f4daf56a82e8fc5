package openapi

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
)

var manyFiles = map[string]string{
	"api/openapi.yaml":   "openapi: 3.0.3\ninfo: {title: t, version: '1'}\npaths:\n  /a:\n    $ref: paths/a.yaml\n",
	"api/paths/a.yaml":   "post: {operationId: makeIt, requestBody: {content: {application/json: {schema: {type: object, properties: {pet: {$ref: ../../schemas/pet.json}}}}}}}",
	"schemas/pet.json":   `{"type":"object","properties":{"name":{"type":"string"}}}`,
	"other/openapi.yaml": "nothing",
	"README.md":          "openapi: 3.0.0",
}

func zipOf(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(files[name]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarOf(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name])), Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipOf(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // fails for an unknown level only
	_, err := z.Write(data)
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestUnpack(t *testing.T) {
	var digest string
	for name, data := range map[string][]byte{
		"zip": zipOf(t, manyFiles), "tar": tarOf(t, manyFiles), "tar.gz": gzipOf(t, tarOf(t, manyFiles)),
	} {
		if !IsArchive(data) {
			t.Errorf("%s is not recognised", name)
		}
		src, err := Unpack("spec."+name, data, "")
		if err != nil {
			t.Fatal(err)
		}
		if src.Path != "api/openapi.yaml" || len(src.Files) != 4 {
			t.Errorf("%s: main %s of %d files", name, src.Path, len(src.Files))
		}
		res, ops := compileAll(t, src, Options{})
		if len(ops) != 1 || !strings.Contains(string(ops[0].InputSchema), `"pet":{"type":"object","properties":{"name":{"type":"string"}}}`) {
			t.Errorf("%s: %+v, %v", name, ops, res.Warnings)
		}
		if digest != "" && res.Digest != digest {
			t.Errorf("%s: the same files have another digest", name)
		}
		digest = res.Digest
	}
	if IsArchive([]byte(overlaidSpec)) {
		t.Error("a JSON document is taken for an archive")
	}
}

func TestUnpackRefuses(t *testing.T) {
	f := func(files map[string]string, main string, kind problem.Kind, words string) {
		t.Helper()
		_, err := Unpack("x.zip", zipOf(t, files), main)
		if !problem.Is(err, kind) || !strings.Contains(err.Error(), words) || problem.As(err).Remedy == "" {
			t.Errorf("%v: %v, want %s", slices.Collect(maps.Keys(files)), err, words)
		}
	}
	spec := "openapi: 3.0.0"
	f(map[string]string{"../a.yaml": spec}, "", problem.InvalidSpec, "not a path inside")
	f(map[string]string{"/a.yaml": spec}, "", problem.InvalidSpec, "not a path inside")
	f(map[string]string{`a\b.yaml`: spec}, "", problem.InvalidSpec, "not a path inside")
	f(map[string]string{strings.Repeat("d/", maxArchiveDepth+1) + "a.yaml": spec}, "", problem.InvalidSpec, "not a path inside")
	f(map[string]string{"a.yaml": "x: 1"}, "", problem.InvalidSpec, "none of its 1")
	f(map[string]string{"a.yaml": spec, "b.yaml": spec}, "", problem.InvalidSpec, "a.yaml, b.yaml")
	f(map[string]string{"a.yaml": spec}, "b.yaml", problem.InvalidSpec, "no file")
	if src, err := Unpack("x", zipOf(t, map[string]string{"b.yaml": spec, "openapi.json": `{"openapi":"3.0.0"}`}), ""); err != nil || src.Path != "openapi.json" {
		t.Errorf("main is %s, %v", src.Path, err)
	}
	if src, err := Unpack("x", zipOf(t, map[string]string{"b.yaml": spec, "c.yaml": `"swagger": '2.0'`}), "c.yaml"); err != nil || src.Path != "c.yaml" {
		t.Errorf("main is %s, %v", src.Path, err)
	}
	if _, err := Unpack("x", zipOf(t, map[string]string{strings.Repeat("d/", maxArchiveDepth) + "a.yaml": spec}), ""); err != nil {
		t.Error(err)
	}
	broken := zipOf(t, manyFiles)
	if _, err := Unpack("x", broken[:len(broken)-8], ""); !problem.Is(err, problem.InvalidSpec) {
		t.Errorf("half a zip: %v", err)
	}
	if _, err := Unpack("x", []byte("\x1f\x8bnothing"), ""); !problem.Is(err, problem.InvalidSpec) {
		t.Errorf("half a gzip: %v", err)
	}
	// A bomb: what it unpacks to is counted, not what it weighs.
	bomb := gzipOf(t, tarOf(t, map[string]string{"a.yaml": spec, "b.json": strings.Repeat(" ", HardMaxBytes)}))
	if _, err := Unpack("x", bomb, ""); !problem.Is(err, problem.TooLarge) || len(bomb) > 1<<20 {
		t.Errorf("a bomb of %d bytes: %v", len(bomb), err)
	}
	files := make(map[string]string)
	for i := range HardMaxFiles {
		files[fmt.Sprintf("f%d.json", i)] = "{}"
	}
	files["f0.json"] = `{"openapi":"3.0.0"}`
	if _, err := Unpack("x", zipOf(t, files), ""); err != nil {
		t.Error(err)
	}
	files["one-more.json"] = "{}"
	if _, err := Unpack("x", zipOf(t, files), ""); !problem.Is(err, problem.TooLarge) {
		t.Errorf("%d files: %v", len(files), err)
	}
}

// FuzzUnpack: whatever an archive holds, what comes out of it lies inside it and
// below the bounds, and what is refused is a problem that a user reads.
func FuzzUnpack(f *testing.F) {
	whole := zipOf(f, manyFiles)
	f.Add(whole, "")
	f.Add(whole, "api/openapi.yaml")
	f.Add(whole[:len(whole)/2], "")
	f.Add(zipOf(f, map[string]string{"../up.yaml": "openapi: 3.0.0", "a\\b.yaml": "swagger: '2.0'", "/etc/x.json": "{}"}), "../up.yaml")
	var packed, plain bytes.Buffer
	z := gzip.NewWriter(&packed)
	for _, w := range []io.Writer{z, &plain} {
		t := tar.NewWriter(w)
		for _, h := range []tar.Header{
			{Name: "./openapi.json", Size: 18, Mode: 0o600}, {Name: "link.yaml", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		} {
			if err := t.WriteHeader(&h); err != nil {
				f.Fatal(err)
			}
			if _, err := t.Write([]byte(`{"openapi":"3.1"} `)[:h.Size]); err != nil {
				f.Fatal(err)
			}
		}
		if err := t.Close(); err != nil {
			f.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(packed.Bytes(), "")
	f.Add(plain.Bytes(), "openapi.json")
	f.Fuzz(func(t *testing.T, data []byte, main string) {
		src, err := Unpack("x.zip", data, main)
		if err != nil {
			if problem.As(err) == nil {
				t.Fatalf("not a problem: %v", err)
			}
			return
		}
		total := 0
		for name, content := range src.Files {
			if !localPath(name) {
				t.Errorf("%q leads out", name)
			}
			total += len(content)
		}
		if total > HardMaxBytes || len(src.Files) > HardMaxFiles {
			t.Errorf("%d files of %d bytes", len(src.Files), total)
		}
		if !bytes.Equal(src.Data, src.Files[src.Path]) {
			t.Errorf("%q is not what it names", src.Path)
		}
	})
}
