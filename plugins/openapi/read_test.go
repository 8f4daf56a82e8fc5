package openapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/operation"
)

func TestReadErrors(t *testing.T) {
	f := func(data, code string, line, column int, words string) {
		t.Helper()
		_, _, err := read(t.Context(), []byte(data), Limits{}.withDefaults())
		var se *syntaxError
		if !errors.As(err, &se) {
			t.Fatalf("read(%q) = %v, want %s", data, err, code)
		}
		if se.code != code || se.line != line || se.column != column || !strings.Contains(se.detail, words) || se.remedy == "" {
			t.Fatalf("read(%q) = %s %d:%d %q (%s), want %s %d:%d %q", data, se.code, se.line, se.column, se.detail, se.remedy, code, line, column, words)
		}
	}
	f("", codeEmpty, 1, 1, "empty")
	f(" \n", codeEmpty, 1, 1, "empty")
	f("{\n \"a\": 1,\n}", codeJSONSyntax, 3, 1, "comma too many")
	f("{\n \"a\" 1}", codeJSONSyntax, 2, 6, "colon")
	f("{\"a\": tru}", codeJSONSyntax, 1, 7, "true")
	f("{\"a\": 01}", codeJSONSyntax, 1, 8, "comma or }")
	f("{\"a\": \"x\ny\"}", codeJSONSyntax, 1, 9, "control character")
	f("{\"a\": \"x", codeJSONSyntax, 1, 7, "no closing quote")
	f(`{"a": "\x"}`, codeJSONSyntax, 1, 8, "escape")
	f(`{"a": "\u12g4"}`, codeJSONSyntax, 1, 8, "hex")
	f(`{"a": [1 2]}`, codeJSONSyntax, 1, 10, "comma or ]")
	f(`{"a": /* c */ 1}`, codeJSONSyntax, 1, 7, "comments")
	f(`{} {}`, codeJSONSyntax, 1, 4, "after the end")
	f(`{"a":1`, codeJSONSyntax, 1, 7, "ends inside")
	f("a: b\n\tc: d\n", codeYAMLSyntax, 2, 1, "tab")
	f("a: [1,\n b: }", codeYAMLSyntax, 2, 5, "flow")
	f("a: *b", codeYAMLSyntax, 1, 4, "unknown anchor")
	f("a: 1\n---\nb: 2\n", codeMultiDocument, 2, 1, "several")
	f("a: &x [*x]", codeRecursiveAlias, 1, 8, "inside")
	f("{\"a\":\n \"\xff\"}", codeEncoding, 2, 3, "not UTF-8")
	f("a: \"\x00\"", codeEncoding, 1, 5, "NUL")
	f("\xfe\xff\x00{", codeEncoding, 1, 1, "UTF-16")
	f("<html>", codeNotOpenAPI, 1, 1, "HTML")
}

