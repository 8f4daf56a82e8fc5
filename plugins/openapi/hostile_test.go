package openapi

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const hostileHead = `"openapi":"3.0.3","info":{"title":"t","version":"1"},"servers":[{"url":"https://a.example.test"}]`

// hostileDocument wraps component schemas around one operation that answers with
// and takes the schema A.
func hostileDocument(schemas string) string {
	ref := `{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/A"}}}`
	return `{` + hostileHead + `,"paths":{"/a":{"post":{"operationId":"a","requestBody":` + ref + `},"responses":{"200":` + ref + `,"description":"ok"}}}}},"components":{"schemas":{` + schemas + `}}}`
}

func repeat(n int, sep string, f func(i int) string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(sep)
		}
		b.WriteString(f(i))
	}
	return b.String()
}

// hostileInputs are documents made to exhaust a reader: small in bytes, huge in
// what they mean. Each names the code it must end with; "" means that it loads.
func hostileInputs() []struct{ name, data, code string } {
	chain := func(n int, link func(i int) string) string {
		return hostileDocument(`"A":{"$ref":"#/components/schemas/S0"},` + repeat(n, ",", link) + fmt.Sprintf(`,"S%d":{"type":"string"}`, n))
	}
	return []struct{ name, data, code string }{
		{"alias bomb", "openapi: 3.0.3\ninfo: {title: t, version: '1'}\nx-a: &a [x, x, x, x, x, x, x, x, x]\n" +
			repeat(20, "\n", func(i int) string {
				p := string(rune('a' + i))
				return fmt.Sprintf("x-%c: &%c [*%s,*%s,*%s,*%s,*%s,*%s,*%s,*%s,*%s]", 'b'+i, 'b'+i, p, p, p, p, p, p, p, p, p)
			}) + "\npaths: {}\n", ""},
		{"alias bomb in a schema", "openapi: 3.0.3\ninfo: {title: t, version: '1'}\nx-0: &a0 {type: object, properties: {x: {type: string}}}\n" +
			repeat(40, "\n", func(i int) string {
				return fmt.Sprintf("x-%d: &a%d {type: object, properties: {l: *a%d, r: *a%d}}", i+1, i+1, i, i)
			}) + "\npaths: {/a: {post: {requestBody: {content: {application/json: {schema: *a40}}}, responses: {'200': {description: ok, content: {application/json: {schema: *a40}}}}}}}\n", ""},
		{"alias of itself", "openapi: 3.0.3\ninfo: {title: t, version: '1'}\npaths: {}\nx: &s {me: *s}\n", codeRecursiveAlias},
		{"merge of itself", "openapi: 3.0.3\ninfo: {title: t, version: '1'}\npaths: &p\n  <<: *p\n", codeRecursiveAlias},
		{"200,000 aliases", "openapi: 3.0.3\ninfo: {title: t, version: '1'}\nx: &a {type: string}\npaths: {}\ny:\n" + strings.Repeat("  - *a\n", 200_000), ""},
		{"11,000 anchors", "openapi: 3.0.3\ninfo: {title: t, version: '1'}\npaths: {}\ny:\n" + repeat(11_000, "\n", func(i int) string { return fmt.Sprintf("  - &n%d x", i) }), codeTooManyNodes},
		{"4 million YAML values", "openapi: 3.0.3\npaths: {}\nx: [" + strings.Repeat("a,", 4_000_000) + "a]\n", codeTooManyNodes},
		{"1 million YAML values in lines", "openapi: 3.0.3\ninfo: {title: t, version: '1'}\npaths: {}\nx:\n" + strings.Repeat("- a\n", 590_000), ""},
		{"4 million JSON values", `{` + hostileHead + `,"paths":{},"x":[` + strings.Repeat("1,", 5_000_000) + `1]}`, codeTooManyNodes},
		{"10,000 deep JSON", `{` + hostileHead + `,"paths":{},"x":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}`, codeTooDeep},
		{"10,000 deep YAML flow", "openapi: 3.0.3\npaths: {}\nx: " + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), codeTooDeep},
		{"1,000 deep YAML blocks", "openapi: 3.0.3\npaths: {}\nx:\n" + repeat(1000, "\n", func(i int) string { return strings.Repeat(" ", i+1) + "a:" }), codeTooDeep},
		{"long string", `{` + hostileHead + `,"paths":{"/a":{"get":{"description":"` + strings.Repeat("x", 5<<20) + `"}}}}`, codeStringTooLong},
		{"long name", `{` + hostileHead + `,"paths":{"/` + strings.Repeat("a", 4<<20-2) + `":{"get":{"responses":{}}}}}`, ""},
		{"100,000 operations", `{` + hostileHead + `,"paths":{` + repeat(100_000, ",", func(i int) string {
			return fmt.Sprintf(`"/p%d":{"get":{"operationId":"o%d","responses":{}}}`, i, i)
		}) + `}}`, codeTooManyOps},
		{"chain of references", chain(3000, func(i int) string { return fmt.Sprintf(`"S%d":{"$ref":"#/components/schemas/S%d"}`, i, i+1) }), ""},
		{"chain of properties", chain(20_000, func(i int) string {
			return fmt.Sprintf(`"S%d":{"type":"object","properties":{"n":{"$ref":"#/components/schemas/S%d"}}}`, i, i+1)
		}), ""},
		{"chain of allOf", chain(10_000, func(i int) string {
			return fmt.Sprintf(`"S%d":{"allOf":[{"$ref":"#/components/schemas/S%d"}]}`, i, i+1)
		}), ""},
		{"doubling allOf", chain(40, func(i int) string {
			return fmt.Sprintf(`"S%d":{"allOf":[{"$ref":"#/components/schemas/S%d"},{"$ref":"#/components/schemas/S%d"}]}`, i, i+1, i+1)
		}), ""},
		{"doubling properties", chain(40, func(i int) string {
			return fmt.Sprintf(`"S%d":{"type":"object","properties":{"l":{"$ref":"#/components/schemas/S%d"},"r":{"$ref":"#/components/schemas/S%d"}}}`, i, i+1, i+1)
		}), ""},
		{"doubling oneOf", chain(40, func(i int) string {
			return fmt.Sprintf(`"S%d":{"oneOf":[{"$ref":"#/components/schemas/S%d"},{"type":"object","properties":{"x":{"$ref":"#/components/schemas/S%d"}}}]}`, i, i+1, i+1)
		}), ""},
		{"everybody merges everybody", hostileDocument(`"A":{"$ref":"#/components/schemas/S0"},` + repeat(30, ",", func(i int) string {
			return fmt.Sprintf(`"S%d":{"allOf":[%s]}`, i, repeat(30, ",", func(j int) string {
				return fmt.Sprintf(`{"properties":{"p%d":{"allOf":[{"$ref":"#/components/schemas/S%d"},{"$ref":"#/components/schemas/S%d"}]}}}`, j%7, j, (i+j)%30)
			}))
		})), ""},
		{"clique", hostileDocument(`"A":{"$ref":"#/components/schemas/S0"},` + repeat(40, ",", func(i int) string {
			return fmt.Sprintf(`"S%d":{"type":"object","properties":{%s}}`, i, repeat(40, ",", func(j int) string { return fmt.Sprintf(`"p%d":{"$ref":"#/components/schemas/S%d"}`, j, j) }))
		})), ""},
		{"a million enum values", hostileDocument(`"A":{"type":"string","enum":[` + repeat(1_000_000, ",", func(i int) string { return fmt.Sprintf(`"v%d"`, i) }) + `]}`), ""},
		{"100,000 properties", hostileDocument(`"A":{"type":"object","properties":{` + repeat(100_000, ",", func(i int) string { return fmt.Sprintf(`"p%d":{"type":"string"}`, i) }) + `}}`), ""},
		{"100,000 required properties", hostileDocument(`"A":{"type":"object","required":[` + repeat(100_000, ",", func(i int) string { return fmt.Sprintf(`"p%d"`, i) }) + `],"properties":{` + repeat(100_000, ",", func(i int) string { return fmt.Sprintf(`"p%d":{"type":"string"}`, i) }) + `}}`), ""},
		{"broken references in every property", hostileDocument(`"A":{"type":"object","properties":{` + repeat(50_000, ",", func(i int) string { return fmt.Sprintf(`"p%d":{"$ref":"#/components/schemas/N%d"}`, i, i) }) + `}}`), ""},
		{"broken references beside an $id", strings.Replace(hostileDocument(`"A":{"$id":"https://a.example.test/a","type":"object","properties":{`+repeat(30_000, ",", func(i int) string { return fmt.Sprintf(`"p%d":{"$ref":"#/components/schemas/N%d"}`, i, i) })+`}}`), "3.0.3", "3.1.0", 1), ""},
		{"cycles of other objects", `{` + hostileHead + `,"paths":{"/a":{"$ref":"#/paths/~1b"},"/b":{"$ref":"#/paths/~1a"},"/c":{"get":{"parameters":[{"$ref":"#/components/parameters/P"}],"responses":{"200":{"$ref":"#/components/responses/X"}}},"post":{"requestBody":{"$ref":"#/components/requestBodies/R"}}}},"components":{"parameters":{"P":{"$ref":"#/components/parameters/P"}},"requestBodies":{"R":{"$ref":"#/components/requestBodies/R"}},"responses":{"X":{"$ref":"#/components/responses/Y"},"Y":{"$ref":"#/components/responses/X"}},"securitySchemes":{"S":{"$ref":"#/components/securitySchemes/S"}}}}`, ""},
		{"NUL", "openapi: 3.0.3\ninfo: {title: \"a\x00b\"}\npaths: {}\n", codeEncoding},
		{"UTF-16", "\xff\xfe{\x00}\x00", codeEncoding},
		{"not UTF-8", "{\"openapi\":\"3.0.3\",\"x\":\"\xff\"}", codeEncoding},
		{"two documents", "openapi: 3.0.3\npaths: {}\n---\nopenapi: 3.0.3\n", codeMultiDocument},
		{"HTML", "<!doctype html><html></html>", codeNotOpenAPI},
		{"empty", " \n\t ", codeEmpty},
		{"comments", "// {}", codeJSONSyntax},
	}
}

