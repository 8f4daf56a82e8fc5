package openapi

import (
	"fmt"
	"strings"
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