// TestLimits has each bound at its limit and one past it.
func TestLimits(t *testing.T) {
	f := func(name string, lim Limits, data string, code string) {
		t.Helper()
		_, err := Compile(t.Context(), Source{Name: "x", Data: []byte(data)}, Options{Limits: lim})
		if got := Code(err); got != code || code == "" && err != nil {
			t.Errorf("%s: %v, want code %q", name, err, code)
		}
	}
	doc := `{"openapi":"3.0.3","paths":{%s}}`
	op := func(n int) string {
		return fmt.Sprintf(doc, repeat(n, ",", func(i int) string { return fmt.Sprintf(`"/p%d":{"get":{},"put":{}}`, i) }))
	}
	empty := fmt.Sprintf(doc, "")
	f("bytes", Limits{MaxBytes: len(empty)}, empty, "")
	f("bytes", Limits{MaxBytes: len(empty) - 1}, empty, codeTooLarge)
	f("paths", Limits{MaxPaths: 3}, op(3), "")
	f("paths", Limits{MaxPaths: 3}, op(4), codeTooManyOps)
	f("operations", Limits{MaxOperations: 6}, op(3), "")
	f("operations", Limits{MaxOperations: 5}, op(3), codeTooManyOps)
	deep := fmt.Sprintf(doc, `"/a":{"get":{"x-a":`+strings.Repeat("[", 5)+strings.Repeat("]", 5)+`}}`)
	f("depth", Limits{MaxDepth: 8}, deep, "")
	f("depth", Limits{MaxDepth: 7}, deep, codeTooDeep)
	deepYAML := "openapi: 3.0.3\npaths:\n  /a:\n    get:\n      x-a: [[[]]]\n"
	f("YAML depth", Limits{MaxDepth: 10}, deepYAML, "")
	f("YAML depth", Limits{MaxDepth: 4}, deepYAML, codeTooDeep)
	f("values", Limits{MaxNodes: 5}, empty, "")
	f("values", Limits{MaxNodes: 4}, empty, codeTooManyNodes)
	f("YAML values", Limits{MaxNodes: 5}, "openapi: 3.0.3\npaths: {}\n", "")
	f("YAML values", Limits{MaxNodes: 4}, "openapi: 3.0.3\npaths: {}\n", codeTooManyNodes)
	f("string", Limits{MaxString: 7}, empty, "")
	f("string", Limits{MaxString: 5}, empty, codeStringTooLong)
	f("YAML string", Limits{MaxString: 7}, "openapi: 3.0.3\npaths: {}\n", "")
	f("YAML string", Limits{MaxString: 5}, "openapi: 3.0.3\npaths: {}\n", codeStringTooLong)
	f("emitted", Limits{MaxEmitted: 1 << 20}, op(3), "")
	f("emitted", Limits{MaxEmitted: 100}, op(3), codeBudget)
	if Limits.withDefaults(Limits{MaxBytes: 1 << 40, MaxDepth: 1 << 20}) != (Limits{MaxBytes: HardMaxBytes, MaxDepth: hardMaxDepth}).withDefaults() {
		t.Error("hard limits can be exceeded")
	}
}

func TestLimitsFor(t *testing.T) {
	t.Parallel()
	doc := []byte(`{"openapi":"3.0.3","info":{"title":"t","version":"1"},"paths":{},"x-large":"` + strings.Repeat("x", 1<<20) + `"}`)
	for mib, want := range map[int]string{1: codeTooLarge, 2: "", 64: ""} {
		if _, err := Compile(t.Context(), Source{Name: "f", Data: doc}, Options{Limits: LimitsFor(mib)}); Code(err) != want || (err == nil) != (want == "") {
			t.Errorf("%d MiB: %v, want %q", mib, err, want)
		}
	}
	if LimitsFor(DefaultMaxBytes>>20).withDefaults() != (Limits{}).withDefaults() {
		t.Error("the limits for the default size are not the default limits")
	}
	if l := LimitsFor(64); l.MaxBytes != HardMaxBytes || l.MaxOperations != 2*DefaultMaxOperations {
		t.Errorf("for 64 MiB: %+v", l)
	}
}

func TestTimeout(t *testing.T) {
	if got := DefaultTimeout + 3_828_201*timePerByte; got < 15*time.Second || got > 20*time.Second {
		t.Errorf("a specification of Kubernetes's size may take %s: it takes 10 s on a busy machine", got)
	}
	_, err := Compile(t.Context(), Source{Name: "x.json", Data: syntheticSpec()}, Options{Limits: Limits{Timeout: time.Nanosecond}})
	if !problem.Is(err, problem.Timeout) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want a timeout", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Compile(ctx, Source{Name: "x.json", Data: syntheticSpec()}, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want canceled", err)
	}
	stop := errors.New("stop")
	_, err = Compile(t.Context(), Source{Name: "x.json", Data: syntheticSpec()}, Options{Each: func(*operation.Operation) error { return stop }})
	if !errors.Is(err, stop) {
		t.Errorf("%v, want the receiver's error", err)
	}
}

func TestDetect(t *testing.T) {
	f := func(data, code, words string) {
		t.Helper()
		_, err := Compile(t.Context(), Source{Name: "spec.yaml", Data: []byte(data)}, Options{})
		p := problem.As(err)
		if p == nil || p.Kind != problem.InvalidSpec || Code(err) != code || !strings.Contains(err.Error(), words) ||
			!strings.HasPrefix(err.Error(), "Invalid OpenAPI spec: spec.yaml, line ") || p.Remedy == "" || len(p.Parts) == 0 {
			t.Errorf("Compile(%q) = %v (%q), want %q, %q", data, err, Code(err), code, words)
		}
	}
	f("[]", codeNotOpenAPI, "an array")
	f("null", codeNotOpenAPI, "null")
	f("{}", codeNotOpenAPI, "neither openapi nor swagger")
	f("asyncapi: 3.0.0", codeNotOpenAPI, "AsyncAPI")
	f("arazzo: 1.0.0", codeNotOpenAPI, "Arazzo")
	f("overlay: 1.0.0", codeNotOpenAPI, "Overlay")
	f("type: object\nproperties: {}", codeNotOpenAPI, "JSON Schema")
	f(`{"info":{"_postman_id":"x"}}`, codeNotOpenAPI, "Postman")
	f("openapi: 4.0.0\npaths: {}", codeVersion, "4.0.0")
	f("openapi: 2.9.0\npaths: {}", codeVersion, "2.9.0")
	f("swagger: '1.2'\npaths: {}", codeVersion, "1.2")
	f("swaggerVersion: '1.2'", codeVersion, "1.2")
	f("openapi: 3.0.0", codePaths, "paths is missing")
	f("openapi: 3.0.0\npaths: []", codePaths, "an array")
}