// TestHostile compiles each hostile document in a process of its own, because a
// stack overflow cannot be recovered and memory can only be judged from outside.
func TestHostile(t *testing.T) {
	dir := t.TempDir()
	for _, in := range hostileInputs() {
		t.Run(in.name, func(t *testing.T) {
			file := filepath.Join(dir, strings.ReplaceAll(in.name, " ", "_"))
			if err := os.WriteFile(file, []byte(in.data), 0o600); err != nil {
				t.Fatal(err)
			}
			r := compileInChild(t, file)
			checkCost(t, in.name, r)
			if r.Code != in.code || (r.Error == "") != (in.code == "") {
				t.Errorf("code %q (%s), want %q", r.Code, r.Error, in.code)
			}
			t.Logf("%.2f s, peak %d MB, %d tools, %v %.200s", r.Seconds, r.PeakKB>>10, r.Tools, r.Warnings[:min(len(r.Warnings), 3)], r.Error)
		})
	}
}

// TestHostileCorpus does the same with the adversarial inputs of the corpus.
func TestHostileCorpus(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(corpusDir(t), "adversarial", "*"))
	if err != nil || len(files) == 0 {
		t.Fatal("no adversarial inputs", err)
	}
	// What must be refused, by code; everything else must load.
	refused := map[string]string{
		"array.json": codeNotOpenAPI, "asyncapi.yaml": codeNotOpenAPI, "html-page.html": codeNotOpenAPI, "json-schema.json": codeNotOpenAPI, "null.yaml": codeNotOpenAPI,
		"empty.yaml": codeEmpty, "only-whitespace.yaml": codeEmpty, "invalid-utf8.json": codeEncoding, "nul-bytes.yaml": codeEncoding, "utf16be.yaml": codeEncoding,
		"deep-nesting-10k.yaml": codeTooDeep, "json-comments.json": codeJSONSyntax, "json-trailing-comma.json": codeJSONSyntax, "yaml-tabs.yaml": codeYAMLSyntax,
		"openapi-2.9.yaml": codeVersion, "swagger-1.2.json": codeVersion, "ops-100k.json": codeTooManyOps, "yaml-multi-document.yaml": codeMultiDocument,
		"yaml-recursive-alias.yaml": codeRecursiveAlias,
	}
	tools := map[string]int{
		"bom.json": 1, "bom.yaml": 1, "crlf-lines.yaml": 1, "duplicate-operation-ids.yaml": 5, "weird-operation-ids.json": 7, "body-kinds.yaml": 6, "feature-32.yaml": 3,
		"path-param-problems.yaml": 6, "yaml-merge-keys.yaml": 2, "self-ref.yaml": 1, "param-ref-cycle.yaml": 1, "wrong-types.json": 1, "path-traversal-ref.yaml": 2,
		"yaml11-norway.yaml": 1, "swagger2-traps.yaml": 1, "json-duplicate-keys.json": 1, "version-number-not-string.yaml": 1, "missing-paths-31-webhooks.yaml": 0,
	}
	for _, file := range files {
		name := filepath.Base(file)
		if strings.HasSuffix(name, ".gz") {
			file = gunzip(t, file)
			name = strings.TrimSuffix(name, ".gz")
		}
		t.Run(name, func(t *testing.T) {
			r := compileInChild(t, file)
			checkCost(t, name, r)
			if r.Code != refused[name] {
				t.Errorf("code %q (%s), want %q", r.Code, r.Error, refused[name])
			}
			if want, ok := tools[name]; ok && r.Tools != want {
				t.Errorf("%d tools, want %d", r.Tools, want)
			}
		})
	}
}

func gunzip(t *testing.T, file string) string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(file), ".gz"))
	w, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(w, io.LimitReader(z, 64<<20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}
