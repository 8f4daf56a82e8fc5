package openapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// read parses one document behind the guards: size, encoding, depth, number of
// values, length of strings, deadline. Errors are *syntaxError or the context's.
func read(ctx context.Context, data []byte, lim Limits) (*document, []duplicate, error) {
	if len(data) > lim.MaxBytes {
		return nil, nil, &syntaxError{
			code: codeTooLarge, line: 1, column: 1, detail: fmt.Sprintf("%d bytes, more than the limit of %d", len(data), lim.MaxBytes),
			remedy: "split the specification, or raise the limit with --max-spec",
		}
	}
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	if err := checkEncoding(data); err != nil {
		return nil, nil, err
	}
	head := bytes.TrimLeft(data, " \t\r\n")
	if len(head) == 0 {
		return nil, nil, emptyDocument()
	}
	if head[0] == '<' {
		return nil, nil, &syntaxError{
			code: codeNotOpenAPI, line: 1, column: 1, detail: "this is an HTML or XML page, not a specification",
			remedy: "give the URL of the JSON or YAML document itself, often linked from the page",
		}
	}
	if bytes.HasPrefix(head, []byte("//")) || bytes.HasPrefix(head, []byte("/*")) {
		return nil, nil, &syntaxError{
			code: codeJSONSyntax, line: 1 + bytes.Count(data[:len(data)-len(head)], []byte("\n")), column: 1,
			detail: "JSON has no comments", remedy: "remove the comments",
		}
	}
	if head[0] == '[' || head[0] == '{' && !flowYAML(head[1:]) {
		return readJSON(ctx, data, lim)
	}
	return readYAML(ctx, data, lim)
}

// flowYAML reports whether what follows a first brace can only be YAML: a name
// without double quotes.
func flowYAML(b []byte) bool {
	b = bytes.TrimLeft(b, " \t\r\n")
	if len(b) == 0 {
		return false
	}
	return b[0] == '\'' || b[0] == '_' || 'a' <= b[0] && b[0] <= 'z' || 'A' <= b[0] && b[0] <= 'Z'
}

func checkEncoding(b []byte) error {
	if bytes.HasPrefix(b, []byte("\xFE\xFF")) || bytes.HasPrefix(b, []byte("\xFF\xFE")) ||
		len(b) > 1 && (b[0] == 0) != (b[1] == 0) {
		return &syntaxError{
			code: codeEncoding, line: 1, column: 1, detail: "UTF-16 is not supported",
			remedy: "save the document as UTF-8",
		}
	}
	bad := -1
	what := "is not UTF-8"
	if i := bytes.IndexByte(b, 0); i >= 0 {
		bad, what = i, "is a NUL byte"
	}
	if !utf8.Valid(b) {
		for i := 0; i < len(b); {
			r, n := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && n == 1 {
				if bad < 0 || i < bad {
					bad, what = i, "is not UTF-8"
				}
				break
			}
			i += n
		}
	}
	if bad < 0 {
		return nil
	}
	line := bytes.Count(b[:bad], []byte("\n")) + 1
	return &syntaxError{
		code: codeEncoding, line: line, column: bad - bytes.LastIndexByte(b[:bad], '\n'),
		detail: fmt.Sprintf("byte %d (0x%02x) %s", bad, b[bad], what), remedy: "save the document as UTF-8 text",
	}
}

// version is the specification version a document is read as.
type version uint8

const (
	swagger20 version = iota + 1
	openapi30
	openapi31
	openapi32
)

// detect finds out what the document is.
func (c *compiler) detect(root value) (version, string, error) {
	if !root.isObject() {
		return 0, "", fatal(c.file, codeNotOpenAPI, root, "give an OpenAPI or Swagger document",
			"the document is %s, not an object", root.kind())
	}
	open, swagger := root.get("openapi"), root.get("swagger")
	if open.exists() && swagger.exists() {
		c.warn(codeVersionLoose, swagger, "remove one of them", "both openapi and swagger are given; openapi counts")
	}
	if !open.exists() && swagger.exists() {
		s := strings.TrimSpace(swagger.text())
		if s != "2.0" && s != "2" {
			return 0, "", fatal(c.file, codeVersion, swagger, "convert the document to Swagger 2.0 or OpenAPI 3",
				"Swagger %s is not supported", quoteShort(s))
		}
		return swagger20, "2.0", nil
	}
	if !open.exists() {
		return 0, "", c.notOpenAPI(root)
	}
	s := strings.TrimSpace(open.text())
	if open.kind() == kindNumber {
		c.warn(codeVersionLoose, open, fmt.Sprintf("write openapi: \"%s.0\"", s), "the version is a number, not a string")
	}
	for prefix, v := range map[string]version{"3.0": openapi30, "3.1": openapi31, "3.2": openapi32} {
		if s == prefix || strings.HasPrefix(s, prefix+".") || strings.HasPrefix(s, prefix+"-") {
			return v, s, nil
		}
	}
	if s == "3" {
		c.warnFor("3", codeVersionLoose, open, "write the full version, for example 3.0.3", "version 3 is read as 3.0")
		return openapi30, s, nil
	}
	return 0, "", fatal(c.file, codeVersion, open, "use OpenAPI 3.0, 3.1 or 3.2, or Swagger 2.0",
		"OpenAPI version %s is not supported", quoteShort(s))
}

// notOpenAPI names what the document is instead, where that can be seen.
func (c *compiler) notOpenAPI(root value) error {
	what := ""
	switch {
	case root.get("asyncapi").exists():
		what = "this is an AsyncAPI document"
	case root.get("swaggerVersion").exists():
		return fatal(c.file, codeVersion, root.get("swaggerVersion"), "convert the document to Swagger 2.0 or OpenAPI 3",
			"Swagger %s is not supported", quoteShort(root.get("swaggerVersion").text()))
	case root.get("arazzo").exists():
		what = "this is an Arazzo document (workflows)"
	case root.get("overlay").exists():
		what = "this is an Overlay document; it is applied to a specification"
	case root.get("info").get("_postman_id").exists():
		what = "this is a Postman collection"
	case root.get("mcpServers").exists():
		what = "this is an MCP client configuration"
	case root.get("$schema").exists() || root.get("type").exists() && root.get("properties").exists():
		what = "this is a JSON Schema"
	case root.get("data").exists() && root.get("data").get("__schema").exists():
		what = "this is a GraphQL schema"
	}
	if what != "" {
		return fatal(c.file, codeNotOpenAPI, root, "give an OpenAPI or Swagger document", "%s, not an OpenAPI document", what)
	}
	return fatal(c.file, codeNotOpenAPI, root, "add `openapi: 3.1.0` (or `swagger: \"2.0\"`) at the top if it is one",
		"not an OpenAPI document: neither openapi nor swagger is given")
}

// readFatal turns an error of read into what Compile returns.
func readFatal(file string, err error) error {
	var se *syntaxError
	if !errors.As(err, &se) {
		return err
	}
	return fatalAt(file, se.code, se.line, se.column, "", se.remedy, se.detail)
}

func quoteShort(s string) string { return fmt.Sprintf("%q", cutText(s, 40)) }