// TestScalars reads the YAML scalars that parsers disagree about.
func TestScalars(t *testing.T) {
	f := func(yamlText string, k kind, text, number string) {
		t.Helper()
		d, _, err := read(t.Context(), []byte("a: "+yamlText+"\n"), Limits{}.withDefaults())
		if err != nil {
			t.Fatal(err)
		}
		v := d.root().get("a")
		if v.kind() != k || v.text() != text || v.number() != number {
			t.Errorf("%s = %v %q %q, want %v %q %q", yamlText, v.kind(), v.text(), v.number(), k, text, number)
		}
	}
	f("9007199254740993", kindNumber, "9007199254740993", "9007199254740993")
	f("18446744073709551616", kindNumber, "18446744073709551616", "18446744073709551616")
	f("0x1F", kindNumber, "0x1F", "31")
	f("0o17", kindNumber, "0o17", "15")
	f("1_000", kindNumber, "1_000", "1000")
	f("+1", kindNumber, "+1", "1")
	f(".5", kindNumber, ".5", "0.5")
	f("-.5e3", kindNumber, "-.5e3", "-0.5e3")
	f("1.10", kindNumber, "1.10", "1.10")
	f("1e400", kindString, "1e400", "")
	f(".inf", kindNumber, ".inf", "")
	f("no", kindString, "no", "")
	f("on", kindString, "on", "")
	f("True", kindBool, "True", "")
	f("~", kindNull, "~", "")
	f("2020-01-01", kindString, "2020-01-01", "")
	f("!!binary aGk=", kindString, "aGk=", "")
	f("!include x.yaml", kindString, "x.yaml", "")
	f("'200'", kindString, "200", "")
}

func TestPlaces(t *testing.T) {
	for _, data := range []string{
		"{\n  \"a\": [1, {\"b/~\": \"x\"}],\r\n\t\"c\": null}",
		"a:\n  - 1\n  - b/~: x\nc:\n",
	} {
		d, _, err := read(t.Context(), []byte(data), Limits{}.withDefaults())
		if err != nil {
			t.Fatal(err)
		}
		v := d.root().get("a").element(1).get("b/~")
		line, _ := v.place()
		if v.pointer() != "/a/1/b~1~0" || line != map[bool]int{false: 2, true: 3}[d.yaml] {
			t.Errorf("%q: %s line %d", data, v.pointer(), line)
		}
		checkPointers(t, d)
	}
}

// checkPointers looks every value up by its own pointer.
func checkPointers(t testing.TB, d *document) {
	t.Helper()
	var walk func(v value)
	walk = func(v value) {
		p := v.pointer()
		if p != "" {
			if found, missing, _ := descend(d.root(), p); found != v {
				t.Fatalf("%s is not found by its pointer (%q missing)", p, missing)
			}
		}
		if line, column := v.place(); line < 1 || column < 1 {
			t.Fatalf("%s is at %d:%d", p, line, column)
		}
		nodes := d.nodes
		step := uint32(1)
		if v.kind() == kindObject {
			step = 2
		}
		if v.kind() == kindObject || v.kind() == kindArray {
			for i := v.i + step; i < nodes[v.i].next; i = nodes[i].next + step - 1 {
				if step == 2 && nodes[i-1].flags&flagDead != 0 || nodes[i].kind == kindAlias {
					continue
				}
				if step == 2 && len(value{d, i - 1}.text()) > maxPointerToken {
					continue // its name is cut in every pointer below
				}
				walk(value{d, i})
			}
		}
	}
	walk(d.root())
}

// toAny rebuilds what encoding/json would give.
func toAny(v value) any {
	switch v.kind() {
	case kindObject:
		m := map[string]any{}
		for k, e := range v.members() {
			m[k.text()] = toAny(e)
		}
		return m
	case kindArray:
		a := []any{}
		for _, e := range v.elements() {
			a = append(a, toAny(e))
		}
		return a
	case kindString:
		return v.text()
	case kindNumber:
		return json.Number(v.number())
	case kindBool:
		return v.truth()
	default:
		return nil
	}
}

// FuzzReadJSON holds the JSON reader against encoding/json: they accept the same
// documents and see the same values.
func FuzzReadJSON(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"a":[1,2.5e3,-0,"x\u00e9\ud83d\ude00\ud800",true,false,null]}`, `{"a":1,"a":2}`, `[[[]]]`, `{"a":{"b":"\/\\\""}} `, `{"a":01}`, `{"a":"` + "\u2028" + `"}`,
	} {
		f.Add([]byte(s))
	}
	lim := Limits{MaxDepth: 200}.withDefaults()
	f.Fuzz(func(t *testing.T, data []byte) {
		if checkEncoding(data) != nil || bytes.HasPrefix(data, []byte("\xEF\xBB\xBF")) {
			return
		}
		d, _, err := readJSON(t.Context(), data, lim)
		valid := json.Valid(data)
		if err != nil {
			var se *syntaxError
			if errors.As(err, &se) && se.code == codeTooDeep {
				return
			}
			if valid {
				t.Fatalf("readJSON(%q) = %v, encoding/json accepts it", data, err)
			}
			return
		}
		if !valid {
			t.Fatalf("readJSON accepts %q, encoding/json does not", data)
		}
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		var want any
		if err := dec.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if got := toAny(d.root()); !reflect.DeepEqual(got, want) {
			t.Fatalf("readJSON(%q) = %#v, encoding/json %#v", data, got, want)
		}
		if len(d.nodes) < 2000 {
			checkPointers(t, d)
		}
	})
}

// FuzzReadYAML checks that whatever is read keeps its invariants: every value is
// found by its pointer, texts are UTF-8, and the links of aliases end.
func FuzzReadYAML(f *testing.F) {
	for _, s := range []string{
		"a: 1\nb: [x, {c: d}]\n", "a: &x {b: 1}\nc: *x\nd: {<<: *x, e: 2}\n", "- 0x1F\n- .inf\n- !!binary aGk=\n- ~\n", "? a\n: b\n", "a: |\n  text\n", "{a: b}",
		"x: &a [1]\ny: {<<: [*a]}\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if checkEncoding(data) != nil {
			return
		}
		d, _, err := readYAML(t.Context(), data, Limits{MaxDepth: 64, MaxNodes: 10_000}.withDefaults())
		if err != nil {
			return
		}
		if len(d.nodes) != len(d.at) {
			t.Fatalf("%d nodes, %d positions", len(d.nodes), len(d.at))
		}
		for i := range d.nodes {
			n := d.nodes[i]
			if n.next <= uint32(i) || int(n.next) > len(d.nodes) {
				t.Fatalf("node %d of %q ends at %d", i, data, n.next)
			}
			if n.kind == kindAlias && (d.nodes[n.off].kind == kindAlias || n.off >= uint32(i) && d.nodes[n.off].next > uint32(i)) {
				t.Fatalf("alias %d of %q leads to %d", i, data, n.off)
			}
			if n.kind == kindNumber {
				if s := (value{d, uint32(i)}).number(); s != "" && !isJSONNumber(s) {
					t.Fatalf("number %q of %q", s, data)
				}
			}
		}
		if len(d.nodes) < 500 {
			checkPointers(t, d)
		}
	})
}

// TestPointersAreSeen: a name with characters that nobody sees, or that a terminal obeys,
// does not bring them into messages.
func TestPointersAreSeen(t *testing.T) {
	for name, want := range map[string]string{
		"a/b~c": "a~1b~0c", "pet\u200b\u202e": `pet\u200b\u202e`, "\x1b[31mred/": `\u001b[31mred~1`, "\U000e0041": `\U000e0041`, "Größe": "Größe",
	} {
		if got := string(appendPointerToken(nil, name)); got != want {
			t.Errorf("%+q: %+q, want %q", name, got, want)
		}
	}
}
